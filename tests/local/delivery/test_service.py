"""The delivery service as a process, with the emulator's S3 and Glue behind it and boto3 in front."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from leanops.aws.catalog import Catalog
from leanops.core import layout
from leanops.core.naming import QUARANTINE_TABLE
from local.bootstrap.deployment import deploy
from local.delivery.process import Delivery
from tests.emulator import Account


@pytest.fixture
def delivery(account: Account, tmp_path: Path) -> Iterator[Delivery]:
    deploy(account.client, account.environment, ())
    for topic in ("events", "orders"):
        Catalog(account.environment).ensure(layout.raw(account.environment.topic(topic)))
    with Delivery(tmp_path, account.environment, account.variables, {"flush_seconds": 3600}) as service:
        yield service


def client(delivery: Delivery, attempts: int = 1) -> Any:
    from botocore.config import Config

    config = Config(retries={"mode": "standard", "total_max_attempts": attempts})
    return boto3.client("firehose", endpoint_url=delivery.endpoint, config=config)


def record(number: int, topic: str = "events", **changed: Any) -> bytes:
    row = {
        "message_id": f"m{number}",
        "topic_name": topic,
        "publish_time": "2026-11-18T10:00:00.123456Z",
        "ingestion_ts": 1_763_460_000_000 + number,
        "json_payload": f'{{"n": {number}.00, "text": "é😀\\u0000"}}',
        "payload_ref": None,
        "attributes": None,
        "idempotency_key": None,
        "period_reference": None,
        "correlation_id": None,
        "last_updated_ts": None,
    }
    return json.dumps(row | changed).encode()


def put(delivery: Delivery, account: Account, records: list[bytes]) -> dict[str, Any]:
    stream = account.environment.delivery_stream
    with_client = client(delivery)
    answer: dict[str, Any] = with_client.put_record_batch(
        DeliveryStreamName=stream, Records=[{"Data": each} for each in records]
    )
    with_client.close()
    return answer


def raw(account: Account, topic: str = "events") -> list[dict[str, Any]]:
    return Catalog(account.environment).rows(account.environment.topic(topic).raw_table, {})


def undelivered(account: Account) -> list[dict[str, Any]]:
    s3, bucket = account.client("s3"), account.environment.archive_bucket
    prefix = account.environment.delivery_error_prefix
    keys = [each["Key"] for each in s3.list_objects_v2(Bucket=bucket, Prefix=prefix).get("Contents", [])]
    texts = [s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode() for key in keys]
    return [json.loads(line) for text in texts for line in text.splitlines()]


def test_records_land_in_the_table_of_their_topic_as_they_were_put(delivery: Delivery, account: Account) -> None:
    answer = put(delivery, account, [record(1), record(2, "orders"), record(3)])
    assert answer["FailedPutCount"] == 0
    delivery.flush()
    rows = {row["message_id"]: row for row in raw(account)}
    assert rows.keys() == {"m1", "m3"}
    assert rows["m1"]["json_payload"] == '{"n": 1.00, "text": "é😀\\u0000"}'
    assert rows["m1"]["publish_time"].isoformat() == "2026-11-18T10:00:00.123456+00:00"
    assert [row["message_id"] for row in raw(account, "orders")] == ["m2"]


def test_an_unknown_topic_goes_to_quarantine_and_a_misfit_to_the_error_prefix(
    delivery: Delivery, account: Account
) -> None:
    misfit = record(2, publish_time="yesterday")
    put(delivery, account, [record(1, "never_heard_of"), misfit, b"not even JSON"])
    delivery.flush()
    assert raw(account) == []
    quarantined = Catalog(account.environment).rows(QUARANTINE_TABLE, {})
    assert sorted(row["reason"] for row in quarantined) == ["envelope_not_json", "unknown_topic"]
    (line,) = undelivered(account)
    assert b64decode(line["rawData"]) == misfit
    assert line["errorCode"] == "Iceberg.InvalidRow"
    assert "publish_time does not fit" in line["errorMessage"]


def test_what_was_accepted_survives_a_kill(delivery: Delivery, account: Account) -> None:
    put(delivery, account, [record(number) for number in range(200)])
    delivery.kill()
    delivery.start()
    delivery.flush()
    assert sorted(row["message_id"] for row in raw(account)) == sorted(f"m{number}" for number in range(200))
    assert delivery.state()["empty"]


def test_a_flush_comes_by_itself_after_the_time(account: Account, tmp_path: Path) -> None:
    deploy(account.client, account.environment, ())
    Catalog(account.environment).ensure(layout.raw(account.environment.topic("events")))
    with Delivery(tmp_path, account.environment, account.variables, {"flush_seconds": 0.2}) as delivery:
        put(delivery, account, [record(1)])
        while not delivery.state()["empty"]:
            pass
        assert [row["message_id"] for row in raw(account)] == ["m1"]


def test_boto3_reads_refusals_and_partial_failures(delivery: Delivery, account: Account) -> None:
    own = client(delivery)
    with pytest.raises(own.exceptions.InvalidArgumentException, match="4 MB"):
        put(delivery, account, [b"x" * 1_000_000] * 4 + [b"x" * 200_000])
    with pytest.raises(own.exceptions.ResourceNotFoundException):
        own.put_record(DeliveryStreamName="another", Record={"Data": b"x"})
    described = own.describe_delivery_stream(DeliveryStreamName=account.environment.delivery_stream)
    assert described["DeliveryStreamDescription"]["DeliveryStreamStatus"] == "ACTIVE"
    delivery.set_faults(refuse=1.0)
    answer = put(delivery, account, [record(1), record(2)])
    assert answer["FailedPutCount"] == 2
    assert {each["ErrorCode"] for each in answer["RequestResponses"]} == {"ServiceUnavailableException"}
    delivery.set_faults(refuse=0, throttle=1.0)
    with pytest.raises(own.exceptions.ServiceUnavailableException):
        put(delivery, account, [record(1)])
    own.close()


def test_an_answer_that_is_lost_makes_a_repeat_and_no_loss(delivery: Delivery, account: Account) -> None:
    delivery.set_faults(lose_answer=1.0)
    with pytest.raises(Exception, match="lost on request"):
        put(delivery, account, [record(1)])
    delivery.set_faults(lose_answer=0)
    put(delivery, account, [record(1)])
    delivery.flush()
    assert [row["message_id"] for row in raw(account)] == ["m1", "m1"]


def test_two_services_that_commit_to_one_table_lose_nothing(account: Account, tmp_path: Path) -> None:
    deploy(account.client, account.environment, ())
    Catalog(account.environment).ensure(layout.raw(account.environment.topic("events")))
    options = {"flush_seconds": 0.05}
    with (
        Delivery(tmp_path / "a", account.environment, account.variables, options) as first,
        Delivery(tmp_path / "b", account.environment, account.variables, options) as second,
    ):
        for number in range(0, 40, 2):
            put(first, account, [record(number)])
            put(second, account, [record(number + 1)])
        for each in (first, second):
            each.flush()
    assert sorted(row["message_id"] for row in raw(account)) == sorted(f"m{number}" for number in range(40))
