"""A RAW record and its place in its key's order."""

import json
import re
from datetime import UTC, datetime
from typing import NamedTuple

from tests.traffic.message import Message
from tests.traffic.oracle.casts import NotOfType, timestamp
from tests.traffic.oracle.contract import Contract
from tests.traffic.oracle.payload import Document, text_at

_PERIOD = re.compile(r"(?:19[7-9][0-9]|[2-9][0-9]{3})-(?:0[1-9]|1[0-2])")


class Version(NamedTuple):
    last_updated_ts: datetime
    publish_time: datetime
    ingestion_ts: int
    message_id: str


class Raw(NamedTuple):
    message_id: str
    topic_name: str
    publish_time_text: str
    publish_time: datetime
    ingestion_ts: int
    json_payload: str | None


class Record(NamedTuple):
    """A RAW record whose payload is valid."""

    raw: Raw
    document: Document
    key: str | None
    version: Version
    period: str


def raw(message: Message) -> Raw:
    envelope = json.loads(message.body)
    published = envelope["publishTime"]
    return Raw(
        message_id=envelope["messageId"],
        topic_name=message.topic,
        publish_time_text=published,
        publish_time=timestamp(published),
        ingestion_ts=message.ingestion_ts,
        json_payload=envelope.get("payload"),
    )


def record(contract: Contract, source: Raw, document: Document) -> Record:
    given = text_at(document, contract.period_path)
    return Record(
        raw=source,
        document=document,
        key=_key(text_at(document, contract.key_path)),
        version=Version(
            _updated(contract, source, document), source.publish_time, source.ingestion_ts, source.message_id
        ),
        period=given if given is not None and is_period(given) else month(source.publish_time),
    )


def _key(text: str | None) -> str | None:
    # Blank counts as no key: two records that name nothing must not replace each other.
    return text if text and text.strip() else None


def is_period(text: str) -> bool:
    return _PERIOD.fullmatch(text) is not None


def month(moment: datetime) -> str:
    moment = moment.astimezone(UTC)
    return f"{moment.year:04d}-{moment.month:02d}"


def _updated(contract: Contract, source: Raw, document: Document) -> datetime:
    given = text_at(document, contract.updated_path)
    if given is not None:
        try:
            return timestamp(given)
        except NotOfType:
            pass
    return source.publish_time
