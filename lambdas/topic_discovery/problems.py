"""Which problems people were last told of, so that the same ones are not told every day."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Final

from leanops.aws import settings
from leanops.core.naming import Environment

KEY: Final = {"pipeline_id": {"S": "topic_discovery"}, "checkpoint_type": {"S": "problems"}}


def digest(problems: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(problems).encode("utf-8", "surrogatepass")).hexdigest()


class ToldProblems:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.table = environment.checkpoints
        self._dynamodb = client or settings.client("dynamodb")

    def is_news(self, problems: Sequence[str]) -> bool:
        """That there are none any more is no news."""
        found = self._dynamodb.get_item(TableName=self.table, Key=KEY, ConsistentRead=True).get("Item", {})
        return bool(problems) and bool(found.get("digest", {}).get("S") != digest(problems))

    def told(self, problems: Sequence[str], now: str) -> None:
        self._dynamodb.put_item(
            TableName=self.table, Item=KEY | {"digest": {"S": digest(problems)}, "updated_at": {"S": now}}
        )
