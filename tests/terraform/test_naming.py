"""What Terraform knows of names is what leanops.core.naming says. The modules' own tests are in terraform/modules/edge/tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leanops.core import naming
from leanops.core.naming import Environment

ROOT = Path(__file__).parents[2]
TERRAFORM = ROOT / "terraform"
NAMING = TERRAFORM / "modules" / "naming"
SAMPLE = Environment("dev", "123456789012", "eu-central-1")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def test_terraform_refuses_the_same_topics() -> None:
    reserved = _read(NAMING / "reserved.json")
    assert set(reserved["words"]) == naming.SQL_WORDS | naming.RESERVED_TOPICS
    assert tuple(reserved["endings"]) == naming.RESERVED_ENDINGS


def test_terraform_takes_names_by_the_same_patterns() -> None:
    text = (NAMING / "variables.tf").read_text(encoding="utf-8")
    for pattern in (naming.TOPIC, naming.ENVIRONMENT, naming.ACCOUNT, naming.REGION):
        assert f'"^{pattern.pattern}$"' in text


def test_every_topic_of_the_topics_file_may_be_named_so() -> None:
    for topic in _read(TERRAFORM / "topics.json")["topics"]:
        assert naming.valid_topic(topic) == topic


def test_the_names_that_terraform_is_held_to_are_those_of_naming() -> None:
    names = _read(Path(__file__).with_name("names.json"))
    topics = [SAMPLE.topic(topic) for topic in ("events", "orders", "payments")]
    assert names["buckets"] == [SAMPLE.archive_bucket, SAMPLE.lake_bucket, SAMPLE.schema_bucket]
    assert names["queues"] == [topic.queue for topic in topics]
    assert names["dead_letter_queues"] == [topic.dead_letter_queue for topic in topics]
    assert names["sns_topics"] == [SAMPLE.alarms, SAMPLE.notifications]
    assert names["delivery_streams"] == [SAMPLE.delivery_stream]
    assert names["glue_databases"] == sorted(naming.DATABASES)
    assert names["dynamodb_tables"] == sorted(
        [
            SAMPLE.checkpoints,
            SAMPLE.circuit_breakers,
            SAMPLE.dlq_index,
            SAMPLE.idempotency,
            SAMPLE.locks,
            SAMPLE.schema_registry,
        ]
    )


def test_terraform_uses_the_keys_of_naming() -> None:
    text = (NAMING / "main.tf").read_text(encoding="utf-8")
    topic = SAMPLE.topic("events")
    for key in (
        SAMPLE.warehouse.rpartition("/")[2],
        SAMPLE.topics_file,
        SAMPLE.delivery_error_prefix,
        topic.archive_prefix("2026-11-18").partition("/")[0],
        topic.oversize_key("2026-11-18", "0" * 64).partition("/")[0],
        topic.schema_key("pending").partition("/")[0],
    ):
        assert f'= "{key}"\n' in text
