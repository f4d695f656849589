from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from unittest import mock

import pytest

from lambdas.sqs_processor import delivery
from leanops.aws import settings
from leanops.core.naming import Environment
from tests.emulator import Aws
from tests.lambdas.sqs_processor.double import Double, served


@dataclass(frozen=True)
class Edge:
    """Two deployments: one whole, one whose archive bucket and table of notes do not exist."""

    aws: Aws
    stream: Double
    whole: Environment
    bare: Environment

    def enter(self, environment: Environment) -> None:
        names = {"ENVIRONMENT": environment.name, "ACCOUNT": environment.account, "REGION": environment.region}
        os.environ.update({f"LEANOPS_{name}": value for name, value in names.items()})
        settings._environment = None

    def archived(self, url: str) -> bytes:
        bucket, _, key = url.removeprefix("s3://").partition("/")
        content: bytes = self.aws.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
        return content


@pytest.fixture(scope="session")
def edge(aws: Aws) -> Iterator[Edge]:
    whole, bare = aws.environment(), aws.environment()
    aws.client("s3").create_bucket(
        Bucket=whole.archive_bucket, CreateBucketConfiguration={"LocationConstraint": whole.region}
    )
    aws.client("dynamodb").create_table(
        TableName=whole.idempotency,
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    with served() as stream, mock.patch.dict(os.environ), mock.patch.object(delivery, "FIRST_PAUSE_SECONDS", 0.0005):
        os.environ["AWS_ENDPOINT_URL_FIREHOSE"] = f"http://127.0.0.1:{stream.port}"
        settings.reset()
        yield Edge(aws, stream, whole, bare)
        settings.reset()


@pytest.fixture(autouse=True)
def whole_edge(request: pytest.FixtureRequest) -> None:
    if "edge" in request.fixturenames:
        edge: Edge = request.getfixturevalue("edge")
        edge.enter(edge.whole)
        edge.stream.play([])
