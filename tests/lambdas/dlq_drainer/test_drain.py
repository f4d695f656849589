"""The drainer on the local AWS: what is not reported is archived, indexed and told; what is reported stays."""

from __future__ import annotations

import itertools
import json
import uuid
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lambdas.dlq_drainer.handler import handler
from leanops.aws import delivery
from tests.aws.deployment import Context, Deployment
from tests.aws.stream import refuse, refuse_all

FIRST_RECEIVED = 1_763_461_000_123
DAY = "2025-11-18"


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "FIRST_PAUSE", 0.001)


def record(deployment: Deployment, message_id: str, body: str, **more: Any) -> dict[str, Any]:
    queue = deployment.environment.topic("alpha").dead_letter_queue
    return {
        "messageId": message_id,
        "receiptHandle": f"handle-{message_id}",
        "body": body,
        "attributes": {
            "ApproximateReceiveCount": "6",
            "SentTimestamp": str(FIRST_RECEIVED - 60_000),
            "ApproximateFirstReceiveTimestamp": str(FIRST_RECEIVED),
            "SenderId": "someone",
        },
        "messageAttributes": {"kind": {"stringValue": "x", "dataType": "String"}},
        "md5OfBody": "",
        "eventSource": "aws:sqs",
        "eventSourceARN": deployment.queue_arn(queue),
        "awsRegion": deployment.environment.region,
    } | more


def drained(*records: dict[str, Any], seconds: float = 300.0) -> set[str]:
    """Ids reported as failed."""
    answer = handler({"Records": list(records)}, Context(seconds))
    return {each["itemIdentifier"] for each in answer["batchItemFailures"]}


def test_a_message_is_archived_whole_then_indexed_then_told(deployment: Deployment) -> None:
    body = '{"messageId": "m1", "data": "e30=", "digits": 1.10}'
    assert drained(record(deployment, "a1", body)) == set()

    key = f"dlq/topic=alpha/day={DAY}/a1.json"
    assert list(deployment.archived()) == [key]
    archived = deployment.archived()[key]
    assert archived.pop("archived_at")
    assert archived == {
        "sqs_message_id": "a1",
        "topic_name": "alpha",
        "message_id": "m1",
        "reason": "undelivered",
        "queue_arn": deployment.queue_arn(deployment.environment.topic("alpha").dead_letter_queue),
        "drained_at": "2025-11-18T10:16:40.123000Z",
        "message_attributes": {"kind": {"stringValue": "x", "dataType": "String"}},
        "system_attributes": record(deployment, "a1", body)["attributes"],
        "body": body,
    }
    assert deployment.items(deployment.environment.dlq_index) == [
        {
            "topic_name": "alpha",
            "entry": "2025-11-18T10:16:40.123000Z#a1",
            "sqs_message_id": "a1",
            "message_id": "m1",
            "archive_key": key,
            "reason": "undelivered",
            "expires_at": FIRST_RECEIVED // 1000 + 90 * 86_400,
        }
    ]
    (row,) = deployment.stream.rows
    assert json.loads(row.pop("attributes"))["system"]["SenderId"] == "someone"
    assert row.pop("detail").startswith("Look for errors of the delivery stream")
    assert row == {
        "_table": "iceberg_raw_db.dlq_errors",
        "sqs_message_id": "a1",
        "topic_name": "alpha",
        "message_id": "m1",
        "reason": "undelivered",
        "body": body,
        "archive_key": key,
        "sent_at": "2025-11-18T10:15:40.123000Z",
        "receive_count": 6,
        "drained_at": "2025-11-18T10:16:40.123000Z",
    }
    writes = [call for call in deployment.proxy.calls if "PutItem" in call or call.startswith("PUT")]
    assert [call.split("?")[0].split("/")[0].strip() for call in writes] == ["PUT", "DynamoDB.PutItem"]


@pytest.mark.parametrize("operation", ["PUT /", "PutItem"])
@pytest.mark.parametrize("fault", ["refuse", "lose"])
def test_a_fault_in_any_step_leaves_exactly_that_message_in_the_queue_and_a_repetition_ends_it(
    deployment: Deployment, operation: str, fault: Any
) -> None:
    records = [record(deployment, name, json.dumps({"messageId": name})) for name in ("a1", "a2", "a3")]
    deployment.proxy.spoil_once(operation, fault, nth=2)
    assert drained(*records) == {"a2"}
    assert {row["sqs_message_id"] for row in deployment.stream.rows} == {"a1", "a3"}

    deployment.proxy.heal()
    assert drained(records[1]) == set()
    assert len(deployment.archived()) == len(deployment.items(deployment.environment.dlq_index)) == 3
    assert sorted(row["sqs_message_id"] for row in deployment.stream.rows) == ["a1", "a2", "a3"]


@pytest.mark.parametrize(
    ("rule", "left"),
    [
        (refuse("ServiceUnavailableException", lambda record: b'"a2"' in record), {"a2"}),
        (refuse("InternalFailure", lambda record: b'"a1"' in record or b'"a3"' in record), {"a1", "a3"}),
        (refuse_all("ServiceUnavailableException", 503), {"a1", "a2", "a3"}),
        (refuse_all("ResourceNotFoundException"), {"a1", "a2", "a3"}),
    ],
)
def test_what_the_delivery_stream_refuses_stays_in_the_queue_though_it_is_archived(
    deployment: Deployment, rule: Any, left: set[str]
) -> None:
    deployment.stream.reset(rule)
    records = [record(deployment, name, "{}") for name in ("a1", "a2", "a3")]
    assert drained(*records) == left
    assert len(deployment.archived()) == 3

    told = {row["sqs_message_id"] for row in deployment.stream.rows}
    assert told == {"a1", "a2", "a3"} - left
    deployment.stream.reset()
    assert drained(*(each for each in records if each["messageId"] in left)) == set()
    assert len(deployment.archived()) == len(deployment.items(deployment.environment.dlq_index)) == 3


FATES = ("good", "no archive", "archive lost", "no index", "index lost", "no row")


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(fates=st.lists(st.sampled_from(FATES), min_size=1, max_size=10))
def test_for_any_mix_of_fates_exactly_those_stay_that_are_not_archived_indexed_and_told(
    deployment: Deployment, fates: list[str]
) -> None:
    batch = uuid.uuid4().hex
    names = [f"{batch}-{place}-{fate.replace(' ', '-')}" for place, fate in enumerate(fates)]
    current: list[str] = [""]

    def rule(call: str) -> Any:
        if call.startswith("PUT"):
            current[0] = call
            return "refuse" if "no-archive" in call else "lose" if "archive-lost" in call else None
        # The index entry follows its own archive object.
        if "PutItem" in call:
            return "refuse" if "no-index" in current[0] else "lose" if "index-lost" in current[0] else None
        return None

    deployment.proxy.spoil(rule)
    deployment.stream.reset(refuse("ServiceUnavailableException", lambda row: b"no-row" in row))
    failed = drained(*(record(deployment, name, "{}") for name in names))
    assert failed == {name for name, fate in zip(names, fates, strict=True) if fate != "good"}
    kept = {document["sqs_message_id"] for document in deployment.archived().values()}
    indexed = {item["sqs_message_id"] for item in deployment.items(deployment.environment.dlq_index)}
    told = {row["sqs_message_id"] for row in deployment.stream.rows}
    assert set(names) - failed == told
    assert told <= indexed
    assert told <= kept

    deployment.proxy.heal()
    deployment.stream.reset()
    assert drained(*(record(deployment, name, "{}") for name in names if name in failed)) == set()
    assert {row["sqs_message_id"] for row in deployment.stream.rows} == failed


def test_a_throttled_stream_is_tried_again_in_the_time_left(deployment: Deployment) -> None:
    counter = itertools.count()
    deployment.stream.reset(
        lambda records: (200, [None if next(counter) >= 4 else "ServiceUnavailableException" for _ in records])
    )
    assert drained(*(record(deployment, f"a{place}", "{}") for place in range(3))) == set()
    assert len(deployment.stream.requests) > 1


def test_a_repeated_drain_keeps_the_marks_of_a_replay(deployment: Deployment) -> None:
    assert drained(record(deployment, "a1", "{}")) == set()
    table = deployment.environment.dlq_index
    (item,) = deployment.items(table)
    deployment.client("dynamodb").update_item(
        TableName=table,
        Key={"topic_name": {"S": "alpha"}, "entry": {"S": item["entry"]}},
        UpdateExpression="ADD replays :replays",
        ExpressionAttributeValues={":replays": {"SS": ["r1"]}},
    )
    assert drained(record(deployment, "a1", "{}")) == set()
    assert [each["replays"] for each in deployment.items(table)] == [["r1"]]


def test_without_time_left_everything_stays(deployment: Deployment) -> None:
    assert drained(record(deployment, "a1", "{}"), record(deployment, "a2", "{}"), seconds=5) == {"a1", "a2"}
    assert deployment.archived() == {}


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sqs:eu-central-1:000000000000:someone-elses-dlq",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-{name}-../../x-dlq",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-{name}-select-dlq",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-{name}-alpha",
        "arn:aws:sqs:eu-central-1:111111111111:lean-ops-{name}-alpha-dlq",
        "not an arn",
        None,
    ],
)
def test_a_message_of_a_queue_that_is_no_topics_is_kept_apart(deployment: Deployment, arn: str | None) -> None:
    arn = arn and arn.replace("{name}", deployment.environment.name)
    assert drained(record(deployment, "a1", "{}", eventSourceARN=arn)) == set()
    assert list(deployment.archived()) == [f"dlq/topic=_unknown/day={DAY}/a1.json"]
    assert [row["reason"] for row in deployment.stream.rows] == ["unknown_topic"]
    assert [item["topic_name"] for item in deployment.items(deployment.environment.dlq_index)] == ["_unknown"]


@pytest.mark.parametrize(
    ("body", "reason", "is_whole"),
    [
        ("not json", "envelope_not_json", True),
        ("[1]", "envelope_not_json", True),
        ("[" * 100_000, "envelope_not_json", True),
        ("\ud800 half a pair", "envelope_not_json", True),
        ('{"x": "' + "я" * 520_000 + '"}', "too_large", False),
        ("x" * 1_048_000, "too_large", False),
        # Fits itself, but not with what goes along.
        ('{"messageId": 17, "x": "' + '\\"' * 500_000 + '"}', "undelivered", False),
    ],
)
def test_hostile_bodies_are_archived_as_they_came(
    deployment: Deployment, body: str, reason: str, is_whole: bool
) -> None:
    assert drained(record(deployment, "a1", body)) == set()
    ((_, document),) = deployment.archived().items()
    assert document["body"] == body
    (row,) = deployment.stream.rows
    assert (row["reason"], row["body"]) == (reason, body if is_whole else None)
    assert row["archive_key"] in deployment.archived()


def test_attributes_too_large_for_the_record_are_left_to_the_archive(deployment: Deployment) -> None:
    attributes = {"big": {"stringValue": "y" * 1_030_000, "dataType": "String"}}
    assert drained(record(deployment, "a1", "{}", messageAttributes=attributes)) == set()
    (row,) = deployment.stream.rows
    assert (row["body"], row["attributes"]) == (None, None)
    ((_, document),) = deployment.archived().items()
    assert document["message_attributes"] == attributes


def test_a_hostile_pubsub_id_does_not_get_into_the_index(deployment: Deployment) -> None:
    bodies = [json.dumps({"messageId": "m" * 500_000}), json.dumps({"messageId": "a\nb"}), json.dumps({"message": 1})]
    assert drained(*(record(deployment, f"a{place}", body) for place, body in enumerate(bodies))) == set()
    assert not any("message_id" in item for item in deployment.items(deployment.environment.dlq_index))
