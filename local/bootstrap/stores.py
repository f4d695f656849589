"""Buckets, DynamoDB tables, SNS topics and Glue databases. Every function may be repeated."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final

from leanops.core.naming import DATABASES, Environment
from local.bootstrap.resources import StateTable, buckets, state_tables

# Gives a boto3 client by the service's name.
Client = Callable[[str], Any]
# The emulator is ready in milliseconds, where AWS takes seconds.
WAIT: Final = {"Delay": 0.05, "MaxAttempts": 600}


def make_buckets(client: Client, environment: Environment) -> None:
    s3 = client("s3")
    there = {bucket["Name"] for bucket in s3.list_buckets()["Buckets"]}
    for bucket in buckets(environment):
        if bucket not in there:
            s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": environment.region})
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    s3.put_bucket_notification_configuration(
        Bucket=environment.schema_bucket, NotificationConfiguration={"EventBridgeConfiguration": {}}
    )


def make_state_tables(client: Client, environment: Environment) -> None:
    dynamodb = client("dynamodb")
    for table in state_tables(environment):
        _make_state_table(dynamodb, table)


def _make_state_table(dynamodb: Any, table: StateTable) -> None:
    keys = [(table.key, "HASH"), *([(table.sort_key, "RANGE")] if table.sort_key else [])]
    with contextlib.suppress(dynamodb.exceptions.ResourceInUseException):
        dynamodb.create_table(
            TableName=table.name,
            KeySchema=[{"AttributeName": name, "KeyType": kind} for name, kind in keys],
            AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name, _ in keys],
            BillingMode="PAY_PER_REQUEST",
        )
    dynamodb.get_waiter("table_exists").wait(TableName=table.name, WaiterConfig=WAIT)
    state = dynamodb.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]["TimeToLiveStatus"]
    if table.expiry and state == "DISABLED":
        # DynamoDB refuses to enable it a second time.
        dynamodb.update_time_to_live(
            TableName=table.name, TimeToLiveSpecification={"Enabled": True, "AttributeName": table.expiry}
        )


def make_sns_topics(client: Client, environment: Environment) -> dict[str, str]:
    """ARNs by name. SNS answers with the topic that is there."""
    sns = client("sns")
    return {
        name: str(sns.create_topic(Name=name)["TopicArn"]) for name in (environment.notifications, environment.alarms)
    }


def make_databases(client: Client, environment: Environment) -> None:
    glue = client("glue")
    for database in DATABASES:
        try:
            location = f"{environment.warehouse}/{database}"
            glue.create_database(DatabaseInput={"Name": database, "LocationUri": location})
        except glue.exceptions.AlreadyExistsException:
            pass
