"""Input from outside at its worst: each record has its defined outcome, none stops the batch."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.traffic import Message

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MOMENT = 1_768_435_200_000


def payload(key: str, updated: Any = None, period: Any = None, **members: Any) -> dict[str, Any]:
    metadata = {"idempotencyKeyResource": key, "lastUpdatedTs": updated, "periodReference": period}
    order = {"orderId": 7, "orderDate": "2026-01-15", "total": "19.90"}
    return {"_metadata": {n: v for n, v in metadata.items() if v is not None}, **order, **members}


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"d": value}
    return value


HOSTILE_KEYS = [
    "it's", 'say "hi"', "`tick`", "a.b.c", "😀", "k" * 10_000, "__proto__", "constructor", "'; DROP TABLE x; --",
    "${spark.app.name}", "a b", "A", "a", "ä", "", " ", "\t", "_batch", "message_id", "_rescued", "c_0", "_extra", "_row",
    "$violations", "9", "select", "x__0123456789abcdef", "\u202e", "null", "../../etc/passwd", "%s%d", "{0}", "\\",
]  # fmt: skip

GOOD: dict[str, Any] = {
    "hostile keys": payload("hostile", extra={key: f"value of {number}" for number, key in enumerate(HOSTILE_KEYS)}),
    "hostile keys at the root": payload("root") | {key: str(number) for number, key in enumerate(HOSTILE_KEYS)},
    "300 levels": payload("deep", deep=deep(300)),
    "5,000 new keys": payload("wide", **{f"k{number:04}": number for number in range(5000)}),
    "hostile values": payload("values", note="'; DROP TABLE orders; --", status="paid", text="\u0000\u001f\x7f\u2028"),
    "hostile key": payload("'; DELETE FROM orders --`\\"),
}
NUMBERS = ["-0", "-0.0", "9" * 400, "1e999", "1E+2", "0.10", "12345678901234567.89", "1e-400"]
PERIODS = ["2026-13", "0000-00", "2026-1", "٢٠٢٦-٠١", "2026-01-01", "../2026-01", "9999-12", "1970-01"]
TIMES = [
    "2026-01-15T10:00:00Z", "2026-01-15T10:00:00+01:00", "2026-01-15 10:00", "2026-01-15T10:00:00.123456789Z",
    "1768435200000", "15.01.2026", "2026-02-30T00:00:00Z", "2026-01-15T25:00:00Z", "yesterday", "",
]  # fmt: skip
TEXTS: dict[str, str | None] = {
    "empty": "", "white space": " \n\t", "null payload": None, "json null": "null", "array": "[1]", "number": "1",
    "not json": "{", "trailing": "{} {}", "nan": '{"a": NaN}', "infinity": '{"a": -Infinity}', "bom": "\ufeff{}",
    "same key twice": '{"a": 1, "a": 2}', "same key twice, deep": '{"a": {"b": [{"c": 1, "c": 2}]}}',
    "lone surrogate": '{"a": "\\ud800"}', "600 levels": json.dumps(deep(600)), "leading zero": '{"a": 01}',
    "single quotes": "{'a': 1}", "nul byte": '{"a": "\u0000"}', "html": "<html></html>", "sql": "'; DROP TABLE raw; --",
}  # fmt: skip


def corpus() -> list[Message]:
    texts: list[str | None] = [json.dumps(document) for document in GOOD.values()]
    texts += [json.dumps(payload(f"n{n}")).replace('"19.90"', number) for n, number in enumerate(NUMBERS)]
    texts += [json.dumps(payload(f"p{n}", period=period)) for n, period in enumerate(PERIODS)]
    texts += [json.dumps(payload(f"t{n}", updated=text)) for n, text in enumerate(TIMES)]
    texts += [json.dumps(payload("big", note="x" * 20_000_000)), *TEXTS.values()]
    body = lambda number, text: json.dumps(  # noqa: E731
        {"messageId": f"m{number:03}", "publishTime": "2026-01-15T00:00:00Z", "attributes": {}, "payload": text}
    )
    return [Message(1, body(n, text), "orders", MOMENT + n, "hostile") for n, text in enumerate(texts)]


def test_a_hostile_batch_ends_as_the_oracle_says_and_loses_nothing(spark: SparkSession) -> None:
    from tests.spark_jobs.lakehouse import Topic, expected_errors, expected_state, found_errors

    topic = Topic.new(spark, "orders", column_budget=60)
    topic.land(corpus())
    standardized, _ = topic.run()
    expected = expected_state(topic, corpus())
    state = topic.state()
    assert standardized.counts["raw"] == len(corpus())
    assert state["standardized"] == expected["standardized"]
    assert state["curated"] == expected["curated"]
    assert found_errors(topic) == expected_errors(topic, corpus())
    found = [(row["message_id"], row["reason"], row["json_payload"]) for row in state["parse_errors"]]
    assert found == [(row["message_id"], row["reason"], row["json_payload"]) for row in expected["parse_errors"]]
    assert all(row["detail"].startswith("Cannot flatten record, ") for row in state["parse_errors"])
    columns = topic.lake.columns(topic.names.standardized_table)
    assert len(columns) == 60 + 13
    assert len(columns) == len({name.lower() for name in columns})
