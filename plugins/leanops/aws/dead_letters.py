"""Messages that left a dead letter queue: the archive holds each of them whole, the index finds it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from leanops.aws import moments, settings
from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import Environment

# Stands where a queue has no topic; no topic can be named so.
UNKNOWN_TOPIC: Final = "_unknown"
KEPT: Final = timedelta(days=90)
PLAIN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


class Reason(StrEnum):
    """What the message itself shows. SQS does not say why the processor failed; its log does."""

    UNKNOWN_TOPIC = "unknown_topic"
    TOO_LARGE = "too_large"
    NOT_JSON = "envelope_not_json"
    UNDELIVERED = "undelivered"


class UnusableArchive(LeanOpsError):
    def __init__(self, key: str, reason: str) -> None:
        self.key = key
        super().__init__(
            "read archived message", reason, shown(key), "Compare the object's versions in the archive bucket."
        )


def json_bytes(document: object) -> bytes:
    """JSON as UTF-8; text with half a surrogate pair, which UTF-8 can't hold, is escaped."""
    try:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(document, separators=(",", ":")).encode("ascii")


def safe_id(message_id: str) -> str:
    """SQS's own ids as they are; anything else as a digest, for it becomes part of a key."""
    if PLAIN_ID.fullmatch(message_id):
        return message_id
    return hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()


def archive_key(environment: Environment, topic: str, drained_at: datetime, message_id: str) -> str:
    day = moments.text(drained_at)[:10]
    if topic == UNKNOWN_TOPIC:
        return f"dlq/topic={UNKNOWN_TOPIC}/day={day}/{safe_id(message_id)}.json"
    return f"{environment.topic(topic).archive_prefix(day)}/{safe_id(message_id)}.json"


def entry(drained_at: datetime, message_id: str) -> str:
    """The index's sort key: entries of one topic lie in the order of time."""
    return f"{moments.text(drained_at)}#{safe_id(message_id)}"


@dataclass(frozen=True)
class Entry:
    """One message in the index. `replays` are the ids of the replays that have sent it."""

    topic: str
    entry: str
    sqs_message_id: str
    archive_key: str
    reason: str
    replays: frozenset[str] = frozenset()
    lease_until: str | None = None

    @classmethod
    def of(cls, item: dict[str, dict[str, Any]]) -> Entry:
        def text(name: str) -> str:
            return str(item.get(name, {}).get("S", ""))

        return cls(
            topic=text("topic_name"),
            entry=text("entry"),
            sqs_message_id=text("sqs_message_id"),
            archive_key=text("archive_key"),
            reason=text("reason"),
            replays=frozenset(item.get("replays", {}).get("SS", ())),
            lease_until=text("lease_until") or None,
        )


class Archive:
    """The bucket part: one object per message, the same key however often it is drained."""

    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.bucket = environment.archive_bucket
        self._s3 = client or settings.client("s3")

    def write(self, key: str, document: dict[str, Any]) -> None:
        self._s3.put_object(
            Bucket=self.bucket, Key=key, Body=json_bytes(document), ContentType="application/json; charset=utf-8"
        )

    def read(self, key: str) -> dict[str, Any]:
        try:
            with self._s3.get_object(Bucket=self.bucket, Key=key)["Body"] as stream:
                document = json.loads(stream.read())
        except self._s3.exceptions.NoSuchKey as error:
            raise UnusableArchive(key, "there is no such object") from error
        except (ValueError, RecursionError) as error:
            raise UnusableArchive(key, "it is not JSON") from error
        if not isinstance(document, dict) or not isinstance(document.get("body"), str):
            raise UnusableArchive(key, "it holds no message")
        return document


class Index:
    """The table part. Marks of a replay are written on condition, so that two replays never mark one message both."""

    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.table = environment.dlq_index
        self._dynamodb = client or settings.client("dynamodb")

    def add(self, entry: Entry, drained_at: datetime, fields: dict[str, str]) -> None:
        """Adds the entry, or leaves it as it is: a repeated drain must not wipe the marks of a replay."""
        item = {
            "topic_name": entry.topic,
            "entry": entry.entry,
            "sqs_message_id": entry.sqs_message_id,
            "archive_key": entry.archive_key,
            "reason": entry.reason,
        }
        try:
            self._dynamodb.put_item(
                TableName=self.table,
                Item={name: {"S": value} for name, value in (fields | item).items()}
                | {"expires_at": {"N": str(int((drained_at + KEPT).timestamp()))}},
                ConditionExpression="attribute_not_exists(entry)",
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return

    def entries(self, topic: str, start: str, end: str, after: str | None = None) -> Iterator[Entry]:
        """Entries with start ≤ time < end, oldest first; `after` goes on behind an entry seen before."""
        query: dict[str, Any] = {
            "TableName": self.table,
            # An entry at the very end reads `<end>#…`, which is greater than `<end>`.
            "KeyConditionExpression": "topic_name = :topic AND entry BETWEEN :start AND :end",
            "ExpressionAttributeValues": {":topic": {"S": topic}, ":start": {"S": start}, ":end": {"S": end}},
            # Whoever decides to send must see marks that were written a moment before.
            "ConsistentRead": True,
        }
        if after:
            query["ExclusiveStartKey"] = {"topic_name": {"S": topic}, "entry": {"S": after}}
        while True:
            page = self._dynamodb.query(**query)
            yield from map(Entry.of, page["Items"])
            if not page.get("LastEvaluatedKey"):
                return
            query["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def claim(self, entry: Entry, replay_id: str, token: str, now: str, until: str, again: bool) -> bool:
        """Marks as being sent, before it is; False where it has been sent already or another one is at it.

        Whoever dies between the mark and the sending leaves the mark behind: after `until` the message is free again.
        """
        unsent = "NOT contains(replays, :replay)" if again else "attribute_not_exists(replays)"
        return self._update(
            entry,
            "SET sending = :replay, lease_token = :token, lease_until = :until",
            f"attribute_exists(entry) AND {unsent} AND (attribute_not_exists(lease_until) OR lease_until < :now)",
            {":replay": {"S": replay_id}, ":token": {"S": token}, ":now": {"S": now}, ":until": {"S": until}},
        )

    def mark_sent(self, entry: Entry, replay_id: str, token: str, now: str, by: str, sent_as: str) -> bool:
        return self._update(
            entry,
            "SET replayed_at = :now, replayed_by = :by, replayed_as = :as "
            "ADD replays :replays REMOVE sending, lease_token, lease_until",
            "lease_token = :token",
            {
                ":now": {"S": now},
                ":by": {"S": by},
                ":as": {"S": sent_as},
                ":replays": {"SS": [replay_id]},
                ":token": {"S": token},
            },
        )

    def release(self, entry: Entry, token: str) -> bool:
        """Takes the mark back: the queue refused the message."""
        return self._update(
            entry, "REMOVE sending, lease_token, lease_until", "lease_token = :token", {":token": {"S": token}}
        )

    def _update(self, entry: Entry, change: str, condition: str, values: dict[str, Any]) -> bool:
        try:
            self._dynamodb.update_item(
                TableName=self.table,
                Key={"topic_name": {"S": entry.topic}, "entry": {"S": entry.entry}},
                UpdateExpression=change,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True
