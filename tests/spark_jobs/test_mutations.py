"""Each protocol broken on purpose: if the tables came out right all the same, nothing would be proven by the other tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from leanops.core.errors import LeanOpsError
from tests.traffic import Message, load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark_jobs.lakehouse import Topic

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def stream() -> list[Message]:
    scenario = load_scenario("everything").resized(topic="payments", messages=200, batches=2)
    return list(messages(scenario, seed=31))


def no_break(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the same comparison passes on the code as it is."""


def p1_writes_go_straight_to_main(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.tables import Publication, _path

    monkeypatch.setattr(Publication, "__enter__", lambda self: self)
    monkeypatch.setattr(Publication, "__exit__", lambda self, *_: None)
    monkeypatch.setattr(Publication, "name", property(lambda self: _path(self._table)))
    monkeypatch.setattr(Publication, "_tip", lambda self: self._lake.head(self._table))
    monkeypatch.setattr(Publication, "publish", lambda self: self._lake.head(self._table))


def p2_parse_errors_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.flat_rows import FlatRows

    monkeypatch.setattr(FlatRows, "parse_errors", property(lambda self: self.rows.where("false")))


def p3_the_order_ignores_the_update_time(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    from spark_jobs import records

    monkeypatch.setattr(records, "last_updated", lambda flat, contract: F.col("publish_time"))


def p4_originals_are_sought_in_the_corrections_own_period(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.tables import Publication

    real = Publication.delete_keys
    monkeypatch.setattr(Publication, "delete_keys", lambda self, keys, periods: real(self, keys, ("2026-04",)))


def p5_the_rescue_is_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    from spark_jobs import standardization

    monkeypatch.setattr(standardization, "_rescued", lambda columns, found: F.lit(None).cast("string"))


def p5_digits_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.flat_rows import FlatRows

    real = FlatRows.text
    monkeypatch.setattr(FlatRows, "text", lambda self, name: F.coalesce(real(self, name).cast("double").cast("string"), real(self, name)))  # fmt: skip


@pytest.mark.parametrize(
    ("broken", "is_right"),
    [
        (no_break, True),
        (p1_writes_go_straight_to_main, False),
        (p2_parse_errors_are_dropped, False),
        (p3_the_order_ignores_the_update_time, False),
        (p4_originals_are_sought_in_the_corrections_own_period, False),
        (p5_the_rescue_is_empty, False),
        (p5_digits_are_numbers, False),
    ],
)
def test_a_broken_protocol_shows_in_the_tables(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    broken: Callable[[pytest.MonkeyPatch], None],
    is_right: bool,
) -> None:
    from tests.spark_jobs.lakehouse import Topic, expected_state

    topic = Topic.new(spark, "payments", column_budget=50)
    broken(monkeypatch)
    for batch in (1, 2):
        topic.land(message for message in stream() if message.batch == batch)
        try:
            if broken in (no_break, p1_writes_go_straight_to_main):
                with_a_twin_in_the_middle(topic, monkeypatch)
            else:
                topic.run()
        except LeanOpsError:
            # The next batch's balance sees what the one before left behind.
            assert not is_right
            return
    monkeypatch.undo()
    state, expected = topic.state(), expected_state(topic, stream())
    found = [(row["message_id"], row["reason"]) for row in state["parse_errors"]]
    told = [(row["message_id"], row["reason"]) for row in expected["parse_errors"]]
    same = [state[layer] == expected[layer] for layer in ("standardized", "curated")]
    assert all([*same, found == told]) is is_right


def with_a_twin_in_the_middle(topic: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that is overtaken by an identical one just before it appends."""
    from spark_jobs import tables

    do = tables._changed
    overtaken: set[str] = set()

    def slow(what: str, call: Callable[[], Any]) -> Any:
        layer = {f"append to {topic.names.standardized_table}": "standardize", f"append to {topic.names.curated_table}": "curate"}  # fmt: skip
        if what in layer and what not in overtaken:
            overtaken.add(what)
            getattr(topic, layer[what])()
        return do(what, call)

    with monkeypatch.context() as patch:
        patch.setattr(tables, "_changed", slow)
        topic.run()
    assert len(overtaken) == 2
