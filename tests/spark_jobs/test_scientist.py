"""The Scientist view's SQL, run by Spark and read as Athena's."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.traffic import load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.mark.parametrize(("scenario", "batches"), [("corrections", 2), ("hostile_keys", 1)])
def test_the_view_has_one_row_per_key_under_the_names_of_the_contract(
    spark: SparkSession, scenario: str, batches: int
) -> None:
    from spark_jobs.scientist import LEFT_OUT, view_query
    from tests.spark_jobs.lakehouse import Topic

    stream = list(messages(load_scenario(scenario).resized(topic="events", messages=120, batches=batches), seed=11))
    topic = Topic.new(spark)
    topic.take(stream)
    columns = topic.lake.columns(topic.names.standardized_table)
    view = spark.sql(view_query(topic.names, topic.contract, columns, "spark"))

    readable = {
        topic.contract.standardized_column(column): column.name for column in topic.contract.payload_columns or ()
    }
    kept = [name for name in columns if name not in LEFT_OUT]
    # Hostile traffic has fields that bear another column's declared name: then both keep their own.
    taken = set(columns) - readable.keys()
    expected_names = [name if readable.get(name) in taken else readable.get(name, name) for name in kept]
    assert view.columns == expected_names
    assert len(set(view.columns)) == len(view.columns)
    assert {"device_id", "idempotency_key", "_rescued"} <= set(view.columns)

    rows = [tuple(row) for row in view.collect()]
    table = topic.lake.read(topic.names.standardized_table)
    expected = [tuple(row) for row in table.select(*(table[f"`{name.replace('`', '``')}`"] for name in kept)).collect()]
    assert sorted(map(repr, rows)) == sorted(map(repr, expected))
    keys = [row["idempotency_key"] for row in view.collect() if row["idempotency_key"] is not None]
    assert len(keys) == len(set(keys)) > 0


def test_hostile_names_are_quoted_in_both_dialects(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.scientist import view_query
    from tests.spark_jobs.lakehouse import Topic

    payload = {"_metadata": {"idempotencyKeyResource": "k"}, 'a"b': 1, "select": 2, "c`d": 3, "e f; --": 4}
    topic = Topic.new(spark)
    row = ("m1", topic.names.topic, 1, json.dumps(payload))
    frame = spark.createDataFrame(
        [row], "message_id string, topic_name string, ingestion_ts bigint, json_payload string"
    )
    rows = frame.withColumn("publish_time", F.lit("2026-01-01 00:00:00").cast("timestamp"))
    topic.lake.fitted(rows, topic.names.raw_table).writeTo(f"lake.{topic.names.raw_table}").append()
    topic.standardize()
    columns = topic.lake.columns(topic.names.standardized_table)
    (shown,) = spark.sql(view_query(topic.names, topic.contract, columns, "spark")).collect()
    flat = {name: shown[name] for name in shown.asDict() if shown[name] in {"1", "2", "3", "4"}}
    assert sorted(flat.values()) == ["1", "2", "3", "4"]
    assert flat["select"] == "2"

    # Names that flattening never makes: the view must not rely on that.
    hostile = [*columns, 'x" FROM secrets --', "y` FROM secrets --"]
    athena = view_query(topic.names, topic.contract, hostile)
    assert '"x"" FROM secrets --" AS "x"" FROM secrets --"' in athena
    assert '"y` FROM secrets --" AS "y` FROM secrets --"' in athena
    assert '"select" AS "select"' in athena
    assert "`y`` FROM secrets --` AS `y`` FROM secrets --`" in view_query(topic.names, topic.contract, hostile, "spark")


def test_the_athena_text() -> None:
    from leanops.core.contract import loaded
    from spark_jobs.scientist import view_query
    from tests.core.contract.documents import document
    from tests.spark_jobs.lakehouse import ENVIRONMENT

    contract = loaded(document())
    columns = ["message_id", "topic_name", "idempotency_key", "_batch", "who_email", "seen_at", "amount"]
    text = view_query(ENVIRONMENT.topic("readings"), contract, columns)
    assert text == (
        'SELECT "message_id" AS "message_id", "idempotency_key" AS "idempotency_key", "who_email" AS "email", '
        '"seen_at" AS "seen_at", "amount" AS "amount" FROM "iceberg_standardized_db"."readings"'
    )
    taken = view_query(ENVIRONMENT.topic("readings"), contract, ["who_email", "email"])
    assert taken.startswith('SELECT "who_email" AS "who_email", "email" AS "email" FROM ')
