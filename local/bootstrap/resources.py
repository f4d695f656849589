"""What a deployment consists of, as data. Terraform makes the same on AWS; a test compares the names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from leanops.core import naming
from leanops.core.naming import Environment

# What the two sides are compared for: tests/terraform/names.json.
SAMPLE_ENVIRONMENT: Final = Environment("dev", "123456789012", "eu-central-1")
SAMPLE_TOPICS: Final = ("events", "orders", "payments")

REDRIVE_AFTER: Final = 5
DEAD_LETTER_DAYS: Final = 14


class Function(NamedTuple):
    name: str
    seconds: int
    megabytes: int

    @property
    def handler(self) -> str:
        return f"lambdas.{self.name}.handler.handler"


FUNCTIONS: Final = (
    Function("sqs_processor", 60, 256),
    Function("firehose_transform", 60, 256),
    Function("dlq_drainer", 60, 256),
    Function("dlq_replay", 900, 256),
    Function("circuit_breaker", 300, 256),
    Function("schema_validator", 300, 1024),
    Function("topic_discovery", 300, 512),
)


class StateTable(NamedTuple):
    name: str
    key: str
    sort_key: str | None = None
    expiry: str | None = None


def state_tables(environment: Environment) -> tuple[StateTable, ...]:
    """DynamoDB: docs/architecture.md, State stores."""
    return (
        StateTable(environment.checkpoints, "pipeline_id", "checkpoint_type", expiry="expires_at"),
        StateTable(environment.locks, "lock_id", expiry="expires_at"),
        StateTable(environment.schema_registry, "topic_name"),
        StateTable(environment.idempotency, "id", expiry="expiration"),
        StateTable(environment.dlq_index, "topic_name", "entry", expiry="expires_at"),
        StateTable(environment.circuit_breakers, "name"),
    )


class Rule(NamedTuple):
    """An EventBridge rule of the default bus: on an upload, or by the clock."""

    name: str
    function: str
    schedule: str | None = None


def rules(environment: Environment) -> tuple[Rule, ...]:
    return (
        Rule(f"{environment.prefix}-schema-uploads", "schema_validator"),
        Rule(f"{environment.prefix}-circuit-probes", "circuit_breaker", "rate(1 minute)"),
        Rule(f"{environment.prefix}-topic-discovery", "topic_discovery", "rate(1 hour)"),
    )


def upload_pattern(environment: Environment) -> dict[str, object]:
    return {
        "source": ["aws.s3"],
        "detail-type": ["Object Created"],
        "detail": {
            "bucket": {"name": [environment.schema_bucket]},
            "object": {"key": [{"wildcard": "schemas/*/pending/schema.json"}]},
        },
    }


def buckets(environment: Environment) -> tuple[str, ...]:
    return environment.lake_bucket, environment.schema_bucket, environment.archive_bucket


def expected(environment: Environment, topics: Sequence[str]) -> dict[str, list[str]]:
    """Every name, by kind, sorted. A mapping or subscription is written `<source> -> <function>`."""
    names = [environment.topic(topic) for topic in topics]
    processor, drainer = environment.function("sqs_processor"), environment.function("dlq_drainer")
    kinds = {
        "buckets": list(buckets(environment)),
        "queues": [each.queue for each in names],
        "dead_letter_queues": [each.dead_letter_queue for each in names],
        "dynamodb_tables": [table.name for table in state_tables(environment)],
        "sns_topics": [environment.notifications, environment.alarms],
        "functions": [environment.function(function.name) for function in FUNCTIONS],
        "event_source_mappings": [
            *(f"{each.queue} -> {processor}" for each in names),
            *(f"{each.dead_letter_queue} -> {drainer}" for each in names),
        ],
        "subscriptions": [f"{environment.alarms} -> {environment.function('circuit_breaker')}"],
        "event_rules": [rule.name for rule in rules(environment)],
        "glue_databases": list(naming.DATABASES),
        "delivery_streams": [environment.delivery_stream],
    }
    return {kind: sorted(found) for kind, found in kinds.items()}
