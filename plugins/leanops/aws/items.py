"""Items of DynamoDB: written on condition, tried again where the service is busy, timed by the service's own clock.

A write whose answer got lost is repeated, by boto3 or by the caller, and may meet itself: then its condition fails.
`Refused` carries the item as it is, so that each store can tell its own write from somebody else's.
"""

from __future__ import annotations

import logging
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

from leanops.aws import settings
from leanops.core.errors import LeanOpsError

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Item = dict[str, Any]
Key = Mapping[str, str]
# On top of boto3's own attempts.
TRIES: Final = 4
# BatchGetItem leaves keys out under load and boto3 does not ask again for them.
PAGES: Final = 8
LONGEST_PAUSE: Final = 3.0
# Dates are whole seconds and answers take time: within this a clock is taken for right.
DATE_SECONDS: Final = 2.0
NAME: Final = re.compile(r"#([a-z_]+)")
BUSY: Final = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "Throttling",
        "RequestLimitExceeded",
        "TransactionInProgressException",
    }
)


class Unanswered(LeanOpsError):
    def __init__(self, table: str, missing: int) -> None:
        self.table = table
        self.missing = missing
        super().__init__(
            "read items",
            f"DynamoDB left {missing} of them out {PAGES} times",
            table,
            "Clear the task; if it goes on, look at the table's throttling in CloudWatch.",
        )


@dataclass(frozen=True)
class Refused:
    """The condition did not hold; the item as it was then, None where there is none."""

    item: Item | None


class Items:
    """One table. `calls` counts what was asked of boto3, its own attempts not included."""

    def __init__(
        self,
        table: str,
        client: Any = None,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.table = table
        self.calls = 0
        self._dynamodb = client or settings.client("dynamodb")
        self._clock = clock
        self._pause = pause
        self._ahead = 0.0

    def now(self) -> float:
        """Seconds since 1970: this machine's clock, set right by the date of the service's last answer."""
        return self._clock() + self._ahead

    def get(self, key: Key) -> Item | None:
        answer = self._asked(
            self._dynamodb.get_item, TableName=self.table, Key=serialized(dict(key)), ConsistentRead=True
        )
        return plain(answer["Item"]) if "Item" in answer else None

    def get_many(self, wanted: Mapping[str, Sequence[Key]]) -> dict[str, list[Item]]:
        """The items of these keys, by table, in one call and as few more as the service makes necessary."""
        missing: dict[str, Any] = {
            table: {"Keys": [serialized(dict(key)) for key in keys], "ConsistentRead": True}
            for table, keys in wanted.items()
        }
        found: dict[str, list[Item]] = {table: [] for table in wanted}
        for page in range(PAGES):
            if page:
                self._pause(_jittered(page))
            answer = self._asked(self._dynamodb.batch_get_item, RequestItems=missing)
            for table, items in answer.get("Responses", {}).items():
                found[table] += map(plain, items)
            missing = answer.get("UnprocessedKeys") or {}
            if not missing:
                return found
        raise Unanswered(", ".join(sorted(missing)), sum(len(each["Keys"]) for each in missing.values()))

    def update(
        self,
        key: Key,
        condition: str,
        *,
        put: Mapping[str, Any],
        remove: Sequence[str] = (),
        values: Mapping[str, Any] | None = None,
    ) -> Item | Refused:
        """The item as it is after the change. In the condition `#x` is an attribute, `:x` one of `values` or of `put`.

        What is put as None is removed."""
        removed = [*remove, *(name for name, value in put.items() if value is None)]
        sets = {name: value for name, value in put.items() if value is not None}
        change = f"SET {', '.join(f'#{name} = :{name}' for name in sets)}"
        if removed:
            change += f" REMOVE {', '.join(f'#{name}' for name in removed)}"
        try:
            answer = self._asked(
                self._dynamodb.update_item,
                TableName=self.table,
                Key=serialized(dict(key)),
                UpdateExpression=change,
                ConditionExpression=condition,
                ExpressionAttributeNames={f"#{name}": name for name in NAME.findall(f"{change} {condition}")},
                ExpressionAttributeValues={
                    f":{name}": value for name, value in serialized({**sets, **(values or {})}).items()
                },
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self._dynamodb.exceptions.ConditionalCheckFailedException as error:
            return Refused(plain(error.response["Item"]) if error.response.get("Item") else None)
        return plain(answer["Attributes"])

    def delete(self, key: Key) -> Item | None:
        """The item as it was."""
        answer = self._asked(
            self._dynamodb.delete_item, TableName=self.table, Key=serialized(dict(key)), ReturnValues="ALL_OLD"
        )
        return plain(answer["Attributes"]) if answer.get("Attributes") else None

    def _asked(self, call: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
        from botocore.exceptions import ClientError

        def attempt() -> dict[str, Any]:
            self.calls += 1
            try:
                answer: dict[str, Any] = call(**arguments)
            except ClientError as error:
                self._heed_date(error.response)
                raise
            self._heed_date(answer)
            return answer

        return patiently(attempt, self._pause)

    def _heed_date(self, answer: Mapping[str, Any]) -> None:
        date = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("date")
        if not date:
            return
        try:
            ahead = parsedate_to_datetime(date).timestamp() + 0.5 - self._clock()
        except ValueError:
            LOG.debug("the answer's date is unreadable: %s", date)
            return
        self._ahead = ahead if abs(ahead) > DATE_SECONDS else 0.0


def as_seen(item: Item | None, names: Sequence[str]) -> tuple[str, dict[str, Any]]:
    """A condition that these attributes are as they were read, and its values."""
    has = item or {}
    parts = [f"#{name} = :seen_{name}" if name in has else f"attribute_not_exists(#{name})" for name in names]
    return " AND ".join(parts), {f"seen_{name}": has[name] for name in names if name in has}


def patiently(call: Callable[[], T], pause: Callable[[float], None]) -> T:
    """What the call answers; it is repeated where the service is busy or out of reach for a moment."""
    for attempt in range(1, TRIES):
        try:
            return call()
        except Exception as error:
            if not is_passing(error):
                raise
            LOG.info("trying again: %s", error)
            pause(_jittered(attempt))
    return call()


def is_passing(error: Exception) -> bool:
    from botocore.exceptions import ClientError, ConnectionError, HTTPClientError  # noqa: A004
    from botocore.parsers import ResponseParserError

    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return error.response.get("Error", {}).get("Code") in BUSY or status >= 500
    # An answer that can't be parsed is some gateway's, not the service's.
    return isinstance(error, HTTPClientError | ConnectionError | ResponseParserError)


def serialized(values: Mapping[str, Any]) -> dict[str, Any]:
    from boto3.dynamodb.types import TypeSerializer

    write = TypeSerializer().serialize
    return {name: write(value) for name, value in values.items()}


def plain(item: Mapping[str, Any]) -> Item:
    """The item in Python's own types: whole numbers as int."""
    from boto3.dynamodb.types import TypeDeserializer

    read = TypeDeserializer().deserialize
    return {name: _plain(read(value)) for name, value in item.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else value
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _jittered(attempt: int) -> float:
    # Jitter is no secret.
    return random.uniform(0, min(0.1 * 2**attempt, LONGEST_PAUSE))  # nosec B311
