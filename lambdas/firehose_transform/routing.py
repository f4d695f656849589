"""From a record of the delivery stream to its table. No record is refused: what fits no table goes to quarantine."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw, Struct

from leanops.core.errors import InvalidName
from leanops.core.naming import DLQ_ERRORS_TABLE, QUARANTINE_TABLE, RAW_DATABASE, valid_topic

SHARED_TABLES: Final = frozenset((QUARANTINE_TABLE, DLQ_ERRORS_TABLE))
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MEND: Final = "Look at the body and at who put it on the delivery stream."

_encode: Final = msgspec.json.Encoder().encode


class Head(Struct, gc=False):
    """What routing looks at. A RAW row without one of its required columns would be refused by the table."""

    topic_name: str | None = None
    message_id: str | None = None
    publish_time: str | None = None
    ingestion_ts: int | None = None
    table: str | None = msgspec.field(default=None, name="_table")


class Routed(NamedTuple):
    """`data` is base64, as it came in where nothing had to change."""

    table: str
    data: str


class Misfit(NamedTuple):
    reason: str
    detail: str


_head: Final = msgspec.json.Decoder(Head).decode
_members: Final = msgspec.json.Decoder(dict[str, Raw]).decode


def routed(record: Mapping[str, Any], has_table: Callable[[str], bool]) -> Routed:
    data: str = record["data"]
    try:
        content = a2b_base64(data)
        head = _head(content)
    except (ValueError, RecursionError) as error:
        # msgspec's errors are ValueErrors, as are those of base64.
        return _quarantined(record, None, Misfit("envelope_not_json", f"It is no record of ours ({error}). {MEND}"))
    if head.table is not None:
        if head.table not in SHARED_TABLES:
            return _quarantined(record, head, Misfit("unknown_topic", f"No record may name its table so. {MEND}"))
        members = _members(content)
        del members["_table"]
        return Routed(head.table, b64encode(_encode(members)).decode())
    if head.message_id is None or head.publish_time is None or head.ingestion_ts is None:
        missing = "message_id, publish_time or ingestion_ts is missing"
        return _quarantined(record, head, Misfit("envelope_incomplete", f"{missing}. {MEND}"))
    table = raw_table(head.topic_name)
    if isinstance(table, InvalidName):
        return _quarantined(record, head, Misfit("unknown_topic", str(table)))
    if not has_table(table):
        detail = f"There is no table {RAW_DATABASE}.{table}. Upload the topic's contract, then replay from here."
        return _quarantined(record, head, Misfit("unknown_topic", detail))
    return Routed(f"{RAW_DATABASE}.{table}", data)


@lru_cache(maxsize=4096)
def raw_table(topic: str | None) -> str | InvalidName:
    """The name of the topic's RAW table, without its database."""
    try:
        return f"{valid_topic(topic)}_staging"
    except InvalidName as error:
        return error


def _quarantined(record: Mapping[str, Any], head: Head | None, misfit: Misfit) -> Routed:
    """The whole record as body. It has no id of SQS here: its content stands in, the same at each delivery."""
    try:
        content = a2b_base64(record["data"])
    except ValueError:
        content = record["data"].encode("utf-8", "backslashreplace")
    arrived = record.get("approximateArrivalTimestamp")
    at = EPOCH + timedelta(milliseconds=arrived if isinstance(arrived, int) else 0)
    moment = f"{at.isoformat(timespec='microseconds')[:26]}Z"
    row = {
        "sqs_message_id": f"sha256-{hashlib.sha256(content).hexdigest()}",
        "topic_name": (head and head.topic_name) or "",
        "message_id": head and head.message_id,
        "reason": misfit.reason,
        "detail": misfit.detail,
        "body": content.decode("utf-8", "backslashreplace"),
        "archive_key": None,
        "sent_at": moment,
        "receive_count": 0,
        "quarantined_at": moment,
    }
    return Routed(QUARANTINE_TABLE, b64encode(_encode(row)).decode())
