"""P3: any split of a stream into batches, any repetition, gives what one rebuild from RAW gives, and what the oracle says."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.traffic import Message, load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.faults]

COUNT = 90
SEEDS = (7, 8)


@cache
def stream(seed: int) -> tuple[Message, ...]:
    """All kinds, with many corrections and repeats of few keys."""
    scenario = load_scenario("everything").resized(topic="orders", messages=COUNT, batches=6)
    return tuple(messages(scenario, seed))


_REBUILT: dict[int, dict[str, Any]] = {}


def rebuilt(spark: SparkSession, seed: int) -> dict[str, Any]:
    from tests.spark_jobs.lakehouse import Topic, expected_state

    if seed not in _REBUILT:
        topic = Topic.new(spark, "orders")
        topic.land(stream(seed))
        topic.run()
        _REBUILT[seed] = topic.state()
        together = [message._replace(batch=1) for message in stream(seed)]
        assert _REBUILT[seed]["standardized"] == expected_state(topic, together)["standardized"]
        assert _REBUILT[seed]["curated"] == expected_state(topic, together)["curated"]
    return _REBUILT[seed]


@given(
    seed=st.sampled_from(SEEDS),
    cuts=st.sets(st.integers(1, COUNT - 1), min_size=1, max_size=3),
    late_curate=st.booleans(),
    redone=st.sets(st.integers(0, 3), max_size=1),
)
@settings(
    max_examples=6,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_any_split_and_any_repetition_gives_what_one_rebuild_gives(
    spark: SparkSession, seed: int, cuts: set[int], late_curate: bool, redone: set[int]
) -> None:
    from spark_jobs.reprocessing import redo_batch
    from tests.spark_jobs.lakehouse import PII_KEY, Topic

    topic = Topic.new(spark, "orders")
    numbers = []
    for start, end in pairwise([0, *sorted(cuts), COUNT]):
        topic.land(stream(seed)[start:end])
        numbers.append(topic.standardize().batch)
        if not late_curate:
            topic.curate()
    topic.curate()
    topic.run()
    for number in {numbers[choice % len(numbers)] for choice in redone}:
        assert number is not None
        redo_batch(topic.lake, topic.names, topic.contract, PII_KEY, number)
    state = topic.state()
    expected = rebuilt(spark, seed)
    assert state["standardized"] == expected["standardized"]
    assert state["curated"] == expected["curated"]
    assert state["parse_errors"] == expected["parse_errors"]
