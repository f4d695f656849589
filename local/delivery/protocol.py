"""Firehose's JSON protocol: requests, limits, answers, errors. No network, no disk."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

TARGET: Final = "Firehose_20150804."
REQUEST_RECORDS: Final = 500
REQUEST_BYTES: Final = 4 * 1024 * 1024
RECORD_BYTES: Final = 1_024_000


class Refused(Exception):
    """An answer that refuses the whole request. `code` and texts are Firehose's own, since clients read them."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        self.code = code
        self.message = message
        self.status = status
        super().__init__(f"{code}: {message}")

    def body(self) -> bytes:
        return json.dumps({"__type": self.code, "message": self.message}).encode()


class Put(NamedTuple):
    """One PutRecord or PutRecordBatch."""

    records: list[bytes]
    is_batch: bool


def unavailable() -> Refused:
    return Refused("ServiceUnavailableException", "Slow down.", 503)


def read(target: str, body: bytes, stream: str) -> Put | None:
    """The records of a put; None where the stream is to be described."""
    operation = target.removeprefix(TARGET)
    try:
        request = json.loads(body)
    except ValueError as error:
        raise Refused("SerializationException", "the request is not JSON") from error
    if not isinstance(request, dict) or target == operation:
        raise Refused("UnknownOperationException", f"no such operation: {target}")
    if operation not in ("PutRecord", "PutRecordBatch", "DescribeDeliveryStream"):
        raise Refused("UnknownOperationException", f"the local delivery stream does not know {operation}")
    name = request.get("DeliveryStreamName")
    if name != stream:
        raise Refused("ResourceNotFoundException", f"Firehose {name} under account is not found.")
    if operation == "DescribeDeliveryStream":
        return None
    is_batch = operation == "PutRecordBatch"
    records = _decoded(request.get("Records") if is_batch else [request.get("Record")])
    _check(records)
    return Put(records, is_batch)


def _decoded(entries: Any) -> list[bytes]:
    if not isinstance(entries, list):
        raise Refused("SerializationException", "Records is not a list")
    try:
        return [b64decode(entry["Data"], validate=True) for entry in entries]
    except (TypeError, KeyError, binascii.Error) as error:
        raise Refused("SerializationException", "a record has no Data in Base64") from error


def _check(records: Sequence[bytes]) -> None:
    if not records:
        raise _constraint("records", "greater than or equal to 1")
    if len(records) > REQUEST_RECORDS:
        raise _constraint("records", f"less than or equal to {REQUEST_RECORDS}")
    for number, record in enumerate(records, start=1):
        if len(record) > RECORD_BYTES:
            raise _constraint(f"records.{number}.member.data", f"less than or equal to {RECORD_BYTES}")
    if sum(map(len, records)) > REQUEST_BYTES:
        raise Refused("InvalidArgumentException", "Records size exceeds 4 MB limit")


def _constraint(where: str, limit: str) -> Refused:
    text = (
        f"1 validation error detected: Value at '{where}' failed to satisfy constraint: Member must have length {limit}"
    )
    return Refused("ValidationException", text)


def answer(put: Put, ids: Sequence[str | None]) -> bytes:
    """An id for every record that was taken, None for one that was not."""
    if not put.is_batch:
        if ids[0] is None:
            raise unavailable()
        return json.dumps({"RecordId": ids[0], "Encrypted": False}).encode()
    responses = [
        {"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."}
        if each is None
        else {"RecordId": each}
        for each in ids
    ]
    failed = sum(each is None for each in ids)
    return json.dumps({"FailedPutCount": failed, "Encrypted": False, "RequestResponses": responses}).encode()


def description(stream: str, arn: str) -> bytes:
    return json.dumps(
        {
            "DeliveryStreamDescription": {
                "DeliveryStreamName": stream,
                "DeliveryStreamARN": arn,
                "DeliveryStreamStatus": "ACTIVE",
                "DeliveryStreamType": "DirectPut",
                "VersionId": "1",
                "Destinations": [],
                "HasMoreDestinations": False,
            }
        }
    ).encode()
