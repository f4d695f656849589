"""Calls the transform function as Firehose does, and reads its answer with Firehose's distrust."""

from __future__ import annotations

import binascii
import json
import logging
import uuid
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Sequence
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from leanops.core.naming import Environment
from local.delivery.spool import Record

# Lambda's limit for what goes in and what comes out.
PAYLOAD_BYTES: Final = 6 * 1024 * 1024
# Before Base64, as in the stream's buffering hint for the transform.
BUFFER_BYTES: Final = 1024 * 1024
ATTEMPTS: Final = 3
LOG: Final = logging.getLogger(__name__)

Handler = Callable[[dict[str, Any], Any], dict[str, Any]]


class Routed(NamedTuple):
    record: Record
    table: str
    row: dict[str, Any]


class Failed(NamedTuple):
    record: Record
    kind: str
    code: str
    message: str
    attempts: int = 1


class Transform:
    def __init__(self, handler: Handler, environment: Environment) -> None:
        self._handler = handler
        self._environment = environment

    def __call__(self, records: Sequence[Record]) -> list[Routed | Failed]:
        return [result for buffer in _buffers(records) for result in self._transformed(buffer)]

    def _transformed(self, buffer: Sequence[Record]) -> list[Routed | Failed]:
        problem = "unknown"
        for attempt in range(1, ATTEMPTS + 1):
            try:
                answers = self._invoke(buffer)
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                LOG.exception("the transform failed, attempt %s of %s", attempt, ATTEMPTS)
            else:
                return [_result(record, answers.get(str(record.number))) for record in buffer]
        return [_processing(record, "Lambda.FunctionError", problem, ATTEMPTS) for record in buffer]

    def _invoke(self, buffer: Sequence[Record]) -> dict[str, Any]:
        stream = self._environment.delivery_stream
        event = {
            "invocationId": str(uuid.uuid4()),
            "deliveryStreamArn": arn(self._environment),
            "region": self._environment.region,
            "records": [
                {
                    "recordId": str(record.number),
                    "approximateArrivalTimestamp": record.arrival,
                    "data": b64encode(record.data).decode(),
                }
                for record in buffer
            ],
        }
        # Through text and back, as on the way to and from a function.
        answer = json.dumps(self._handler(json.loads(json.dumps(event)), _context(stream)))
        if len(answer) > PAYLOAD_BYTES:
            raise ValueError(f"the answer has {len(answer)} bytes, Lambda allows {PAYLOAD_BYTES}")
        return {str(each["recordId"]): each for each in json.loads(answer)["records"]}


def _buffers(records: Sequence[Record]) -> Iterator[list[Record]]:
    buffer: list[Record] = []
    size = 0
    for record in records:
        if buffer and size + len(record.data) > BUFFER_BYTES:
            yield buffer
            buffer, size = [], 0
        buffer.append(record)
        size += len(record.data)
    if buffer:
        yield buffer


def _result(record: Record, answer: dict[str, Any] | None) -> Routed | Failed:
    if answer is None:
        return _processing(record, "Lambda.MissingRecordId", "the transform did not name the record")
    if answer.get("result") != "Ok":
        # Dropped is among these: here every record must be accounted for.
        return _processing(record, "Lambda.ProcessingFailedStatus", f"the transform answered {answer.get('result')}")
    try:
        row = json.loads(b64decode(answer["data"], validate=True))
        route = answer["metadata"]["otfMetadata"]
        table = f"{route['destinationDatabaseName']}.{route['destinationTableName']}"
        if route["operation"] != "insert" or not isinstance(row, dict):
            raise ValueError("neither an insert nor an object")
    except (KeyError, TypeError, ValueError, binascii.Error) as error:
        return _processing(record, "Lambda.InvalidAnswer", f"{type(error).__name__}: {error}")
    return Routed(record, table, row)


def _processing(record: Record, code: str, message: str, attempts: int = 1) -> Failed:
    return Failed(record, "processing-failed", code, message, attempts)


def _context(stream: str) -> Any:
    return SimpleNamespace(
        function_name=f"{stream}-transform",
        function_version="$LATEST",
        invoked_function_arn=f"arn:aws:lambda:local:000000000000:function:{stream}-transform",
        memory_limit_in_mb="256",
        aws_request_id=str(uuid.uuid4()),
        get_remaining_time_in_millis=lambda: 60_000,
    )


def arn(environment: Environment) -> str:
    place = f"{environment.region}:{environment.account}"
    return f"arn:aws:firehose:{place}:deliverystream/{environment.delivery_stream}"
