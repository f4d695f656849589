"""What a deployment really has, read back from AWS, in the shape of `resources.expected`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from leanops.core.naming import Environment
from local.bootstrap.stores import Client


def found(client: Client, environment: Environment) -> dict[str, list[str]]:
    """The delivery stream is not AWS's here and is taken as there."""
    queues = [
        url.rpartition("/")[2]
        for url in _all(client("sqs"), "list_queues", "QueueUrls", QueueNamePrefix=environment.prefix)
    ]
    dead = [name for name in queues if name.endswith("-dlq")]
    buckets = [each["Name"] for each in client("s3").list_buckets()["Buckets"]]
    topics = [_last(each["TopicArn"]) for each in _all(client("sns"), "list_topics", "Topics")]
    kinds: dict[str, list[str]] = {
        "buckets": buckets,
        "queues": [name for name in queues if name not in dead],
        "dead_letter_queues": dead,
        "dynamodb_tables": list(_all(client("dynamodb"), "list_tables", "TableNames")),
        "sns_topics": topics,
        "functions": [each["FunctionName"] for each in _all(client("lambda"), "list_functions", "Functions")],
        "event_source_mappings": [
            f"{_last(each['EventSourceArn'])} -> {_last(each['FunctionArn'])}"
            for each in _all(client("lambda"), "list_event_source_mappings", "EventSourceMappings")
        ],
        "subscriptions": [
            f"{_last(each['TopicArn'])} -> {_last(each['Endpoint'])}"
            for each in _all(client("sns"), "list_subscriptions", "Subscriptions")
        ],
        "event_rules": [each["Name"] for each in _all(client("events"), "list_rules", "Rules")],
    }
    own = {kind: sorted(name for name in names if name.startswith(environment.prefix)) for kind, names in kinds.items()}
    databases = sorted(each["Name"] for each in _all(client("glue"), "get_databases", "DatabaseList"))
    return {**own, "glue_databases": databases, "delivery_streams": [environment.delivery_stream]}


def _all(client: Any, operation: str, member: str, **request: Any) -> Iterator[Any]:
    if not client.can_paginate(operation):
        yield from getattr(client, operation)(**request).get(member, [])
        return
    for page in client.get_paginator(operation).paginate(**request):
        yield from page.get(member, [])


def _last(arn: str) -> str:
    return arn.rpartition(":")[2]
