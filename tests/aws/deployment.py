"""A deployment of its own for a test: what Terraform would make, on the local AWS, and eyes to look into it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

from leanops.aws import settings
from leanops.core.naming import Environment
from tests.aws.proxy import Proxy
from tests.aws.stream import Stream
from tests.emulator import Aws

TOPICS = ("alpha", "beta_2")


class Context:
    """Lambda's context, with as much time as a test gives."""

    aws_request_id = "test"

    def __init__(self, seconds: float = 300.0) -> None:
        self.seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return int(self.seconds * 1000)


class Deployment:
    def __init__(self, aws: Aws, proxy: Proxy, stream: Stream) -> None:
        self.aws, self.proxy, self.stream = aws, proxy, stream
        self.environment: Environment = aws.environment()
        self.variables = {
            "LEANOPS_ENVIRONMENT": self.environment.name,
            "LEANOPS_ACCOUNT": self.environment.account,
            "LEANOPS_REGION": self.environment.region,
            "AWS_ENDPOINT_URL": proxy.url,
            "AWS_ENDPOINT_URL_FIREHOSE": stream.url,
        }

    def client(self, service: str) -> Any:
        """Past the proxy: for the test itself."""
        return self.aws.client(service)

    def make(self) -> None:
        environment = self.environment
        for bucket in (environment.archive_bucket, environment.schema_bucket):
            self.client("s3").create_bucket(
                Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": environment.region}
            )
        self._table(environment.dlq_index, "topic_name", "entry")
        self._table(environment.circuit_breakers, "name")
        self._table(environment.schema_registry, "topic_name")
        self._table(environment.checkpoints, "pipeline_id", "checkpoint_type")
        for topic in TOPICS:
            names = environment.topic(topic)
            self.client("sqs").create_queue(QueueName=names.dead_letter_queue)
            self.client("sqs").create_queue(QueueName=names.queue, Attributes={"VisibilityTimeout": "1"})
        arn = self.client("sns").create_topic(Name=environment.notifications)["TopicArn"]
        mailbox = self.client("sqs").create_queue(QueueName=self.mailbox)["QueueUrl"]
        endpoint = self.client("sqs").get_queue_attributes(QueueUrl=mailbox, AttributeNames=["QueueArn"])
        self.client("sns").subscribe(
            TopicArn=arn, Protocol="sqs", Endpoint=endpoint["Attributes"]["QueueArn"], ReturnSubscriptionArn=True
        )

    @property
    def mailbox(self) -> str:
        return f"{self.environment.prefix}-mailbox"

    def queue_arn(self, queue: str) -> str:
        return f"arn:aws:sqs:{self.environment.region}:{self.environment.account}:{queue}"

    def url(self, queue: str) -> str:
        found: str = self.client("sqs").get_queue_url(QueueName=queue)["QueueUrl"]
        return found

    def messages(self, queue: str) -> list[dict[str, Any]]:
        """All that lie in a queue; they are taken out of it."""
        url, sqs = self.url(queue), self.client("sqs")
        found: list[dict[str, Any]] = []
        while True:
            page = sqs.receive_message(
                QueueUrl=url,
                MaxNumberOfMessages=10,
                MessageSystemAttributeNames=["All"],
                MessageAttributeNames=["All"],
            ).get("Messages", [])
            if not page:
                return found
            found += page
            for each in page:
                sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])

    def notifications(self) -> list[tuple[str, str]]:
        """Subject and text of what people were told since the last look."""
        notices = [json.loads(message["Body"]) for message in self.messages(self.mailbox)]
        return [(notice["Subject"], notice["Message"]) for notice in notices]

    def archived(self) -> dict[str, Any]:
        """Key → document of all objects in the archive bucket."""
        s3, bucket = self.client("s3"), self.environment.archive_bucket
        found: dict[str, Any] = {}
        for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            for each in page.get("Contents", []):
                with s3.get_object(Bucket=bucket, Key=each["Key"])["Body"] as stream:
                    found[each["Key"]] = json.loads(stream.read())
        return found

    def items(self, table: str) -> list[dict[str, Any]]:
        """Items of a table, as plain values, by key."""
        pages = self.client("dynamodb").get_paginator("scan").paginate(TableName=table)
        found = [{name: _plain(value) for name, value in item.items()} for page in pages for item in page["Items"]]
        return sorted(found, key=lambda item: json.dumps(item, default=str, sort_keys=True))

    def _table(self, name: str, *keys: str) -> None:
        kinds = ("HASH", "RANGE")
        self.client("dynamodb").create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in keys],
            KeySchema=[{"AttributeName": key, "KeyType": kind} for key, kind in zip(keys, kinds, strict=False)],
        )


def _plain(value: Mapping[str, Any]) -> Any:
    ((kind, content),) = value.items()
    match kind:
        case "N":
            return int(content)
        case "SS":
            return sorted(content)
        case "M":
            return {name: _plain(each) for name, each in content.items()}
        case "NULL":
            return None
    return content


@contextmanager
def deployed(aws: Aws) -> Iterator[Deployment]:
    with Proxy(aws.endpoint) as proxy, Stream() as stream:
        deployment = Deployment(aws, proxy, stream)
        deployment.make()
        with mock.patch.dict(os.environ, deployment.variables):
            settings.reset()
            yield deployment
            settings.reset()
