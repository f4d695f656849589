"""Notes of the messages that the delivery stream accepted, for a day: a repeated delivery of one is passed over.

One read and one write for many messages; Powertools' idempotency makes two or three requests for each. It only saves
work: every fault of the store reads as «not accepted yet», and a note is made after acceptance, never before.
The key is the id that SQS gave, since only the queue's own repeats may be passed over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import batched
from typing import Any, Final

from aws_lambda_powertools import Logger

logger: Final = Logger(service="sqs_processor", child=True)

READ_KEYS: Final = 100
WRITTEN_ITEMS: Final = 25
KEPT_SECONDS: Final = 24 * 60 * 60
# Below this the notes are left: the answer to the queue is worth more.
RESERVE_SECONDS: Final = 1.0
PREFIX: Final = "sqs_processor#"


class AcceptedMessages:
    def __init__(self, client: Callable[[], Any], table: str, seconds_left: Callable[[], float]) -> None:
        self._client = client
        self._table = table
        self._seconds_left = seconds_left

    def among(self, ids: Iterable[str]) -> set[str]:
        """Which of these have been accepted within the last day, as far as is known."""
        found: set[str] = set()
        now = int(time.time())
        try:
            for some in self._portions(ids, READ_KEYS):
                request = {
                    "Keys": [{"id": {"S": PREFIX + each}} for each in some],
                    "ProjectionExpression": "id, expiration",
                }
                answer = self._client().batch_get_item(RequestItems={self._table: request})
                for item in answer["Responses"].get(self._table, ()):
                    if int(item["expiration"]["N"]) > now:
                        found.add(item["id"]["S"].removeprefix(PREFIX))
        except Exception as error:
            self._passed_over("read", error)
        return found

    def add(self, ids: Iterable[str]) -> None:
        expiration = {"N": str(int(time.time()) + KEPT_SECONDS)}
        try:
            for some in self._portions(ids, WRITTEN_ITEMS):
                items = [
                    {"id": {"S": PREFIX + each}, "status": {"S": "COMPLETED"}, "expiration": expiration}
                    for each in some
                ]
                self._client().batch_write_item(
                    RequestItems={self._table: [{"PutRequest": {"Item": item}} for item in items]}
                )
        except Exception as error:
            self._passed_over("written", error)

    def _portions(self, ids: Iterable[str], size: int) -> Iterator[Sequence[str]]:
        for some in batched(dict.fromkeys(ids), size):
            if self._seconds_left() < RESERVE_SECONDS:
                return
            yield some

    def _passed_over(self, done: str, error: Exception) -> None:
        logger.warning(f"Notes of accepted messages could not be {done}; going on without", extra={"error": str(error)})
