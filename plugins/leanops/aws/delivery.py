"""Puts records to the delivery stream: requests within its limits, partial failures again as long as there is time."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from leanops.aws import settings

REQUEST_RECORDS: Final = 500
REQUEST_BYTES: Final = 4 * 1024 * 1024
RECORD_BYTES: Final = 1_024_000
ROUNDS: Final = 6
FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 3.0
READ_SECONDS: Final = 5.0
# What a last request may take, and a second for the caller to answer.
RESERVE_SECONDS: Final = settings.CONNECT_SECONDS + READ_SECONDS + 1

# The stream will give the same answer to the same request.
LASTING: Final = frozenset(
    {
        "AccessDeniedException",
        "InvalidArgumentException",
        "InvalidKMSResourceException",
        "InvalidSourceException",
        "ResourceNotFoundException",
        "SerializationException",
        "UnrecognizedClientException",
        "ValidationException",
    }
)


def requests(records: Sequence[bytes], which: Sequence[int]) -> Iterator[list[int]]:
    """The chosen records, by index and in order, cut into requests within the limits."""
    request: list[int] = []
    size = 0
    for index in which:
        length = len(records[index])
        if request and (len(request) == REQUEST_RECORDS or size + length > REQUEST_BYTES):
            yield request
            request, size = [], 0
        request.append(index)
        size += length
    if request:
        yield request


def put(
    stream: str,
    records: Sequence[bytes],
    seconds_left: Callable[[], float],
    *,
    client: Any = None,
    pause: Callable[[float], None] = time.sleep,
) -> dict[int, str]:
    """Index → error code of every record that the stream did not take. What is not named, it has taken at least once.

    An answer that got lost counts as not taken: the record goes again, and RAW's readers tell repeats by message id.
    """
    # The rounds below are the retries: boto3's own would outlast the time left.
    client = client or settings.client("firehose", read_seconds=READ_SECONDS, attempts=1)
    refused = {
        index: "RecordTooLarge" if record else "RecordEmpty"
        for index, record in enumerate(records)
        if not 0 < len(record) <= RECORD_BYTES
    }
    pending = dict.fromkeys((index for index in range(len(records)) if index not in refused), "NotTried")
    for attempt in range(ROUNDS):
        if attempt:
            # Jitter is no secret.
            longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2**attempt)
            wait = random.uniform(longest / 2, longest)  # nosec B311
            if seconds_left() < wait + RESERVE_SECONDS:
                break
            pause(wait)
        lasting = _round(client, stream, records, pending, seconds_left)
        refused.update(lasting)
        if not pending:
            break
    return dict(sorted((refused | pending).items()))


def _round(
    client: Any, stream: str, records: Sequence[bytes], pending: dict[int, str], seconds_left: Callable[[], float]
) -> dict[int, str]:
    """Each pending record once: taken ones leave `pending`; lastingly refused ones leave it and are returned."""
    from botocore.exceptions import BotoCoreError, ClientError

    lasting: dict[int, str] = {}
    for request in list(requests(records, list(pending))):
        if seconds_left() < RESERVE_SECONDS:
            break
        try:
            answer = client.put_record_batch(
                DeliveryStreamName=stream, Records=[{"Data": records[index]} for index in request]
            )
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code") or "ClientError"
            codes: list[str | None] = [code] * len(request)
        except BotoCoreError as error:
            codes = [type(error).__name__] * len(request)
        else:
            codes = _codes(answer, len(request))
        for index, each in zip(request, codes, strict=True):
            if each is None:
                del pending[index]
            elif each in LASTING:
                lasting[index] = each
                del pending[index]
            else:
                pending[index] = each
    return lasting


def _codes(answer: dict[str, Any], count: int) -> list[str | None]:
    """None for a record that was taken. An answer of another length says nothing of any record."""
    responses = answer.get("RequestResponses") or []
    if len(responses) != count:
        return ["UnusableAnswer"] * count
    return [None if each.get("RecordId") else each.get("ErrorCode") or "NoRecordId" for each in responses]
