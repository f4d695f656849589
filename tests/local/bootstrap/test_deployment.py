"""A deployment on the emulator: complete, repeatable, and alive."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from leanops.core.naming import DLQ_ERRORS_TABLE, QUARANTINE_TABLE, Environment
from local.bootstrap.deployment import Options, deploy
from local.bootstrap.inventory import found
from local.bootstrap.resources import FUNCTIONS, expected, state_tables
from tests.emulator import Account

TOPICS = ("events", "orders")

# Writes what it was called with to the archive bucket.
WITNESS = """
import boto3, json, os
def handler(event, context):
    bucket = f"lean-ops-{os.environ['LEANOPS_ENVIRONMENT']}-{os.environ['LEANOPS_ACCOUNT']}-archive"
    name = os.environ["POWERTOOLS_SERVICE_NAME"]
    boto3.client("s3").put_object(Bucket=bucket, Key=f"{name}/{context.aws_request_id}", Body=json.dumps(event).encode())
    return {"batchItemFailures": []}
"""


@pytest.fixture
def zips(tmp_path: Path) -> dict[str, Path]:
    made = {}
    for function in FUNCTIONS:
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            archive.writestr("lambdas/__init__.py", "")
            archive.writestr(f"lambdas/{function.name}/__init__.py", "")
            archive.writestr(f"lambdas/{function.name}/handler.py", WITNESS)
        path = tmp_path / f"{function.name}.zip"
        path.write_bytes(content.getvalue())
        made[function.name] = path
    return made


def calls(account: Account, function: str, seconds: float = 30) -> list[dict[str, Any]]:
    """The events that the function was called with; waits for the first."""
    s3, bucket = account.client("s3"), account.environment.archive_bucket
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{function}/").get("Contents", [])
        if listed:
            return [json.loads(s3.get_object(Bucket=bucket, Key=each["Key"])["Body"].read()) for each in listed]
        time.sleep(0.2)
    return []


def test_a_deployment_has_exactly_the_expected_resources_however_often_it_is_made(
    account: Account, zips: dict[str, Path]
) -> None:
    for _ in range(2):
        deploy(account.client, account.environment, TOPICS, Options(zips=zips))
    assert found(account.client, account.environment) == expected(account.environment, TOPICS)


def test_queues_tables_and_mappings_have_the_settings_of_the_design(account: Account, zips: dict[str, Path]) -> None:
    environment = account.environment
    deploy(account.client, environment, TOPICS, Options(zips=zips, visibility_seconds=77))
    sqs = account.client("sqs")
    names = environment.topic("events")
    queue, dead = (
        sqs.get_queue_attributes(QueueUrl=sqs.get_queue_url(QueueName=name)["QueueUrl"], AttributeNames=["All"])[
            "Attributes"
        ]
        for name in (names.queue, names.dead_letter_queue)
    )
    assert json.loads(queue["RedrivePolicy"]) == {"deadLetterTargetArn": dead["QueueArn"], "maxReceiveCount": 5}
    assert dead["MessageRetentionPeriod"] == str(14 * 24 * 3600)
    assert queue["VisibilityTimeout"] == "77"
    dynamodb = account.client("dynamodb")
    for table in state_tables(environment):
        keys = {
            key["KeyType"]: key["AttributeName"]
            for key in dynamodb.describe_table(TableName=table.name)["Table"]["KeySchema"]
        }
        assert keys == {"HASH": table.key, **({"RANGE": table.sort_key} if table.sort_key else {})}
        expiry = dynamodb.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
        assert expiry.get("AttributeName") == table.expiry
    for mapping in account.client("lambda").list_event_source_mappings()["EventSourceMappings"]:
        assert mapping["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_the_shared_tables_of_the_edge_are_there_before_the_first_record(account: Account) -> None:
    deploy(account.client, account.environment, TOPICS)
    glue = account.client("glue")
    for table in (QUARANTINE_TABLE, DLQ_ERRORS_TABLE):
        database, name = table.split(".")
        assert (
            glue.get_table(DatabaseName=database, Name=name)["Table"]["Parameters"]["table_type"].lower() == "iceberg"
        )


def test_a_message_an_upload_and_an_alarm_reach_their_functions(account: Account, zips: dict[str, Path]) -> None:
    environment = account.environment
    deploy(account.client, environment, TOPICS, Options(zips=zips))
    _send(account, environment.topic("orders").queue)
    _send(account, environment.topic("orders").dead_letter_queue)
    s3 = account.client("s3")
    for key in ("schemas/orders/pending/schema.json", "schemas/orders/active/schema.json"):
        s3.put_object(Bucket=environment.schema_bucket, Key=key, Body=b"{}")
    account.client("sns").publish(TopicArn=_alarms(environment), Message="alarm")
    assert calls(account, "sqs_processor")[0]["Records"][0]["eventSourceARN"].endswith("-orders")
    assert calls(account, "dlq_drainer")[0]["Records"][0]["eventSourceARN"].endswith("-orders-dlq")
    assert calls(account, "circuit_breaker")[0]["Records"][0]["Sns"]["Message"] == "alarm"
    uploads = calls(account, "schema_validator")
    assert [each["detail"]["object"]["key"] for each in uploads] == ["schemas/orders/pending/schema.json"]
    assert calls(account, "topic_discovery", seconds=0.1) == []


def test_new_code_takes_the_place_of_the_old(account: Account, zips: dict[str, Path]) -> None:
    environment = account.environment
    service = account.client("lambda")
    for marker in ("first", "second"):
        with zipfile.ZipFile(zips["dlq_replay"], "w") as archive:
            archive.writestr("lambdas/__init__.py", "")
            archive.writestr("lambdas/dlq_replay/__init__.py", "")
            archive.writestr("lambdas/dlq_replay/handler.py", f"def handler(event, context): return '{marker}'")
        deploy(account.client, environment, (), Options(zips={"dlq_replay": zips["dlq_replay"]}))
        answer = service.invoke(FunctionName=environment.function("dlq_replay"), Payload=b"{}")
        assert json.load(answer["Payload"]) == marker


def _send(account: Account, queue: str) -> None:
    sqs = account.client("sqs")
    sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=queue)["QueueUrl"], MessageBody="{}")


def _alarms(environment: Environment) -> str:
    return f"arn:aws:sns:{environment.region}:{environment.account}:{environment.alarms}"
