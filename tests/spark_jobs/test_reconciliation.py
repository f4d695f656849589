"""P2 from the tables: what is whole balances, and whatever is taken out, put back or doubled is found and named."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from leanops.core.naming import ERRORS_TABLE, PARSE_ERRORS_TABLE, RECONCILIATION_LOG_TABLE
from tests.traffic import Message, load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.reconciliation import Unreconciled
    from spark_jobs.results import Result
    from tests.spark_jobs.lakehouse import Topic

pytestmark = [
    pytest.mark.spark,
    # Great Expectations imports such modules.
    pytest.mark.filterwarnings("ignore:module 'sre_.*' is deprecated:DeprecationWarning"),
]


def delivery(batch: int, name: str, payload: str, again: int = 0, moment: int = 0) -> Message:
    """`again` is for a later delivery of the same message, `moment` for when it was published."""
    body = {"messageId": name, "publishTime": f"2026-01-15T00:{moment or batch:02}:00Z", "attributes": {}}
    return Message(batch, json.dumps(body | {"payload": payload}), "orders", 1000 * batch + again, "clean")


def order(key: str | None, updated: int = 0, total: str = "19.90") -> str:
    known = {"idempotencyKeyResource": key} if key else {}
    metadata = {**known, "periodReference": "2026-01", "lastUpdatedTs": f"2026-01-14T00:{updated:02}:00Z"}
    return json.dumps({"_metadata": metadata, "orderId": 1, "orderDate": "2026-01-15", "total": total})


FIRST = [
    delivery(1, "m1", order("k1")),
    delivery(1, "m2", order("k2")),
    delivery(1, "m3", order("k3", 9)),
    delivery(1, "m4", order("k4")),
    delivery(1, "rejected1", order("k5", total="much")),
    delivery(1, "broken1", "{"),
    delivery(1, "keyless1", order(None)),
    delivery(1, "late", "{"),
]
# Every disposition, and two of each kind of row that can get lost.
SECOND = [
    delivery(2, "new", order("k6")),
    delivery(2, "newer", order("k1", 5)),
    delivery(2, "overtaken", order("k1", 4)),
    delivery(2, "stale", order("k3", 3)),
    delivery(2, "m4", order("k4"), again=1, moment=1),
    delivery(2, "twin", order("k7")),
    delivery(2, "twin", order("k7"), again=1),
    delivery(2, "same", order("k8")),
    delivery(2, "same", order("k8")),
    delivery(2, "rejected2", order("k9", total="much")),
    delivery(2, "keyless2", order(None)),
    delivery(2, "broken2", "[]"),
    delivery(2, "broken3", ""),
    delivery(2, "broken3", "", again=1),
    delivery(2, "broken1", "{", again=1, moment=1),
    # Once broken, once not: only the whole delivery is taken in.
    delivery(2, "mended", "nonsense"),
    delivery(2, "mended", order("k10"), again=1),
    delivery(2, "late", order("k1", 3), again=1, moment=1),
]
# RAW's first snapshot is empty.
ONE, TWO, THREE = 2, 3, 4
BALANCE = {
    "raw": 18, "accepted": 7, "network_duplicate": 3, "overtaken": 3, "parse_error": 5, "missing": 0, "doubled": 0,
    "standardized": 7, "curated": 5, "rejected": 2, "unplaced": 0, "twice": 0, "unfounded": 0, "difference": 0,
}  # fmt: skip


def balance(topic: Topic, batch: int | None = None) -> Result:
    from spark_jobs.reconciliation import reconcile

    return reconcile(topic.lake, topic.names, topic.contract, batch)


def found(topic: Topic, batch: int | None = None) -> Unreconciled:
    from spark_jobs.reconciliation import Unreconciled

    with pytest.raises(Unreconciled) as caught:
        balance(topic, batch)
    return caught.value


def log(topic: Topic) -> list[dict[str, Any]]:
    return sorted(topic.shared(RECONCILIATION_LOG_TABLE), key=lambda row: (row["_batch"], row["check_name"]))


def compacted(topic: Topic, *tables: str) -> None:
    for table in tables:
        topic.lake.spark.sql(
            f"CALL lake.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))"
        )


@contextmanager
def damaged(topic: Topic, table: str, *statements: str) -> Iterator[None]:
    """Somebody changes a table past the jobs; afterwards it is as it was."""
    head = topic.lake.head(table)
    before, topic_name = head.id, topic.names.topic
    first = next(iter(topic.lake.carriers(table, head, ONE - 1)[::-1]), head).id
    for statement in statements:
        topic.lake.spark.sql(statement.format(table=f"lake.{table}", before=before, first=first, topic=topic_name))
    try:
        assert topic.lake.head(table).id != before
        yield
    finally:
        topic.lake.spark.sql(f"CALL lake.system.rollback_to_snapshot('{table}', {before})")


@pytest.fixture(scope="module")
def topic(spark: SparkSession) -> Topic:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    topic.take([*FIRST, *SECOND])
    return topic


@pytest.mark.parametrize(("sample", "batches"), [("events", 3), ("orders", 2), ("payments", 2)])
def test_every_batch_balances_at_once_and_after_later_ones_and_after_compaction(
    spark: SparkSession, sample: str, batches: int
) -> None:
    from tests.spark_jobs.lakehouse import Topic

    stream = list(
        messages(load_scenario("everything").resized(topic=sample, messages=80 * batches, batches=batches), 7)
    )
    topic = Topic.new(spark, sample)
    told = Counter((outcome.batch, outcome.disposition) for outcome in topic.truth(stream)[0])
    numbers = []
    for batch, group in groupby(stream, key=lambda message: message.batch):
        topic.land(group)
        topic.run()
        counts = balance(topic).counts
        assert counts["accepted"] == told[batch, "accepted"]
        assert counts["overtaken"] == told[batch, "superseded"] + told[batch, "stale"] > 0
        assert counts["network_duplicate"] == told[batch, "network_duplicate"] > 0
        assert counts["parse_error"] == told[batch, "parse_error"] > 0
        numbers.append((balance(topic).batch, counts))
    later = [balance(topic, number).counts for number, _ in numbers]
    assert [counts["raw"] for counts in later] == [counts["raw"] for _, counts in numbers]
    assert later[0]["accepted"] < numbers[0][1]["accepted"]
    own = (topic.names.raw_table, topic.names.standardized_table, topic.names.curated_table)
    compacted(topic, *own, PARSE_ERRORS_TABLE, ERRORS_TABLE, RECONCILIATION_LOG_TABLE)
    assert [balance(topic, number).counts for number, _ in numbers] == later
    assert {row["balanced"] for row in log(topic)} == {True}


def test_a_batch_is_told_by_its_dispositions(topic: Topic) -> None:
    result = balance(topic)
    assert (result.layer, str(result.status)) == ("reconciled", "balanced")
    assert {name: count for name, count in result.counts.items() if name != "expectations"} == BALANCE
    assert result.counts["expectations"] > 20
    first = balance(topic, ONE)
    # k1 was accepted, and a later batch has overtaken it.
    assert [first.counts[name] for name in ("raw", "accepted", "overtaken", "parse_error")] == [8, 5, 1, 2]


def test_the_log_holds_each_batch_once_with_the_snapshots_that_were_compared(topic: Topic) -> None:
    for _ in range(2):
        result = balance(topic)
    rows = [row for row in log(topic) if row["_batch"] == result.batch]
    names = [row["check_name"] for row in rows]
    assert len(names) == len(set(names))
    assert {"raw_sum", "raw_missing", "row_sum", "row_unplaced", "counter_accepted", "counter_rejected"} <= set(names)
    (total,) = (row for row in rows if row["check_name"] == "raw_sum")
    assert (total["scope"], total["period_reference"], total["balanced"], total["detail"]) == (
        "batch",
        None,
        True,
        None,
    )
    assert [int(total[name]) for name in ("expected", "found", "difference")] == [18, 18, 0]
    heads = [topic.lake.head(table).id for table in (topic.names.raw_table, topic.names.standardized_table, topic.names.curated_table)]  # fmt: skip
    assert [total[f"{layer}_snapshot_id"] for layer in ("raw", "standardized", "curated")] == heads


class Damage(NamedTuple):
    what: str
    table: str
    statements: tuple[str, ...]
    checks: str
    records: tuple[str, ...]


OLD = "SELECT * FROM {table} VERSION AS OF {before}"
FIRST_OLD = "SELECT * FROM {table} VERSION AS OF {first}"
OWN = "topic_name = '{topic}' AND message_id"
# What the loss of a row in Standardized shows in besides.
ALSO = "raw_sum raw_missing counter_taken counter_accepted counter_standardized"
# fmt: off
DAMAGES = [
    Damage("a row of Standardized is gone", "standardized", ("DELETE FROM {table} WHERE message_id = 'new'",), f"{ALSO} row_unfounded counter_curated", ("new",)),
    Damage("a row without a key is gone", "standardized", ("DELETE FROM {table} WHERE message_id = 'keyless2'",), f"{ALSO} counter_rejected", ("keyless2",)),
    Damage("with the newest version of a key, the one that it overtook is lost too", "standardized", ("DELETE FROM {table} WHERE message_id = 'newer'",), f"{ALSO} row_unfounded counter_curated", ("late", "newer", "overtaken")),
    Damage("an older version stands in the place of the newest", "standardized", ("DELETE FROM {table} WHERE message_id = 'newer'", f"INSERT INTO {{table}} {FIRST_OLD} WHERE message_id = 'm1'"), f"{ALSO} row_unfounded counter_curated", ("late", "newer", "overtaken")),
    Damage("the row that made a record stale is gone", "standardized", ("DELETE FROM {table} WHERE message_id = 'm3'",), "raw_sum raw_missing counter_taken", ("stale",)),
    Damage("a row stands twice in Standardized", "standardized", (f"INSERT INTO {{table}} {OLD} WHERE message_id = 'new'",), "raw_sum raw_doubled row_sum counter_taken counter_accepted counter_standardized", ("new",)),
    Damage("a parse error is gone", "parse_errors", (f"DELETE FROM {{table}} WHERE {OWN} = 'broken2'",), "raw_sum raw_missing counter_parse_error", ("broken2",)),
    Damage("one of two deliveries of a broken message is gone", "parse_errors", (f"DELETE FROM {{table}} WHERE {OWN} = 'broken3' AND ingestion_ts = 2001",), "raw_sum raw_missing counter_parse_error", ("broken3",)),
    Damage("the broken delivery of a message that was taken in is gone", "parse_errors", (f"DELETE FROM {{table}} WHERE {OWN} = 'mended'",), "raw_sum raw_missing counter_parse_error", ("mended",)),
    Damage("a parse error stands twice", "parse_errors", (f"INSERT INTO {{table}} {OLD} WHERE {OWN} = 'broken2'",), "raw_sum raw_doubled counter_parse_error", ("broken2",)),
    Damage("a record that was taken in is a parse error too", "parse_errors", (f"UPDATE {{table}} SET message_id = 'new' WHERE {OWN} = 'broken2'",), "raw_missing raw_doubled", ("broken2", "new")),
    Damage("a row of Curated is gone", "curated", ("DELETE FROM {table} WHERE message_id = 'new'",), "row_sum row_unplaced counter_curated", ("new",)),
    Damage("a row stands twice in Curated", "curated", (f"INSERT INTO {{table}} {OLD} WHERE message_id = 'new'",), "row_sum row_twice counter_curated", ("new",)),
    Damage("Curated shows another version", "curated", ("UPDATE {table} SET ingestion_ts = ingestion_ts - 1 WHERE message_id = 'newer'",), "row_sum row_unplaced row_unfounded counter_curated", ("newer",)),
    Damage("Curated shows another key", "curated", ("UPDATE {table} SET idempotency_key = 'k99' WHERE message_id = 'newer'",), "row_sum row_unplaced row_unfounded counter_curated", ("newer",)),
    Damage("a rejected row is gone", "errors", (f"DELETE FROM {{table}} WHERE {OWN} = 'rejected2'",), "row_sum row_unplaced counter_rejected", ("rejected2",)),
    Damage("a row is in Curated and rejected", "errors", (f"INSERT INTO {{table}} SELECT topic_name, _batch, 'k6', TIMESTAMP '2026-01-14 00:00:00', publish_time, ingestion_ts, 'new', period_reference, violations, row_json, _contract_version FROM {{table}} WHERE {OWN} = 'rejected2'",), "row_sum row_twice counter_rejected", ("new",)),
]
# fmt: on


@pytest.mark.parametrize("damage", DAMAGES, ids=[damage.what for damage in DAMAGES])
def test_whatever_is_taken_out_or_put_in_is_found_and_named(topic: Topic, damage: Damage) -> None:
    own = {"standardized": topic.names.standardized_table, "curated": topic.names.curated_table}
    with damaged(
        topic, (own | {"parse_errors": PARSE_ERRORS_TABLE, "errors": ERRORS_TABLE})[damage.table], *damage.statements
    ):
        error = found(topic)
    assert sorted(check.name for check in error.failed) == sorted(damage.checks.split())
    assert error.records == damage.records
    assert all(repr(name) in str(error) for name in damage.records)


def test_a_loss_in_an_older_batch_is_found_there(topic: Topic) -> None:
    with damaged(topic, topic.names.standardized_table, "DELETE FROM {table} WHERE message_id IN ('m2', 'm4')"):
        # The newest batch has a repeat of m4, and is whole: its own records are all accounted for.
        assert balance(topic).counts["network_duplicate"] == 3
        assert found(topic, ONE).records == ("m2", "m4")


def test_an_error_names_twenty_records_and_the_next_step_and_the_log_a_hundred(spark: SparkSession) -> None:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    topic.take([delivery(1, f"m{number:03}", order(f"k{number}")) for number in range(150)])
    with damaged(topic, topic.names.standardized_table, "DELETE FROM {table} WHERE message_id >= 'm010'"):
        error = found(topic)
    assert error.records == tuple(f"m{number:03}" for number in range(10, 30))
    assert str(error).startswith(
        "Cannot close batch, raw_sum: 150 expected, 10 found; raw_missing: 0 expected, 140 found; "
    )
    assert f"topic {topic.names.topic}, batch {ONE}, records 'm010', 'm011', " in str(error)
    assert error.remedy.endswith(f"reprocess --batch {ONE} makes the rows again from RAW.")
    assert {row["check_name"] for row in log(topic) if not row["balanced"]} == {check.name for check in error.failed}
    (row,) = (row for row in log(topic) if row["check_name"] == "raw_missing")
    assert row["detail"].split(", ") == [f"m{number:03}" for number in range(10, 110)]


def test_counters_that_disagree_with_the_tables_are_told_apart_from_a_loss(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import reconciliation

    real = reconciliation.span_of

    def boasting(*given: Any) -> Any:
        span = real(*given)
        assert span is not None
        return span._replace(counters=({**span.counters[0], "accepted": 8, "stale": 0},))

    monkeypatch.setattr(reconciliation, "span_of", boasting)
    error = found(topic)
    assert [(check.name, check.expected, check.found) for check in error.failed] == [("counter_accepted", 8, 7)]
    assert error.records == ()


def test_many_records_are_compared_by_the_plan_of_large_batches_with_the_same_result(
    topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import reconciliation

    monkeypatch.setattr(reconciliation, "SMALL", 0)
    assert {name: count for name, count in balance(topic).counts.items() if name != "expectations"} == BALANCE
    with damaged(topic, topic.names.standardized_table, "DELETE FROM {table} WHERE message_id IN ('newer', 'm3')"):
        assert found(topic).records == ("late", "newer", "overtaken", "stale")


def test_a_batch_that_is_done_again_balances_and_so_do_those_after_it(spark: SparkSession) -> None:
    from spark_jobs.reprocessing import redo_batch
    from tests.spark_jobs.lakehouse import PII_KEY, Topic

    topic = Topic.new(spark, "orders")
    topic.take(message for message in [*FIRST, *SECOND] if "keyless" not in message.body)
    before = [balance(topic, number).counts for number in (ONE, TWO)]
    redo_batch(topic.lake, topic.names, topic.contract, PII_KEY, ONE)
    after = [balance(topic, number).counts for number in (ONE, TWO)]
    # The counters are those of the first time: they are no longer compared.
    assert [counts["expectations"] for counts in after] < [counts["expectations"] for counts in before]
    assert [{**counts, "expectations": 0} for counts in after] == [{**counts, "expectations": 0} for counts in before]
    with damaged(topic, topic.names.standardized_table, "DELETE FROM {table} WHERE message_id = 'm2'"):
        assert found(topic, ONE).records == ("m2",)
        redo_batch(topic.lake, topic.names, topic.contract, PII_KEY, ONE)
        assert balance(topic, ONE).counts["missing"] == 0


def test_batches_that_curated_took_in_together_are_proven_together(spark: SparkSession) -> None:
    from spark_jobs.curation import RejectionSpike
    from spark_jobs.reconciliation import UntakenBatch
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders", quality={"max_rejected_ratio": 0.2})
    assert str(balance(topic).status) == "nothing"
    topic.land(FIRST[:4])
    topic.standardize()
    with pytest.raises(
        UntakenBatch, match=f"Cannot reconcile, it has not taken any batch in: {topic.names.curated_table}"
    ):
        balance(topic)
    topic.curate()
    assert (balance(topic).batch, balance(topic).counts["raw"]) == (ONE, 4)
    topic.land(delivery(2, f"bad{number}", order(f"k{number}", 7, "much")) for number in (1, 2, 8))
    topic.standardize()
    with pytest.raises(RejectionSpike):
        topic.curate()
    with pytest.raises(UntakenBatch, match=f"Cannot reconcile, it has not taken batch {TWO} in"):
        balance(topic, TWO)
    topic.land([*(delivery(3, f"good{number}", order(f"g{number}")) for number in range(12)), delivery(3, "bad1", order("k1", 7, "much"), again=1, moment=2)])  # fmt: skip
    topic.run()
    both = balance(topic)
    assert [both.batch, *(both.counts[name] for name in ("raw", "accepted", "network_duplicate", "rejected"))] == [THREE, 16, 15, 1, 3]  # fmt: skip
    assert balance(topic, TWO) == both
    assert (balance(topic, ONE).batch, balance(topic, ONE).counts["overtaken"]) == (ONE, 2)
    with damaged(topic, ERRORS_TABLE, f"DELETE FROM {{table}} WHERE {OWN} = 'bad8'"):  # fmt: skip
        assert found(topic).records == ("bad8",)


def test_a_contract_without_curated_is_proven_up_to_standardized(spark: SparkSession) -> None:
    from leanops.core.contract import load
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    plain = {key: value for key, value in topic.document.items() if key not in {"payload_columns", "rules"}}
    bare = replace(topic, contract=load(json.dumps(plain)), document=plain)
    for batch in (FIRST, SECOND):
        bare.land(batch)
        bare.standardize()
    counts = balance(bare).counts
    assert {name: counts[name] for name in counts if name in BALANCE} == {name: BALANCE[name] for name in BALANCE if name in counts}  # fmt: skip
    assert counts.keys().isdisjoint({"standardized", "curated", "rejected"})
    assert not topic.lake.exists(topic.names.curated_table)
    with damaged(bare, bare.names.standardized_table, "DELETE FROM {table} WHERE message_id = 'newer'"):
        assert found(bare).records == ("late", "newer", "overtaken")
    # Curated begins with the whole of it.
    topic.curate()
    assert balance(topic).counts["raw"] == len(FIRST) + len(SECOND)
    assert balance(topic).counts["standardized"] == 12


def test_a_small_batch_costs_few_spark_jobs(spark: SparkSession) -> None:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    jobs = spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs  # type: ignore[union-attr]
    costs = []
    for batch in (FIRST[:4], SECOND[:2], SECOND[2:]):
        topic.land(batch)
        topic.run()
        before = jobs()
        balance(topic)
        costs.append(jobs() - before)
    # Comparison and log, and two broadcasts where the tables are large; a second look at the records that no table
    # holds by name; a third, at the whole table.
    assert all(cost <= most for cost, most in zip(costs, (4, 4, 6), strict=True)), costs


def test_the_jobs_reconcile_in_their_own_application(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import curate, reconcile, standardize
    from tests.spark_jobs.lakehouse import PII_KEY, Topic
    from tests.spark_jobs.test_application import Command

    monkeypatch.setenv("LEANOPS_PII_KEY", PII_KEY.decode())
    topic, bare = Topic.new(spark, "orders"), Topic.new(spark, "orders")
    command = Command(spark, tmp_path, [topic, bare])
    plain = {key: value for key, value in bare.document.items() if key not in {"payload_columns", "rules"}}
    command.write_contract(bare, json.dumps(plain))
    for each in (topic, bare):
        each.land(FIRST)

    def layers() -> list[list[str]]:
        return [[result["layer"] for result in outcome["results"]] for outcome in command.document()["topics"].values()]

    assert standardize.main(command.argv("--reconcile", "true")) == 0
    assert layers() == [["standardized"], ["standardized", "reconciled"]]
    assert curate.main(command.argv("--reconcile", "true")) == 0
    assert layers() == [["curated", "reconciled"], ["curated"]]
    assert reconcile.main(command.argv()) == 0
    assert layers() == [["reconciled"], ["reconciled"]]
    alone = Command(spark, tmp_path, [topic])
    with damaged(topic, topic.names.curated_table, "DELETE FROM {table} WHERE message_id = 'm2'"):
        assert reconcile.main(alone.argv("--batch", str(ONE))) == 1
    (outcome,) = alone.document()["topics"].values()
    assert outcome["error"]["type"] == "Unreconciled"
    assert "records 'm2'" in outcome["error"]["line"]
    assert outcome["error"]["next_step"].endswith(f"reprocess --batch {ONE} makes the rows again from RAW.")
