"""Breakers in DynamoDB. Every write is on condition of the version it was decided from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from aws_lambda_powertools import Logger

from lambdas.circuit_breaker.breaker import FIRST_WAIT, Breaker, State
from leanops.aws import moments, settings
from leanops.core.errors import InvalidName
from leanops.core.naming import Environment, valid_topic

logger = Logger(service="circuit_breaker")


class Store:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.table = environment.circuit_breakers
        self._dynamodb = client or settings.client("dynamodb")

    def read(self, topic: str) -> Breaker:
        """Absent means closed."""
        found = self._dynamodb.get_item(TableName=self.table, Key={"name": {"S": topic}}, ConsistentRead=True)
        return _breaker(found["Item"]) if "Item" in found else Breaker()

    def unquiet(self) -> Iterator[tuple[str, Breaker]]:
        """Breakers that are not closed, or not settled."""
        pages = self._dynamodb.get_paginator("scan").paginate(TableName=self.table, ConsistentRead=True)
        for page in pages:
            for item in page["Items"]:
                try:
                    topic, breaker = valid_topic(item["name"]["S"]), _breaker(item)
                except (InvalidName, KeyError, ValueError):
                    logger.exception("Breaker can't be read; mend or delete the item", extra={"item": str(item)[:500]})
                    continue
                if breaker.state is not State.CLOSED or not breaker.settled:
                    yield topic, breaker

    def write(self, topic: str, breaker: Breaker) -> bool:
        """False where another transition was faster."""
        item: dict[str, Any] = {
            "name": {"S": topic},
            "state": {"S": breaker.state},
            "version": {"N": str(breaker.version)},
            "wait_seconds": {"N": str(int(breaker.wait.total_seconds()))},
            "failed_probes": {"N": str(breaker.failed_probes)},
            "why": {"S": breaker.why},
            "settled": {"BOOL": breaker.settled},
        }
        for name, moment in (("since", breaker.since), ("until", breaker.until)):
            if moment is not None:
                item[name] = {"S": moments.text(moment)}
        try:
            self._dynamodb.put_item(
                TableName=self.table,
                Item=item,
                ConditionExpression="attribute_not_exists(#name) OR #version = :former"
                if breaker.version == 1
                else "#version = :former",
                ExpressionAttributeNames={"#version": "version"} | ({"#name": "name"} if breaker.version == 1 else {}),
                ExpressionAttributeValues={":former": {"N": str(breaker.version - 1)}},
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True

    def settle(self, topic: str, version: int) -> bool:
        """False where the breaker has moved on."""
        try:
            self._dynamodb.update_item(
                TableName=self.table,
                Key={"name": {"S": topic}},
                UpdateExpression="SET settled = :yes",
                ConditionExpression="#version = :version",
                ExpressionAttributeNames={"#version": "version"},
                ExpressionAttributeValues={":yes": {"BOOL": True}, ":version": {"N": str(version)}},
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException:
            return False
        return True


def _breaker(item: dict[str, Any]) -> Breaker:
    return Breaker(
        state=State(item["state"]["S"]),
        version=int(item["version"]["N"]),
        since=_moment(item, "since"),
        until=_moment(item, "until"),
        wait=timedelta(seconds=int(item["wait_seconds"]["N"])) if "wait_seconds" in item else FIRST_WAIT,
        failed_probes=int(item["failed_probes"]["N"]) if "failed_probes" in item else 0,
        why=item.get("why", {}).get("S", ""),
        settled=bool(item.get("settled", {}).get("BOOL", False)),
    )


def _moment(item: dict[str, Any], name: str) -> datetime | None:
    return datetime.fromisoformat(item[name]["S"]) if name in item else None
