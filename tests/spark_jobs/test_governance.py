"""P7 and P8, drift and the strict schema: what governs the tables over time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.traffic import Message, load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def message(number: int, batch: int = 1, **members: Any) -> Message:
    payload = {
        "_metadata": {"idempotencyKeyResource": f"k{number}", "periodReference": "2026-01"},
        "orderId": number + 1,
        "orderDate": "2026-01-15",
        "total": "19.90",
        **members,
    }
    body = {"messageId": f"m{batch}-{number}", "publishTime": f"2026-01-15T00:00:{batch:02}Z", "attributes": {}}
    return Message(batch, json.dumps(body | {"payload": json.dumps(payload)}), "orders", batch * 1000 + number, "clean")


def test_a_spike_of_rejected_rows_leaves_curated_as_it_was_and_passes_once_the_rest_dilutes_it(
    spark: SparkSession,
) -> None:
    from spark_jobs.curation import RejectionSpike
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders", quality={"max_rejected_ratio": 0.1})
    topic.land([message(number) for number in range(10)])
    topic.run()
    before, head = topic.curated(), topic.lake.head(topic.names.curated_table).id
    topic.land([message(number, 2, total="much" if number % 5 == 0 else "1.00") for number in range(10)])
    topic.standardize()
    for _ in range(2):
        with pytest.raises(RejectionSpike, match="2 of 10 rows are rejected, more than 10%"):
            topic.curate()
    assert (topic.curated(), topic.lake.head(topic.names.curated_table).id) == (before, head)
    assert sorted(row["idempotency_key"] for row in topic.errors()) == ["k0", "k5"]
    topic.land([message(number, 3) for number in range(20, 40)])
    _, curated = topic.run()
    assert curated.counts == {"standardized": 30, "curated": 28, "rejected": 2}
    # Their newest version is rejected: the older one is no longer shown.
    assert {row["idempotency_key"] for row in topic.curated()} == {f"k{n}" for n in (*range(40),) if n not in (0, 5) and not 10 <= n < 20}  # fmt: skip


def test_a_batch_done_again_takes_todays_contract_and_leaves_the_rest(spark: SparkSession) -> None:
    from spark_jobs.reprocessing import redo_batch
    from tests.spark_jobs.lakehouse import PII_KEY, Topic

    topic = Topic.new(spark, "orders")
    topic.land([message(0, status="odd"), message(1)])
    first, _ = topic.run()
    topic.land([message(1, 2, total="2.00"), message(2, 2)])
    topic.run()
    assert [row["idempotency_key"] for row in topic.errors()] == ["k0"]
    columns = [column | ({"enum": ["odd", "placed"]} if column["name"] == "status" else {}) for column in topic.document["payload_columns"]]  # fmt: skip
    later = topic.with_contract(payload_columns=columns, schema_version="1.1.0")
    assert first.batch is not None
    marks = [topic.lake.watermark(t, topic.lake.head(t)) for t in (topic.names.standardized_table, topic.names.curated_table)]  # fmt: skip
    redo_batch(later.lake, later.names, later.contract, PII_KEY, first.batch)
    assert later.errors() == []
    rows = {row["idempotency_key"]: row for row in later.rows(later.names.curated_table)}
    assert {key: (str(row["total"]), row["_contract_version"]) for key, row in rows.items()} == {
        "k0": ("19.90", "1.1.0"),
        "k1": ("2.00", "1.0.0"),
        "k2": ("19.90", "1.0.0"),
    }
    assert marks == [topic.lake.watermark(t, topic.lake.head(t)) for t in (topic.names.standardized_table, topic.names.curated_table)]  # fmt: skip


def test_a_period_done_again_is_replaced_in_one_publication(spark: SparkSession) -> None:
    from leanops.core.period import Period
    from spark_jobs.reprocessing import redo_period
    from tests.spark_jobs.lakehouse import PII_KEY, Topic

    stream = list(
        messages(load_scenario("cross_period_corrections").resized(topic="payments", messages=150, batches=2), 4)
    )
    topic = Topic.new(spark, "payments")
    topic.take(stream)
    before, head = topic.curated(), topic.lake.head(topic.names.curated_table)
    columns = [column for column in topic.document["payload_columns"] if column["name"] != "fee"]
    columns.append({"name": "fee", "json_path": "$.fee", "type": "DECIMAL(12,4)", "default": "7"})
    later = topic.with_contract(payload_columns=columns, schema_version="1.1.0")
    redo_period(later.lake, later.names, later.contract, PII_KEY, Period.parse("2026-01"))
    after = {row["idempotency_key"]: row for row in later.curated()}
    assert after.keys() == {row["idempotency_key"] for row in before}
    fees = [(str(row["fee"]), str(after[row["idempotency_key"]]["fee"])) for row in before if row["period_reference"] == "2026-01"]  # fmt: skip
    assert ("0.0000", "7.0000") in fees
    assert all(new == ("7.0000" if old == "0.0000" else old) for old, new in fees)
    carriers = later.lake.carriers(later.names.curated_table, later.lake.head(later.names.curated_table), 0)
    assert [snapshot.id for snapshot in carriers].index(head.id) == 1


def test_drift_is_logged_once_for_each_change(spark: SparkSession) -> None:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    topic.take([message(number, 1, channel="web", note=1) for number in range(120)])
    topic.take([message(number, 2, note="text") for number in range(120)])
    topic.take([message(number, 3, note=2, brand_new={"x": [1]}) for number in range(120)])
    log = {(row["source_layer"], row["column_name"], row["action"], row["old_value"], row["new_value"]) for row in topic.drift()}  # fmt: skip
    assert ("standardized", "channel", "ADDED", None, "text") in log
    assert ("standardized", "channel", "REMOVED", "text", None) in log
    assert ("standardized", "note", "TYPE_CHANGED", "number", "number/text") in log
    assert ("standardized", "brand_new_x", "ADDED", None, "array") in log
    assert ("curated", "brand_new_x", "UNKNOWN", None, None) in log
    assert not any(entry[:2] == ("curated", "total") for entry in log)
    per_action = [(row["column_name"], row["action"]) for row in topic.drift() if row["source_layer"] == "standardized"]
    assert len(per_action) == len(set(per_action))
    assert "channel" in topic.lake.columns(topic.names.standardized_table)
    assert "channel" not in topic.lake.columns(topic.names.curated_table)


def test_an_overwrite_in_raw_is_refused_and_not_skipped(spark: SparkSession) -> None:
    from spark_jobs.snapshots import UnreadableRange
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    topic.take([message(number) for number in range(3)])
    spark.sql(f"DELETE FROM lake.{topic.names.raw_table} WHERE message_id = 'm1-1'")
    topic.land([message(9, 2)])
    with pytest.raises(UnreadableRange, match=r"Cannot read RAW, snapshot \d+ is a"):
        topic.standardize()


def test_a_backlog_is_eaten_in_bites_of_whole_snapshots_and_compaction_of_raw_changes_nothing(
    spark: SparkSession,
) -> None:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    for batch in range(1, 5):
        topic.land([message(number + 10 * batch, batch) for number in range(5)])
    taken = [topic.standardize(most_rows=10).counts["raw"]]
    spark.sql(f"CALL lake.system.rewrite_data_files(table => '{topic.names.raw_table}', options => map('rewrite-all', 'true'))")  # fmt: skip
    while (result := topic.standardize(most_rows=10)).status == "published":
        taken.append(result.counts["raw"])
    assert taken == [10, 10]
    topic.curate()
    assert len(topic.curated()) == 20


def test_nothing_to_do_starts_no_spark_job(spark: SparkSession) -> None:
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    assert topic.standardize().status == "nothing"
    topic.take([message(1)])
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()  # type: ignore[union-attr]
    before = scheduler.numTotalJobs()
    assert [result.status for result in topic.run()] == ["covered", "covered"]
    assert scheduler.numTotalJobs() == before
