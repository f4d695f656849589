"""P1: killed anywhere, retried, run side by side, or disturbed by others, the tables are those of one clean run."""

from __future__ import annotations

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from tests.traffic import Message, load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark_jobs.lakehouse import Topic

pytestmark = [pytest.mark.spark, pytest.mark.faults]


# Made once for all topics, by whichever test comes first.
SHARED = re.compile("(create|start) (.*errors|.*drift_log)")


class Killed(BaseException):
    """Stands for the end of the process: nothing of ours runs after it."""


class Killer:
    """Ends the run before or after a call that changes state, chosen by its name; all later calls fail too."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from spark_jobs import tables

        self.calls: list[str] = []
        self._target: tuple[str, str] | None = None
        self._is_dead = False
        self._do = tables._changed
        monkeypatch.setattr(tables, "_changed", self)

    def __call__(self, what: str, call: Callable[[], Any]) -> Any:
        self.calls.append(what)
        is_target = self._target is not None and what == self._target[0]
        if self._is_dead or (is_target and self._target[1] == "before"):  # type: ignore[index]
            self._is_dead = True
            raise Killed(what)
        result = self._do(what, call)
        if is_target:
            self._is_dead = True
            raise Killed(what)
        return result

    def kills(self, what: str, moment: str, run: Callable[[], object]) -> bool:
        self._target, self._is_dead = (what, moment), False
        try:
            run()
        except Killed:
            return True
        finally:
            self._target, self._is_dead = None, False
        return False


def stream() -> list[Message]:
    return list(messages(load_scenario("everything").resized(topic="payments", messages=120, batches=2), seed=3))


@pytest.fixture(scope="module")
def clean(spark: SparkSession) -> dict[str, Any]:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "payments")
    topic.take(stream())
    return topic.state()


def second_batch_pending(spark: SparkSession) -> Topic:
    """A topic that has taken in one batch, with another one landed."""
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "payments")
    topic.take(message for message in stream() if message.batch == 1)
    topic.land(message for message in stream() if message.batch == 2)
    return topic


def test_a_run_that_dies_before_or_after_any_change_of_state_is_mended_by_the_next(
    spark: SparkSession, clean: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One topic takes all the deaths, one after another: each try finds what the one before it left behind."""
    from tests.spark_jobs.lakehouse import Topic

    killer = Killer(monkeypatch)
    model, topic = Topic.new(spark, "payments"), Topic.new(spark, "payments")
    deaths = set()
    for batch in (1, 2):
        for each in (model, topic):
            each.land(message for message in stream() if message.batch == batch)
        for layer in ("standardize", "curate"):
            killer.calls.clear()
            getattr(model, layer)()
            steps = [call.replace(model.names.topic, topic.names.topic) for call in dict.fromkeys(killer.calls)]
            *unpublished, publish, drop = [step for step in steps if "create ops" not in step]
            assert publish.startswith("publish"), steps
            last = (publish, "after") if batch == 1 else (drop, "before")
            fatal = [(step, moment) for step in unpublished for moment in ("before", "after")]
            for step, moment in (*fatal, (publish, "before"), last):
                if SHARED.search(step):
                    continue
                assert killer.kills(step, moment, getattr(topic, layer)), (batch, step, moment)
                deaths.add((step.partition(topic.names.topic)[0], moment))
            getattr(topic, layer)()
    assert len(deaths) >= 30, sorted(deaths)
    assert topic.state() == clean


@pytest.mark.parametrize("twins", [2, 4])
def test_identical_runs_side_by_side_leave_what_one_leaves(
    spark: SparkSession, clean: dict[str, Any], twins: int
) -> None:
    from dataclasses import replace

    from spark_jobs.session import topic_session
    from spark_jobs.tables import Lake

    topic = second_batch_pending(spark)
    runs = [replace(topic, lake=Lake(topic_session(spark))) for _ in range(twins)]
    with ThreadPoolExecutor(twins) as pool:
        results = list(pool.map(lambda run: run.run(), runs))
    statuses = [str(standardized.status) for standardized, _ in results]
    assert statuses.count("published") == 1, statuses
    assert topic.state() == clean


def test_a_compaction_and_a_new_column_in_the_middle_change_nothing(
    spark: SparkSession, clean: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import tables

    topic = second_batch_pending(spark)
    seen: list[str] = []
    do = tables._changed

    def disturbed(what: str, call: Callable[[], Any]) -> Any:
        result = do(what, call)
        if what.startswith("append to") and what not in seen:
            seen.append(what)
            table = what.removeprefix("append to ")
            spark.sql(f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))")
            spark.sql(f"ALTER TABLE lake.{table} ADD COLUMN somebody_elses STRING")
        return result

    monkeypatch.setattr(tables, "_changed", disturbed)
    topic.run()
    assert len(seen) == 2
    monkeypatch.undo()
    state = topic.state()
    for row in state["curated"]:
        assert row.pop("somebody_elses") is None
    assert state == clean
    heads = [topic.lake.head(table) for table in (topic.names.standardized_table, topic.names.curated_table)]
    assert all(
        topic.lake.watermark(t, h)
        for t, h in zip((topic.names.standardized_table, topic.names.curated_table), heads, strict=True)
    )


def test_a_covered_batch_is_left_alone_and_answers_what_it_answered_first(spark: SparkSession) -> None:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "payments")
    topic.land(stream()[:60])
    first = topic.run()
    snapshots = [topic.lake.head(t).id for t in (topic.names.standardized_table, topic.names.curated_table)]
    again = topic.run()
    assert [str(result.status) for result in again] == ["covered", "covered"]
    assert [result.counts for result in again] == [result.counts for result in first]
    assert snapshots == [topic.lake.head(t).id for t in (topic.names.standardized_table, topic.names.curated_table)]


def test_a_unit_is_replaced_even_where_compaction_has_mixed_units_in_one_file(spark: SparkSession) -> None:
    from leanops.core.naming import PARSE_ERRORS_TABLE

    topic = second_batch_pending(spark)
    topic.run()
    spark.sql(
        f"CALL lake.system.rewrite_data_files(table => '{PARSE_ERRORS_TABLE}', options => map('rewrite-all', 'true'))"
    )
    before = topic.parse_errors()
    assert len({row["_batch"] for row in before}) == 2
    number = before[0]["_batch"]
    kept = [row for row in before if row["_batch"] != number]
    some = topic.lake.read_unit(PARSE_ERRORS_TABLE, {"topic_name": topic.names.topic, "_batch": number}).limit(1)
    topic.lake.replace_unit(
        PARSE_ERRORS_TABLE, topic.lake.kept(some), {"topic_name": topic.names.topic, "_batch": number}
    )
    after = topic.parse_errors()
    assert [row for row in after if row["_batch"] != number] == kept
    assert len(after) == len(kept) + 1
