"""RAW → Standardized → Curated against the oracle, row by row and column by column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.traffic import load_scenario, messages, scenario_names

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CASES = [(name, topic) for name in scenario_names() for topic in load_scenario(name).topics[:1]] + [
    ("everything", "orders"),
    ("everything", "payments"),
]


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_every_table_holds_what_the_oracle_says(spark: SparkSession, name: str, sample: str) -> None:
    from tests.spark_jobs.lakehouse import Topic, expected_errors, expected_state, found_errors

    stream = list(messages(load_scenario(name).resized(topic=sample, messages=600, batches=2), seed=23))
    topic = Topic.new(spark, sample)
    topic.take(stream)
    state, expected = topic.state(), expected_state(topic, stream)
    assert state["standardized"] == expected["standardized"]
    assert [row | {"detail": 0, "position": 0} for row in state["parse_errors"]] == [
        row | {"detail": 0, "position": 0} for row in expected["parse_errors"]
    ]
    assert found_errors(topic) == expected_errors(topic, stream)
    assert state["curated"] == expected["curated"]
