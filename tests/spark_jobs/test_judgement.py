from __future__ import annotations

import hmac
import json
import re
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leanops.core.contract import Contract, loaded
from leanops.core.flatten import flatten
from leanops.core.layout import curated_fields
from tests.traffic import load_scenario, messages
from tests.traffic.oracle import contract as oracle_contract
from tests.traffic.oracle.checks import Findings, examine
from tests.traffic.oracle.payload import ParseError, parse
from tests.traffic.oracle.records import Record, raw, record
from tests.traffic.oracle.treatments import treated as oracle_treated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMAS = Path(__file__).parents[2] / "schemas"
KEY = b"a key that the environment keeps"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH = 7
PLATFORM = (
    "message_id string, topic_name string, publish_time bigint, ingestion_ts bigint, idempotency_key string, "
    "period_reference string, first_seen_ts bigint, first_period_reference string, _batch bigint, _contract_version string"
)


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def sample(topic: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SCHEMAS / topic / "active" / "schema.json").read_text(encoding="utf-8"))
    return document


def standardized(spark: SparkSession, contract: Contract, records: list[Record]) -> DataFrame:
    """The rows as Standardized holds them, flattened by the core."""
    from pyspark.sql import functions as F

    flat = [flatten(one.raw.json_payload, contract.owners).columns for one in records]
    names = sorted({name for columns in flat for name in columns})
    rows = []
    for one, columns in zip(records, flat, strict=True):
        published = micros(one.raw.publish_time)
        platform = (
            one.raw.message_id, "t", published, one.raw.ingestion_ts, one.key,
            one.period, published, one.period, BATCH, "0.0.1",
        )  # fmt: skip
        rows.append((*platform, *(columns.get(name) for name in names)))
    schema = ", ".join([PLATFORM, *(f"`{name}` string" for name in names)])
    frame = spark.createDataFrame(rows, schema).coalesce(2)
    times = ("publish_time", "first_seen_ts")
    return frame.withColumns({name: F.timestamp_micros(name) for name in times})


def judgements(
    rows: DataFrame, contract: Contract, key: bytes = KEY
) -> dict[str, tuple[list[tuple[Any, ...]], dict[str, Any]]]:
    """Violations and record by message_id; moments as UTC."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType, TimestampType

    from spark_jobs.judgement import RECORD, VIOLATIONS, judged

    frame = judged(rows, contract, key)
    kinds = frame.schema[RECORD].dataType
    assert isinstance(kinds, StructType)
    fields = [
        (
            F.unix_micros(F.col(RECORD)[field.name])
            if isinstance(field.dataType, TimestampType)
            else F.col(RECORD)[field.name]
        ).alias(field.name)
        for field in kinds
    ]
    found = {}
    for row in frame.select(F.col("message_id").alias("id"), VIOLATIONS, F.struct(*fields).alias("r")).collect():
        values = row["r"].asDict()
        for field in kinds:
            if isinstance(field.dataType, TimestampType) and values[field.name] is not None:
                values[field.name] = EPOCH + timedelta(microseconds=values[field.name])
        found[row["id"]] = ([tuple(each) for each in row[VIOLATIONS]], values)
    return found


def expected_record(
    contract: Contract, known: oracle_contract.Contract, one: Record, findings: Findings
) -> dict[str, Any]:
    values = {
        column.name: oracle_treated(column, findings.texts[column.name], findings.values[column.name], KEY)
        for column in known.columns
        if column.treatment != "drop"
    }
    return values | {
        "period_reference": one.period,
        "ingestion_ts": one.raw.ingestion_ts,
        "last_updated_ts": values.get("last_updated_ts"),
        "first_seen_ts": one.raw.publish_time,
        "first_period_reference": one.period,
        "_batch": BATCH,
        "_message_id": one.raw.message_id,
        "_contract_version": contract.schema_version,
    }


def records_of(known: oracle_contract.Contract, topic: str, count: int) -> list[Record]:
    found: dict[str, Record] = {}
    for message in messages(load_scenario("everything").resized(topic=topic, messages=count), seed=23):
        source = raw(message)
        try:
            found.setdefault(source.message_id, record(known, source, parse(source.json_payload)))
        except ParseError:
            continue
    return list(found.values())


@pytest.mark.parametrize("topic", ["events", "orders", "payments"])
def test_every_row_of_a_sample_topic_is_judged_as_the_oracle_judges_it(spark: SparkSession, topic: str) -> None:
    contract, known = loaded(sample(topic)), oracle_contract.read_contract(SCHEMAS / topic / "active" / "schema.json")
    records = records_of(known, topic, 2500)
    found = judgements(standardized(spark, contract, records), contract)
    rules: Counter[str] = Counter()
    for one in records:
        findings = examine(known, one)
        violations, values = found[one.raw.message_id]
        assert violations == [tuple(each) for each in findings.violations]
        rules.update(each.rule for each in findings.violations)
        if not violations:
            assert values == expected_record(contract, known, one, findings)
            assert list(values) == [field.name for field in curated_fields(contract)]
    assert {"cde", "not_null", "cast", "enum", "length", "period"} <= rules.keys()
    assert len(found) == len(records) > 1000
