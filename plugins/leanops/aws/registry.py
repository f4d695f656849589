"""The schema registry: whether a topic may be processed, and by which contract. The gate of every run asks here."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from leanops.aws import moments, settings
from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment, valid_topic

LOG = logging.getLogger(__name__)
Status = Literal["DISCOVERED", "READY", "ERROR"]
TRIES: Final = 20


class RegistryMoved(LeanOpsError):
    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__("register topic", f"others were faster {TRIES} times", topic, "Try again.")


@dataclass(frozen=True)
class Entry:
    """A topic's item. `revision` counts its changes, and every change is made on condition of the one that was read.

    `processing_enabled` is None until a contract opens the topic, or a person decides.
    """

    topic: str
    status: Status | None = None
    processing_enabled: bool | None = None
    maintenance: bool = False
    schema_version: str | None = None
    contract_sha256: str | None = None
    last_error: Mapping[str, Any] | None = None
    rebuild_requested: Mapping[str, Any] | None = None
    paused: Mapping[str, Any] | None = None
    # The Pub/Sub topic it comes from, where discovery found it.
    source: str | None = None
    updated_at: str | None = None
    revision: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the topic's runs may start."""
        return self.status == "READY" and bool(self.processing_enabled) and not self.maintenance


@dataclass(frozen=True)
class Change:
    """Attributes to set, those to set only where there is none, and those to remove."""

    set: Mapping[str, Any] = field(default_factory=dict)
    default: Mapping[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()


class Registry:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.table = environment.schema_registry
        self._dynamodb = client or settings.client("dynamodb")

    def get(self, topic: str) -> Entry | None:
        item = self._item(topic)
        return None if item is None else _entry(topic, item)

    def discover(self, topic: str) -> bool:
        """A topic that nobody has a contract for. False: it is known already, and stays as it is."""
        return self._update(Entry(topic), Change(set={"status": "DISCOVERED"}), "attribute_not_exists(topic_name)")

    def pause(self, topic: str, by: str, reason: str) -> Entry:
        """Stays until `resume`, whatever contracts come meanwhile."""
        paused = {"by": by, "reason": reason, "at": moments.text(moments.now())}
        return self.revise(topic, lambda _: Change(set={"processing_enabled": False, "paused": paused}))

    def resume(self, topic: str) -> Entry:
        """Opens a topic that has a contract; one that has none opens with its first."""

        def change(entry: Entry) -> Change:
            if entry.status == "READY":
                return Change(set={"processing_enabled": True}, remove=("paused",))
            return Change(remove=("paused", "processing_enabled"))

        return self.revise(topic, change)

    def set_maintenance(self, topic: str, is_on: bool) -> Entry:
        return self.revise(topic, lambda _: Change(set={"maintenance": is_on}))

    def revise(self, topic: str, change: Callable[[Entry], Change | None]) -> Entry:
        """The item becomes what `change` makes of it; None leaves it. It is asked again whenever another one came
        between, so whatever it reads besides is never older than the item."""
        for _ in range(TRIES):
            entry = self.get(topic) or Entry(topic)
            wanted = change(entry)
            if wanted is None or self._update(entry, wanted):
                return self.get(topic) or entry
            LOG.info("registry of %s moved, starting over", topic)
        raise RegistryMoved(topic)

    def _item(self, topic: str) -> dict[str, Any] | None:
        from boto3.dynamodb.types import TypeDeserializer

        answer = self._dynamodb.get_item(
            TableName=self.table, Key={"topic_name": {"S": valid_topic(topic)}}, ConsistentRead=True
        )
        if "Item" not in answer:
            return None
        read = TypeDeserializer().deserialize
        return {name: read(value) for name, value in answer["Item"].items()}

    def _update(self, entry: Entry, change: Change, condition: str = "") -> bool:
        """False where the item is not as it was read. People may edit it by hand: only what is named is touched."""
        from boto3.dynamodb.types import TypeSerializer

        write = TypeSerializer().serialize
        values = {**change.set, "updated_at": moments.text(moments.now()), "revision": entry.revision + 1}
        sets = [f"#{name} = :{name}" for name in values]
        sets += [f"#{name} = if_not_exists(#{name}, :{name})" for name in change.default]
        named = {**values, **change.default}
        marks = {f":{name}": write(value) for name, value in named.items()}
        if not condition and entry.revision:
            condition, marks = "#revision = :read", {**marks, ":read": write(entry.revision)}
        removes = f" REMOVE {', '.join(f'#{name}' for name in change.remove)}" if change.remove else ""
        try:
            self._dynamodb.update_item(
                TableName=self.table,
                Key={"topic_name": {"S": valid_topic(entry.topic)}},
                UpdateExpression=f"SET {', '.join(sets)}{removes}",
                ConditionExpression=condition or "attribute_not_exists(#revision)",
                ExpressionAttributeNames={f"#{name}": name for name in (*named, *change.remove)},
                ExpressionAttributeValues=marks,
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _entry(topic: str, item: Mapping[str, Any]) -> Entry:
    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: plain(each) for name, each in value.items()}
        return [plain(each) for each in value] if isinstance(value, list) else value

    return Entry(
        topic=topic,
        status=item.get("status"),
        processing_enabled=item.get("processing_enabled"),
        maintenance=bool(item.get("maintenance", False)),
        schema_version=item.get("schema_version"),
        contract_sha256=item.get("contract_sha256"),
        last_error=plain(item.get("last_error")),
        rebuild_requested=plain(item.get("rebuild_requested")),
        paused=plain(item.get("paused")),
        source=item.get("source"),
        updated_at=item.get("updated_at"),
        revision=int(item.get("revision", 0)),
    )
