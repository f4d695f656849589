"""A topic's tables under test: messages in, rows out as plain Python, and the oracle's truth to compare them with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count, groupby
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from leanops.core import layout
from leanops.core.contract import Contract, load
from leanops.core.flatten import flatten
from leanops.core.layout import STANDARDIZED_FIELDS
from leanops.core.naming import DRIFT_LOG_TABLE, ERRORS_TABLE, PARSE_ERRORS_TABLE, Environment, Names
from leanops.core.period import filed_period
from spark_jobs.curation import curate
from spark_jobs.results import Result
from spark_jobs.standardization import standardize
from spark_jobs.tables import Lake
from tests.traffic import Message
from tests.traffic.oracle import Outcome, Truth, Version, read_contract, truth
from tests.traffic.oracle.records import raw as raw_of

SCHEMAS = Path(__file__).parents[2] / "schemas"
ENVIRONMENT = Environment("test", "123456789012", "eu-central-1")
PII_KEY = b"a key for tests"
PLATFORM = {field.name for field in STANDARDIZED_FIELDS}
# What a row says of its making, not of its message.
MAKING = {"_batch", "_contract_version", "topic_name"}
_NUMBERS = count(1)

Row = dict[str, Any]


def contract_document(sample: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((SCHEMAS / sample / "active" / "schema.json").read_text(encoding="utf-8"))
    # Damaged traffic is what is under test here; the spike guard has tests of its own.
    return document | {"quality": {"max_rejected_ratio": 1}}


@dataclass(frozen=True)
class Topic:
    """One topic of its own in the shared catalog."""

    lake: Lake
    names: Names
    contract: Contract
    document: Mapping[str, Any]

    @classmethod
    def new(cls, spark: SparkSession, sample: str = "events", **changes: Any) -> Topic:
        document = contract_document(sample) | {"table_name": f"{sample}_{next(_NUMBERS)}"} | changes
        contract = load(json.dumps(document))
        topic = cls(Lake(spark), ENVIRONMENT.topic(contract.topic), contract, document)
        topic.lake.ensure(layout.raw(topic.names))
        return topic

    def with_contract(self, **changes: Any) -> Topic:
        document = {**self.document, **changes}
        return replace(self, contract=load(json.dumps(document)), document=document)

    def land(self, messages: Iterable[Message]) -> None:
        """One append to RAW, as Firehose would make it."""
        rows = [raw_of(message) for message in messages]
        frame = self.lake.spark.createDataFrame(
            [(r.message_id, self.names.topic, r.publish_time, r.ingestion_ts, r.json_payload) for r in rows],
            "message_id string, topic_name string, publish_time timestamp, ingestion_ts bigint, json_payload string",
        )
        self.lake.fitted(frame.coalesce(1), self.names.raw_table).writeTo(f"lake.{self.names.raw_table}").append()

    def run(self) -> tuple[Result, Result]:
        return self.standardize(), self.curate()

    def standardize(self, **limits: int | None) -> Result:
        return standardize(self.lake, self.names, self.contract, **limits)

    def curate(self) -> Result:
        return curate(self.lake, self.names, self.contract, PII_KEY)

    def take(self, messages: Iterable[Message]) -> list[tuple[Result, Result]]:
        """Lands and runs batch by batch."""
        results = []
        for _, group in groupby(messages, key=lambda message: message.batch):
            self.land(group)
            results.append(self.run())
        return results

    def rows(self, table: str, where: str = "true") -> list[Row]:
        return [row.asDict(recursive=True) for row in self.lake.read(table).where(where).collect()]

    def shared(self, table: str) -> list[Row]:
        return self.rows(table, f"topic_name = '{self.names.topic}'")

    def standardized(self) -> list[Row]:
        """Envelope and flat content; columns and `_rescued` are one content."""
        return sorted((_content(row) for row in self.rows(self.names.standardized_table)), key=_order)

    def curated(self) -> list[Row]:
        dropped = MAKING | {"_message_id"}
        rows = self.rows(self.names.curated_table)
        return sorted(({n: _plain(v) for n, v in row.items() if n not in dropped} for row in rows), key=_order)

    def errors(self) -> list[Row]:
        return sorted((_plain_row(row) for row in self.shared(ERRORS_TABLE)), key=_order)

    def parse_errors(self) -> list[Row]:
        return sorted((_plain_row(row) for row in self.shared(PARSE_ERRORS_TABLE)), key=_order)

    def drift(self) -> list[Row]:
        return self.shared(DRIFT_LOG_TABLE)

    def state(self) -> dict[str, list[Row]]:
        """All that the topic's tables hold, but for when it was written."""
        return {
            "standardized": self.standardized(),
            "curated": self.curated(),
            "errors": [{n: v for n, v in row.items() if n not in {*MAKING, "row_json"}} for row in self.errors()],
            "parse_errors": [{n: v for n, v in row.items() if n not in MAKING} for row in self.parse_errors()],
        }

    def truth(self, messages: Iterable[Message]) -> tuple[list[Outcome], Truth]:
        return truth(messages, read_contract(self.document), PII_KEY)


def expected_state(topic: Topic, messages: Sequence[Message]) -> dict[str, list[Row]]:
    """What `Topic.state` must be, from the oracle; flat columns come from the reference in `leanops.core`."""
    outcomes, told = topic.truth(messages)
    payloads = {(r.message_id, r.publish_time, r.ingestion_ts): r.json_payload for r in map(raw_of, messages)}
    rows = []
    for key, version in [*told.standardized.items(), *((None, version) for version in told.keyless)]:
        text = payloads[version.message_id, version.publish_time, version.ingestion_ts]
        flat = flatten(text, topic.contract.owners)
        content = {name: value for name, value in {**flat.columns, **flat.rescued}.items() if value is not None}
        period = _filed_period(topic, flat.columns, version)
        first = told.first[key] if key is not None else (version.publish_time, period)
        correlation = topic.contract.by_name.get("correlation_id")
        rows.append(
            {
                **version._asdict(),
                "idempotency_key": key,
                "period_reference": period,
                "correlation_id": flat.columns.get(topic.contract.standardized_column(correlation))
                if correlation
                else None,
                "first_seen_ts": first[0],
                "first_period_reference": first[1],
                "content": content,
            }
        )
    curated = [{**row, "ingestion_ts": told.standardized[key].ingestion_ts} for key, row in told.curated.items()]
    return {
        "standardized": sorted(rows, key=_order),
        "curated": sorted(curated, key=_order),
        "parse_errors": _expected_parse_errors(outcomes),
    }


def _expected_parse_errors(outcomes: Iterable[Outcome]) -> list[Row]:
    rows = []
    for outcome in outcomes:
        if outcome.disposition == "parse_error":
            raw = raw_of(outcome.message)
            rows.append({"message_id": raw.message_id, "publish_time": raw.publish_time, "ingestion_ts": raw.ingestion_ts,
                         "reason": outcome.reason, "json_payload": raw.json_payload})  # fmt: skip
    return sorted(rows, key=_order)


def expected_errors(topic: Topic, messages: Sequence[Message]) -> Counter[Any]:
    """(key, version, violations) of every row that was rejected, as often as batches took it in."""
    _, told = topic.truth(messages)
    return Counter((r.key, r.version, tuple(r.violations)) for r in told.rejected)


def found_errors(topic: Topic) -> Counter[Any]:
    return Counter(
        (
            row["idempotency_key"],
            Version(row["last_updated_ts"], row["publish_time"], row["ingestion_ts"], row["message_id"]),
            tuple((v["column"], v["rule"], v["value"]) for v in row["violations"]),
        )
        for row in topic.errors()
    )


def _filed_period(topic: Topic, columns: Mapping[str, str | None], version: Version) -> str:
    return str(filed_period(columns.get(topic.contract.period_column), version.publish_time))


def _content(row: Row) -> Row:
    rescued = json.loads(row["_rescued"] or "{}")
    flat = {name: value for name, value in row.items() if name not in PLATFORM} | rescued
    envelope = {name: _plain(row[name]) for name in PLATFORM - MAKING - {"_rescued"}}
    return envelope | {"content": {name: value for name, value in flat.items() if value is not None}}


def _plain_row(row: Row) -> Row:
    return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    # PySpark hands moments out without a zone, in the process's own: tests run in UTC.
    if isinstance(value, datetime) and value.tzinfo is None:
        return value.replace(tzinfo=UTC)
    return value


def _order(row: Row) -> tuple[str, ...]:
    moments = (row.get("idempotency_key"), row.get("publish_time"), row.get("ingestion_ts"), row.get("message_id"))
    return tuple(str(part) for part in moments)
