"""One message of a dead letter queue: where it belongs, why it likely failed, and the forms it is kept in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leanops.aws import moments, queues
from leanops.aws.dead_letters import UNKNOWN_TOPIC, Entry, Reason, archive_key, entry, json_bytes
from leanops.aws.delivery import RECORD_BYTES
from leanops.core.errors import shown
from leanops.core.naming import DLQ_ERRORS_TABLE, Environment

MESSAGE_IDS: Final = ("messageId", "message_id")
MESSAGE_ID_CHARACTERS: Final = 256


REMEDIES: Final = {
    Reason.UNKNOWN_TOPIC: "Take the message from the archive; map the drainer to dead letter queues of topics only",
    Reason.TOO_LARGE: "Look for errors of the archive bucket in the processor's log, then replay",
    Reason.NOT_JSON: "Look into the archived text; replay once the processor takes it, or ask the sender to mend it",
    Reason.UNDELIVERED: "Look for errors of the delivery stream in the processor's log, then replay",
}


@dataclass(frozen=True)
class Letter:
    environment: Environment
    topic: str
    sqs_message_id: str
    body: str
    message_id: str | None
    reason: Reason
    drained_at: datetime
    sent_at: datetime | None
    receive_count: int | None
    queue_arn: str
    attributes: Mapping[str, Any]
    system_attributes: Mapping[str, Any]

    @classmethod
    def of(cls, environment: Environment, record: Mapping[str, Any], now: datetime) -> Letter:
        """From a record of an SQS event. Names of the archive and the index follow from the message alone:

        `drained_at` is SQS's own time of the first receive, the same at every attempt to drain.
        """
        arn = record.get("eventSourceARN")
        body = record.get("body") or ""
        system = record.get("attributes") or {}
        sent_at = moments.from_millis(system.get("SentTimestamp"))
        topic = queues.topic_of_dead_letter_queue(environment, arn)
        document = _parsed(body)
        return cls(
            environment=environment,
            topic=topic or UNKNOWN_TOPIC,
            sqs_message_id=str(record["messageId"]),
            body=body,
            message_id=_message_id(document),
            reason=_reason(topic, body, document),
            drained_at=moments.from_millis(system.get("ApproximateFirstReceiveTimestamp")) or sent_at or now,
            sent_at=sent_at,
            receive_count=_count(system.get("ApproximateReceiveCount")),
            queue_arn=str(arn),
            attributes=record.get("messageAttributes") or {},
            system_attributes=system,
        )

    @property
    def archive_key(self) -> str:
        return archive_key(self.environment, self.topic, self.drained_at, self.sqs_message_id)

    @property
    def detail(self) -> str:
        tried = f"received {self.receive_count} times" if self.receive_count is not None else "no receive count"
        return f"{REMEDIES[self.reason]} ({tried}, from {shown(self.queue_arn)})."

    def entry(self) -> Entry:
        return Entry(
            topic=self.topic,
            entry=entry(self.drained_at, self.sqs_message_id),
            sqs_message_id=self.sqs_message_id,
            archive_key=self.archive_key,
            reason=self.reason,
        )

    def document(self, archived_at: datetime) -> dict[str, Any]:
        """The whole message, as the archive keeps it and a replay sends it again."""
        return {
            "sqs_message_id": self.sqs_message_id,
            "topic_name": self.topic,
            "message_id": self.message_id,
            "reason": self.reason,
            "queue_arn": self.queue_arn,
            "drained_at": moments.text(self.drained_at),
            "archived_at": moments.text(archived_at),
            "message_attributes": self.attributes,
            "system_attributes": self.system_attributes,
            "body": self.body,
        }

    def record(self) -> bytes:
        """The row of dlq_errors. What does not fit a record is left to the archive."""
        attributes = {"message": self.attributes, "system": self.system_attributes}
        row: dict[str, Any] = {
            "_table": DLQ_ERRORS_TABLE,
            "sqs_message_id": self.sqs_message_id,
            "topic_name": self.topic,
            "message_id": self.message_id,
            "reason": self.reason,
            "detail": self.detail,
            "body": self.body,
            "archive_key": self.archive_key,
            "sent_at": moments.text(self.sent_at) if self.sent_at else None,
            "receive_count": self.receive_count,
            "drained_at": moments.text(self.drained_at),
            "attributes": json_bytes(attributes).decode(),
        }
        for column in ("body", "attributes"):
            encoded = json_bytes(row)
            if len(encoded) <= RECORD_BYTES:
                return encoded
            row[column] = None
        return json_bytes(row)


def _parsed(body: str) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _reason(topic: str | None, body: str, document: object) -> Reason:
    if topic is None:
        return Reason.UNKNOWN_TOPIC
    if len(body.encode("utf-8", "surrogatepass")) > RECORD_BYTES:
        return Reason.TOO_LARGE
    if not isinstance(document, dict):
        return Reason.NOT_JSON
    return Reason.UNDELIVERED


def _message_id(document: object) -> str | None:
    """Pub/Sub's id in the push form (`message` inside) or the flat form."""
    if not isinstance(document, dict):
        return None
    inner = document.get("message")
    for holder in (inner, document):
        if isinstance(holder, dict):
            for name in MESSAGE_IDS:
                found = holder.get(name)
                if type(found) is int:
                    found = str(found)
                if isinstance(found, str) and 0 < len(found) <= MESSAGE_ID_CHARACTERS and found.isprintable():
                    return found
    return None


def _count(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
