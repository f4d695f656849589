"""Where topics come from, kept with them in the schema registry, and which of them people were told of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from leanops.aws import settings
from leanops.aws.registry import Change, Registry
from leanops.core.naming import Environment


@dataclass(frozen=True)
class Known:
    source: str | None
    status: str | None
    is_announced: bool

    @property
    def is_news(self) -> bool:
        """A topic that has a contract has an owner who knows of it."""
        return not self.is_announced and self.status in {None, "DISCOVERED"}


class Sources:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.table = environment.schema_registry
        self._dynamodb = client or settings.client("dynamodb")
        self._registry = Registry(environment, self._dynamodb)

    def known(self) -> dict[str, Known]:
        pages = self._dynamodb.get_paginator("scan").paginate(
            TableName=self.table,
            ConsistentRead=True,
            ProjectionExpression="topic_name, #source, #status, announced_at",
            ExpressionAttributeNames={"#source": "source", "#status": "status"},
        )
        return {
            item["topic_name"]["S"]: Known(
                item.get("source", {}).get("S"), item.get("status", {}).get("S"), "announced_at" in item
            )
            for page in pages
            for item in page["Items"]
        }

    def register(self, topic: str, source: str, now: str) -> None:
        """As DISCOVERED where it is new; a topic that is known only learns its source. Processing is left as it is."""
        found = {"status": "DISCOVERED", "source": source, "discovered_at": now}
        self._registry.revise(topic, lambda _: Change(default=found))

    def claim(self, topic: str, now: str, until: str) -> bool:
        """For one run to tell people of it; a run that dies before it did leaves the topic to the next."""
        return self._update(
            topic,
            "SET announcing_until = :until",
            "attribute_exists(topic_name) AND attribute_not_exists(announced_at)"
            " AND (attribute_not_exists(announcing_until) OR announcing_until < :now)",
            {":until": until, ":now": now},
        )

    def release(self, topic: str, until: str) -> bool:
        return self._update(topic, "REMOVE announcing_until", "announcing_until = :until", {":until": until})

    def announced(self, topic: str, now: str) -> bool:
        return self._update(
            topic, "SET announced_at = :now REMOVE announcing_until", "attribute_exists(topic_name)", {":now": now}
        )

    def _update(self, topic: str, change: str, condition: str, values: Mapping[str, str]) -> bool:
        try:
            self._dynamodb.update_item(
                TableName=self.table,
                Key={"topic_name": {"S": topic}},
                UpdateExpression=change,
                ConditionExpression=condition,
                ExpressionAttributeValues={name: {"S": value} for name, value in values.items()},
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True
