"""What a message body says about itself. The payload is the text that was received, never a new rendering of it.

Three forms are known:

- Pub/Sub's message, also inside the `{"message": …}` of a push: ids, attributes and `data` in base64;
- the same with `payload`, an object or a text, in the place of `data`;
- flat: the body is the event. Whatever is neither of the others is flat, so that no member is lost.

Members of an envelope that have no column of their own are kept among the attributes as `envelope.<name>`.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from lambdas.sqs_processor.members import members, scalar_text, storable, unquoted

BYTE_ORDER_MARK: Final = "\ufeff"
IDS: Final = ("messageId", "message_id")
TIMES: Final = ("publishTime", "publish_time")
OWN: Final = frozenset((*IDS, *TIMES, "attributes", "data", "payload"))
KNOWN: Final = OWN | {"orderingKey", "ordering_key"}
PUSH: Final = frozenset(("message", "subscription", "deliveryAttempt"))
# In the order of the RAW columns idempotency_key, period_reference, correlation_id, last_updated_ts.
KEYS: Final = ("idempotencyKeyResource", "periodReference", "correlationId", "lastUpdatedTs")


class Envelope(NamedTuple):
    """`message_id` and `publish_time` as the body gives them; None where it gives none."""

    message_id: str | None
    publish_time: str | None
    attributes: str | None
    payload: str
    is_json: bool = True


class Keys(NamedTuple):
    idempotency_key: str | None = None
    period_reference: str | None = None
    correlation_id: str | None = None
    last_updated_ts: str | None = None


NO_KEYS: Final = Keys()

_Id = str | int | None
_Kept = Raw | UnsetType


class _Message(Struct, forbid_unknown_fields=True, gc=False):
    messageId: _Id = None  # noqa: N815
    message_id: _Id = None
    publishTime: str | None = None  # noqa: N815
    publish_time: str | None = None
    attributes: _Kept = UNSET
    data: str | None = None
    payload: _Kept = UNSET
    orderingKey: _Kept = UNSET  # noqa: N815
    ordering_key: _Kept = UNSET


class _Push(Struct, forbid_unknown_fields=True, gc=False):
    message: _Message
    subscription: _Kept = UNSET
    deliveryAttempt: _Kept = UNSET  # noqa: N815


class _Metadata(Struct, gc=False):
    idempotencyKeyResource: _Id = None  # noqa: N815
    periodReference: _Id = None  # noqa: N815
    correlationId: _Id = None  # noqa: N815
    lastUpdatedTs: _Id = None  # noqa: N815
    messageId: _Id = None  # noqa: N815
    message_id: _Id = None
    publishTime: str | None = None  # noqa: N815
    publish_time: str | None = None


class _Event(Struct, gc=False):
    metadata: _Metadata | None = msgspec.field(default=None, name="_metadata")


class _Flat(Struct, gc=False):
    messageId: _Id = None  # noqa: N815
    message_id: _Id = None
    publishTime: str | None = None  # noqa: N815
    publish_time: str | None = None
    data: _Kept = UNSET
    payload: _Kept = UNSET
    message: _Kept = UNSET
    metadata: _Metadata | None = msgspec.field(default=None, name="_metadata")


_REFUSALS: Final = (msgspec.MsgspecError, RecursionError, UnicodeEncodeError)
_message: Final = msgspec.json.Decoder(_Message).decode
_push: Final = msgspec.json.Decoder(_Push).decode
_flat: Final = msgspec.json.Decoder(_Flat).decode
_event: Final = msgspec.json.Decoder(_Event).decode
_string: Final = msgspec.json.Decoder(str).decode


def read(body: str) -> Envelope:
    text = body.removeprefix(BYTE_ORDER_MARK)
    try:
        message = _message(text)
    except msgspec.ValidationError:
        return _read_push(body, text)
    except _REFUSALS:
        return _read_slowly(body, text)
    return _envelope(message, text, {}) or _read_slowly(body, text)


def keys(payload: str) -> Keys:
    """The business keys by their paths, for looking a record up; what is not text keeps its digits or letters."""
    try:
        metadata = _event(payload).metadata
    except _REFUSALS:
        return _keys_slowly(payload)
    if metadata is None:
        return NO_KEYS
    return Keys(
        _text(metadata.idempotencyKeyResource),
        _text(metadata.periodReference),
        _text(metadata.correlationId),
        _text(metadata.lastUpdatedTs),
    )


def _read_push(body: str, text: str) -> Envelope:
    try:
        push = _push(text)
    except msgspec.ValidationError:
        return _read_flat(body, text)
    except _REFUSALS:
        return _read_slowly(body, text)
    beside = {"subscription": push.subscription, "deliveryAttempt": push.deliveryAttempt}
    return _envelope(push.message, text, beside) or _read_slowly(body, text)


def _envelope(message: _Message, text: str, beside: dict[str, _Kept]) -> Envelope | None:
    payload = _payload(message, text)
    if payload is None:
        return None
    attributes = None if message.attributes is UNSET else bytes(message.attributes).decode()
    if message.orderingKey is not UNSET or message.ordering_key is not UNSET:
        beside = {"orderingKey": message.orderingKey, "ordering_key": message.ordering_key, **beside}
    if beside or (attributes is not None and attributes[0] != "{"):
        rest = {name: bytes(raw).decode() for name, raw in beside.items() if raw is not UNSET}
        attributes = _with_rest(attributes, rest)
    return Envelope(
        _id(message.messageId, message.message_id), message.publishTime or message.publish_time, attributes, payload
    )


def _payload(message: _Message, text: str) -> str | None:
    """None where there is not exactly one: the slow way decides. Names that come twice show in the count."""
    data, raw = message.data, message.payload
    if raw is UNSET:
        return None if data is None or text.count('"data"') != 1 else decoded(data)
    if data is not None or text.count('"payload"') != 1:
        return None
    content = bytes(raw)
    return _string(content) if content.startswith(b'"') else content.decode()


def decoded(data: str) -> str:
    """The text in base64; `data` itself where it is not base64 of UTF-8, and then Standardized names the fault."""
    try:
        return a2b_base64(data, strict_mode=True).decode()
    except ValueError:
        return data


def _text(value: str | int | None) -> str | None:
    return str(value) if isinstance(value, int) else value


def _id(*candidates: str | int | None) -> str | None:
    for candidate in candidates:
        text = _text(candidate)
        if text and not text.isspace():
            return text
    return None


def _with_rest(attributes: str | None, rest: Mapping[str, str]) -> str | None:
    """By joining texts: what came stays as it was, even where names repeat."""
    lines = [f"{_quoted(f'envelope.{name}')}:{value}" for name, value in rest.items()]
    if attributes is not None and attributes.startswith("{"):
        inner = attributes[1:-1].strip(" \t\r\n")
        lines = [inner, *lines] if inner else lines
    elif attributes is not None and attributes != "null":
        lines = [f'"envelope.attributes":{attributes}', *lines]
    return f"{{{','.join(lines)}}}" if lines else None


def _quoted(name: str) -> str:
    return msgspec.json.encode(storable(name)).decode()


def _read_flat(body: str, text: str) -> Envelope:
    try:
        event = _flat(text)
    except _REFUSALS:
        return _read_slowly(body, text)
    metadata = event.metadata
    if metadata is None:
        if event.payload is not UNSET or event.data is not UNSET or event.message is not UNSET:
            return _read_slowly(body, text)
        metadata = _Metadata()
    return Envelope(
        _id(event.messageId, event.message_id, metadata.messageId, metadata.message_id),
        event.publishTime or event.publish_time or metadata.publishTime or metadata.publish_time,
        None,
        body,
    )


def _read_slowly(body: str, text: str) -> Envelope:
    """The same rules on the members' texts, for what the strict parser refuses."""
    pairs = members(text)
    if pairs is None:
        return Envelope(None, None, None, storable(body), is_json=False)
    found, whole, beside = dict(pairs), body, dict[str, str]()
    if "message" in found and found.keys() <= PUSH and len(found) == len(pairs):
        inner = members(found["message"])
        if inner is not None:
            whole = found.pop("message")
            pairs, found, beside = inner, dict(inner), found
    is_whole = len(found) == len(pairs)
    if is_whole and _is_envelope(found):
        value = found["payload"] if "payload" in found else found["data"]
        payload = value if value[0] != '"' else unquoted(value) if "payload" in found else decoded(unquoted(value))
        rest = {name: text for name, text in found.items() if name not in OWN or (name == "data" and value != text)}
        attributes = _with_rest(found.get("attributes"), rest | beside)
    else:
        payload, attributes = whole, _with_rest(None, beside)
    metadata = dict(members(found.get("_metadata", "")) or ())
    return Envelope(
        _first_text(IDS, found, metadata),
        _first_text(TIMES, found, metadata),
        None if attributes is None else storable(attributes),
        storable(payload),
    )


def _is_envelope(found: Mapping[str, str]) -> bool:
    """Pub/Sub's `data` is always text; an event's own `data` or `payload` stands beside other members of the event."""
    has_data = found.get("data", "").startswith('"')
    if has_data == ("payload" in found) or "_metadata" in found:
        return False
    return any(name in found for name in (*IDS, *TIMES)) or found.keys() <= KNOWN


def _first_text(names: tuple[str, ...], *places: Mapping[str, str]) -> str | None:
    for place in places:
        for name in names:
            text = scalar_text(place.get(name))
            if text and not text.isspace():
                return storable(text)
    return None


def _keys_slowly(payload: str) -> Keys:
    found: dict[str, Any] = dict(members(payload.removeprefix(BYTE_ORDER_MARK)) or ())
    metadata = dict(members(found.get("_metadata", "")) or ())
    return Keys(*(_key(metadata.get(name)) for name in KEYS))


def _key(value: str | None) -> str | None:
    if value is None or value == "null":
        return None
    return storable(unquoted(value) if value[0] == '"' else value)
