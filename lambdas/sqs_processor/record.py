"""From a message on a queue to the record for the delivery stream.

Nothing here reads the clock: a message that is delivered again makes the same record again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from lambdas.sqs_processor import envelope
from lambdas.sqs_processor.members import storable
from leanops.core.errors import InvalidName
from leanops.core.naming import QUARANTINE_TABLE, Environment, Names
from leanops.core.types import NotOfType, timestamp

# Firehose's limit for one record, before base64.
RECORD_BYTES: Final = 1_024_000
UNKNOWN_TOPIC: Final = "unknown"
# Of names and ids in a quarantine record: the body has the rest.
SHOWN_CHARACTERS: Final = 1024
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
LAST_MILLISECOND: Final = 253_402_300_799_999

_encode: Final = msgspec.json.Encoder().encode


class RawRecord(Struct, gc=False):
    """The RAW columns, in `leanops.core.layout.RAW_FIELDS`' order."""

    message_id: str
    topic_name: str
    publish_time: str
    ingestion_ts: int
    json_payload: str | None
    payload_ref: str | None
    attributes: str | None
    idempotency_key: str | None
    period_reference: str | None
    correlation_id: str | None
    last_updated_ts: str | None


class QuarantineRecord(Struct, gc=False):
    table: str = msgspec.field(name="_table")
    sqs_message_id: str
    topic_name: str
    message_id: str | None
    reason: str
    detail: str
    body: str | None
    archive_key: str | None
    sent_at: str
    receive_count: int
    quarantined_at: str


class Oversize(NamedTuple):
    """What goes to the archive bucket, before the record that points there goes anywhere."""

    key: str
    content: bytes


class Outgoing(NamedTuple):
    """One message on its way. `notes` are the names of the counters that it adds to."""

    sqs_id: str
    topic: str
    data: bytes
    notes: tuple[str, ...] = ()
    oversize: Oversize | None = None


def outgoing(message: Mapping[str, Any], environment: Environment) -> Outgoing:
    """The record of an SQS message as Lambda hands it over."""
    names = names_of(environment, message["eventSourceARN"])
    if isinstance(names, InvalidName):
        return _quarantined(message, environment, None, "unknown_topic", str(names))
    body: str = message["body"]
    system = message["attributes"]
    sent = sent_millis(system)
    found = envelope.read(body)
    notes: tuple[str, ...] = ()
    message_id = found.message_id
    if message_id is None:
        message_id = f"sha256-{hashlib.sha256(storable(body).encode()).hexdigest()}"
        notes = ("no_id",)
    if not found.is_json:
        notes = (*notes, "not_json")
    attributes = found.attributes
    if message.get("messageAttributes"):
        attributes = with_queue_attributes(attributes, message["messageAttributes"])
    record = RawRecord(
        message_id,
        names.topic,
        moment(found.publish_time) or from_millis(sent),
        sent,
        found.payload,
        None,
        attributes,
        *envelope.keys(found.payload),
    )
    data = _encode(record)
    if len(data) <= RECORD_BYTES:
        return Outgoing(message["messageId"], names.topic, data, notes)
    return _oversize(message, environment, names, record, notes)


@lru_cache(maxsize=1024)
def names_of(environment: Environment, arn: str) -> Names | InvalidName:
    """The names of the queue's topic, or why it has none."""
    queue = arn.rpartition(":")[2]
    prefix = f"{environment.prefix}-"
    if not queue.startswith(prefix):
        return InvalidName("queue", queue, "it is not of this environment", f"Map queues named {prefix}<topic> only.")
    try:
        return environment.topic(queue.removeprefix(prefix))
    except InvalidName as error:
        return error


def sent_millis(system: Mapping[str, str]) -> int:
    """When SQS took the message: the same at each delivery, which the time of receipt is not."""
    for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
        text = system.get(name, "")
        if len(text) <= 15 and text.isdecimal() and (sent := int(text)) <= LAST_MILLISECOND:
            return sent
    return 0


def moment(text: str | None) -> str | None:
    """A readable time in UTC to the microsecond, or None."""
    if text is None:
        return None
    # The form that Pub/Sub uses, without the general reader's detours. Python takes more forms than the rule allows.
    if text.endswith("Z") and 19 < len(text) < 31 and text[10] == "T" and text[19] in ".Z" and text.isascii():
        digits = text[20:-1]
        if text[19] == "Z" or digits.isdigit():
            try:
                datetime.fromisoformat(text[:19])
            except ValueError:
                return None
            if text[13] == text[16] == ":" and text[4] == text[7] == "-":
                return f"{text[:19]}.{digits[:6]:0<6}Z"
    try:
        return in_utc(timestamp(text))
    except NotOfType:
        return None


def from_millis(milliseconds: int) -> str:
    return in_utc(EPOCH + timedelta(milliseconds=milliseconds))


def in_utc(time: datetime) -> str:
    return f"{time.isoformat(timespec='microseconds')[:26]}Z"


def with_queue_attributes(attributes: str | None, given: Mapping[str, Any]) -> str:
    """The queue's own message attributes beside Pub/Sub's, as `sqs.<name>`: a bridge may say something there."""
    rest = {
        storable(f"sqs.{name}"): storable(str(value.get("stringValue", value.get("binaryValue", ""))))
        for name, value in given.items()
    }
    added = _encode(rest).decode()
    inner = (attributes or "{}")[1:-1].strip(" \t\r\n")
    return f"{{{inner},{added[1:-1]}}}" if inner else added


def _oversize(
    message: Mapping[str, Any], environment: Environment, names: Names, record: RawRecord, notes: tuple[str, ...]
) -> Outgoing:
    content = (record.json_payload or "").encode()
    key = names.oversize_key(record.publish_time[:10], hashlib.sha256(content).hexdigest())
    record.json_payload, record.payload_ref = None, f"s3://{environment.archive_bucket}/{key}"
    data = _encode(record)
    if len(data) <= RECORD_BYTES:
        return Outgoing(message["messageId"], names.topic, data, (*notes, "oversize"), Oversize(key, content))
    detail = "Its id, attributes or keys alone are too large for a record. Look at the body in the archive."
    return _quarantined(message, environment, names, "too_large", detail)


def _quarantined(
    message: Mapping[str, Any], environment: Environment, names: Names | None, reason: str, detail: str
) -> Outgoing:
    """A record for the quarantine table; its times are the queue's, so that a repeated delivery is the same row."""
    system = message["attributes"]
    sent = from_millis(sent_millis(system))
    count = system.get("ApproximateReceiveCount", "")
    body = storable(message["body"])
    message_id = envelope.read(body).message_id
    found = QuarantineRecord(
        QUARANTINE_TABLE,
        message["messageId"],
        names.topic if names else storable(message["eventSourceARN"].rpartition(":")[2])[:SHOWN_CHARACTERS],
        message_id if message_id and len(message_id) <= SHOWN_CHARACTERS else None,
        reason,
        storable(detail),
        body,
        None,
        sent,
        int(count) if count.isascii() and count.isdigit() else 0,
        sent,
    )
    topic = names.topic if names else UNKNOWN_TOPIC
    data = _encode(found)
    if len(data) <= RECORD_BYTES:
        return Outgoing(message["messageId"], topic, data, ("quarantined",))
    content = body.encode()
    digest = hashlib.sha256(content).hexdigest()
    key = names.oversize_key(sent[:10], digest) if names else f"quarantine/day={sent[:10]}/{digest}"
    found.body, found.archive_key = None, key
    return Outgoing(message["messageId"], topic, _encode(found), ("quarantined", "oversize"), Oversize(key, content))
