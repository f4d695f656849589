"""Hands records to the delivery stream, within its limits and within the time that is left."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from aws_lambda_powertools import Logger

logger: Final = Logger(service="sqs_processor", child=True)

BATCH_RECORDS: Final = 500
BATCH_BYTES: Final = 4 * 1024 * 1024
# What the rest of an invocation needs: notes of what was accepted, counters, the answer.
RESERVE_SECONDS: Final = 2.0
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS: Final = 5.0
# A request that is wrong now will be wrong in a second; the queue tries again later, and for days.
FINAL_STATUS: Final = range(400, 429)
PASSING_CODES: Final = frozenset(
    ("ThrottlingException", "Throttling", "LimitExceededException", "RequestTimeout", "RequestExpired")
)


class DeliveryStream:
    def __init__(self, client: Any, name: str, seconds_left: Callable[[], float]) -> None:
        self._client = client
        self._name = name
        self._seconds_left = seconds_left

    def put(self, records: Sequence[bytes]) -> set[int]:
        """The positions of the records that the stream did not accept, after as many attempts as the time allows."""
        refused: set[int] = set()
        waiting: Sequence[int] = range(len(records))
        longest = FIRST_PAUSE_SECONDS
        while True:
            again: list[int] = []
            for batch in batches(records, waiting):
                if self._seconds_left() < RESERVE_SECONDS:
                    refused.update(batch)
                    continue
                left, is_final = self._put_batch(records, batch)
                if is_final:
                    refused.update(left)
                else:
                    again.extend(left)
            if not again:
                return refused
            # The whole pause is drawn, so that many functions that were throttled together do not come back together.
            pause = random.uniform(0, longest)  # nosec B311
            longest = min(longest * 2, LONGEST_PAUSE_SECONDS)
            if self._seconds_left() - pause < RESERVE_SECONDS:
                return refused.union(again)
            time.sleep(pause)
            waiting = again

    def _put_batch(self, records: Sequence[bytes], batch: Sequence[int]) -> tuple[Sequence[int], bool]:
        """Which positions were not accepted, and whether another attempt is in vain."""
        try:
            answer = self._client.put_record_batch(
                DeliveryStreamName=self._name, Records=[{"Data": records[position]} for position in batch]
            )
        except Exception as error:
            is_final = _is_final(error)
            logger.warning("The delivery stream refused a batch", extra={"records": len(batch), "error": str(error)})
            return batch, is_final
        responses = answer.get("RequestResponses", ())
        if len(responses) != len(batch):
            logger.warning("The delivery stream did not answer for each record", extra={"records": len(batch)})
            return batch, False
        left = [
            position
            for position, response in zip(batch, responses, strict=True)
            if response.get("ErrorCode") or not response.get("RecordId")
        ]
        if left:
            codes = sorted({str(response["ErrorCode"]) for response in responses if response.get("ErrorCode")})
            logger.info("The delivery stream refused records", extra={"records": len(left), "codes": codes})
        return left, False


def batches(records: Sequence[bytes], positions: Sequence[int]) -> Iterator[list[int]]:
    batch: list[int] = []
    size = 0
    for position in positions:
        length = len(records[position])
        if batch and (len(batch) == BATCH_RECORDS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(position)
        size += length
    if batch:
        yield batch


def _is_final(error: Exception) -> bool:
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return False
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500)
    return status in FINAL_STATUS and response.get("Error", {}).get("Code") not in PASSING_CODES
