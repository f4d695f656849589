"""The delivery service refuses what Firehose refuses, with Firehose's codes."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any

import pytest

from local.delivery import protocol
from local.delivery.protocol import RECORD_BYTES, REQUEST_BYTES, TARGET, Put, Refused

STREAM = "lean-ops-test-raw"


def batch(records: list[bytes], stream: str = STREAM) -> Put | None:
    return sent("PutRecordBatch", {"DeliveryStreamName": stream, "Records": entries(records)})


def entries(records: list[bytes]) -> list[dict[str, str]]:
    return [{"Data": b64encode(record).decode()} for record in records]


def sent(operation: str, request: Any) -> Put | None:
    return protocol.read(TARGET + operation, json.dumps(request).encode(), STREAM)


def test_a_batch_at_every_limit_is_read() -> None:
    largest = [b"x" * RECORD_BYTES] * 4 + [b"y" * (REQUEST_BYTES - 4 * RECORD_BYTES)]
    assert batch(largest) == Put(largest, is_batch=True)
    assert batch([b"z"] * 500) == Put([b"z"] * 500, is_batch=True)


@pytest.mark.parametrize(
    ("records", "code", "text"),
    [
        (
            [b"x"] * 501,
            "ValidationException",
            "at 'records' failed to satisfy constraint: Member must have length less than or equal to 500",
        ),
        ([], "ValidationException", "greater than or equal to 1"),
        ([b"x", b"x" * (RECORD_BYTES + 1)], "ValidationException", "'records.2.member.data'"),
        ([b"x" * 1_000_000] * 4 + [b"x" * 194_305], "InvalidArgumentException", "Records size exceeds 4 MB limit"),
    ],
)
def test_a_batch_over_a_limit_is_refused_as_a_whole(records: list[bytes], code: str, text: str) -> None:
    with pytest.raises(Refused, match=text) as refused:
        batch(records)
    assert (refused.value.code, refused.value.status) == (code, 400)


def test_another_stream_is_not_found() -> None:
    with pytest.raises(Refused) as refused:
        batch([b"x"], "another")
    assert refused.value.code == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        (
            "PutRecordBatch",
            {"DeliveryStreamName": STREAM, "Records": [{"Data": "no base64!"}]},
            "SerializationException",
        ),
        ("PutRecordBatch", {"DeliveryStreamName": STREAM, "Records": [{}]}, "SerializationException"),
        ("PutRecordBatch", {"DeliveryStreamName": STREAM, "Records": "many"}, "SerializationException"),
        ("DeleteDeliveryStream", {"DeliveryStreamName": STREAM}, "UnknownOperationException"),
        ("PutRecordBatch", ["a list"], "UnknownOperationException"),
    ],
)
def test_a_request_that_makes_no_sense_is_refused(operation: str, request_: Any, code: str) -> None:
    with pytest.raises(Refused) as refused:
        sent(operation, request_)
    assert refused.value.code == code


def test_the_answer_names_each_record_in_order() -> None:
    answer = json.loads(protocol.answer(Put([b"a", b"b"], is_batch=True), ["7", None]))
    assert answer == {
        "FailedPutCount": 1,
        "Encrypted": False,
        "RequestResponses": [
            {"RecordId": "7"},
            {"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."},
        ],
    }


def test_a_single_record_is_refused_by_an_error() -> None:
    put = sent("PutRecord", {"DeliveryStreamName": STREAM, "Record": entries([b"one"])[0]})
    assert put == Put([b"one"], is_batch=False)
    assert json.loads(protocol.answer(put, ["1"]))["RecordId"] == "1"
    with pytest.raises(Refused, match="ServiceUnavailableException"):
        protocol.answer(put, [None])


def test_describing_reads_no_records() -> None:
    assert sent("DescribeDeliveryStream", {"DeliveryStreamName": STREAM}) is None
