from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from lambdas.firehose_transform import handler as function
from lambdas.firehose_transform.tables import PATIENCE_SECONDS, RawTables
from lambdas.sqs_processor.record import RECORD_BYTES, outgoing
from leanops.aws import settings
from leanops.core import layout
from leanops.core.naming import DLQ_ERRORS_TABLE, QUARANTINE_TABLE, RAW_DATABASE, Environment
from tests.emulator import Aws
from tests.lambdas.sqs_processor.messages import pubsub, sqs

DEV = Environment("dev", "000000000000", "eu-central-1")
LAMBDA_ANSWER_BYTES = 6 * 1024 * 1024
ARRIVED = 1_784_541_600_123


class Catalog:
    """Tables by name, and how often they were listed."""

    def __init__(self, *names: str) -> None:
        self.names = list(names)
        self.listed = 0
        self.is_up = True

    def __call__(self) -> Catalog:
        return self

    def get_paginator(self, operation: str) -> Catalog:
        assert operation == "get_tables"
        return self

    def paginate(self, **asked: Any) -> Iterator[dict[str, Any]]:
        assert asked["DatabaseName"] == RAW_DATABASE
        self.listed += 1
        if not self.is_up:
            raise ConnectionError("no catalog")
        yield {"TableList": [{"Name": name} for name in self.names]}


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    found = Catalog("events_staging", "orders_staging", "quarantine", "dlq_errors")
    monkeypatch.setattr(function, "tables", RawTables(found))
    return found


def record(data: bytes | dict[str, Any], record_id: str = "r1") -> dict[str, Any]:
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return {"recordId": record_id, "approximateArrivalTimestamp": ARRIVED, "data": b64encode(content).decode()}


def raw(**more: Any) -> dict[str, Any]:
    return {
        "message_id": "m",
        "topic_name": "events",
        "publish_time": "2026-07-20T10:00:00.000000Z",
        "ingestion_ts": 1,
    } | more


def answers(*records: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = function.handler({"records": list(records)}, None)["records"]
    return found


def place(answer: dict[str, Any]) -> str:
    metadata = answer["metadata"]["otfMetadata"]
    assert metadata["operation"] == "insert"
    return f"{metadata['destinationDatabaseName']}.{metadata['destinationTableName']}"


def content(answer: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(b64decode(answer["data"]))
    return found


def test_a_record_goes_to_the_raw_table_of_its_topic_byte_for_byte(catalog: Catalog) -> None:
    data = (
        b'{"topic_name":"orders", "message_id":"m","publish_time":"t","ingestion_ts":1,"json_payload":"{\\"a\\":1.0}"}'
    )
    (answer,) = answers(record(data))
    assert answer == {
        "recordId": "r1",
        "result": "Ok",
        "data": b64encode(data).decode(),
        "metadata": {
            "otfMetadata": {
                "destinationDatabaseName": "iceberg_raw_db",
                "destinationTableName": "orders_staging",
                "operation": "insert",
            }
        },
    }


@pytest.mark.parametrize("table", [QUARANTINE_TABLE, DLQ_ERRORS_TABLE])
def test_a_record_may_name_a_shared_table_and_loses_only_that_name(catalog: Catalog, table: str) -> None:
    (answer,) = answers(
        record(b'{"_table":"' + table.encode() + b'","topic_name":"x;y","body":"\\ud83d\\ude00","n":1.0}')
    )
    assert place(answer) == table
    assert b64decode(answer["data"]) == b'{"topic_name":"x;y","body":"\\ud83d\\ude00","n":1.0}'


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (raw(topic_name="unheard_of"), "unknown_topic"),
        (raw(topic_name="events_staging"), "unknown_topic"),
        (raw(topic_name="quarantine"), "unknown_topic"),
        (raw(topic_name="x`; drop table y"), "unknown_topic"),
        (raw(topic_name=None), "unknown_topic"),
        (raw(_table="iceberg_curated_db.events"), "unknown_topic"),
        (raw(topic_name=7), "envelope_not_json"),
        (raw(ingestion_ts="1"), "envelope_not_json"),
        (raw(message_id=None), "envelope_incomplete"),
        ({}, "envelope_incomplete"),
        (b"", "envelope_not_json"),
        (b"[1]", "envelope_not_json"),
        (b"\xff\x00", "envelope_not_json"),
        (b'{"a":' * 5000, "envelope_not_json"),
    ],
)
def test_what_fits_no_table_goes_to_quarantine_whole(
    catalog: Catalog, data: bytes | dict[str, Any], reason: str
) -> None:
    given_ = record(data)
    (answer,) = answers(given_)
    row = content(answer)
    assert (answer["result"], place(answer), row["reason"]) == ("Ok", QUARANTINE_TABLE, reason)
    assert list(row) == [field.name for field in layout.QUARANTINE.fields]
    assert row["body"] == b64decode(given_["data"]).decode("utf-8", "backslashreplace")
    assert row["quarantined_at"] == "2026-07-20T10:00:00.123000Z"
    assert content(answers(given_)[0]) == row


def test_a_batch_of_any_records_is_answered_record_by_record_in_order(catalog: Catalog) -> None:
    records = [
        record(raw(), "a"),
        record(b"?", "b"),
        {"recordId": "c", "data": "é"},
        {"recordId": "d"},
        record(raw(), "e"),
    ]
    found = answers(*records)
    assert [answer["recordId"] for answer in found] == ["a", "b", "c", "d", "e"]
    assert [answer["result"] for answer in found] == ["Ok", "Ok", "Ok", "ProcessingFailed", "Ok"]


def test_the_catalog_is_listed_once_a_minute_and_only_for_new_names() -> None:
    now = [100.0]
    catalog = Catalog("events_staging")
    tables = RawTables(catalog, lambda: now[0])
    assert tables.has("events_staging")
    assert not tables.has("late_staging")
    assert catalog.listed == 1
    catalog.names.append("late_staging")
    now[0] += PATIENCE_SECONDS - 1
    assert not tables.has("late_staging")
    assert catalog.listed == 1
    now[0] += 1
    assert tables.has("late_staging")
    assert tables.has("events_staging")
    assert catalog.listed == 2


def test_without_a_catalog_valid_topics_are_believed(catalog: Catalog) -> None:
    catalog.is_up = False
    first, second = answers(record(raw(topic_name="unheard_of")), record(raw(topic_name="No")))
    assert (place(first), place(second)) == (f"{RAW_DATABASE}.unheard_of_staging", QUARANTINE_TABLE)


def test_the_tables_of_the_real_catalog_are_found(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    glue = aws.client("glue")
    topic = f"seen_{aws.environment().name}"
    if RAW_DATABASE not in {each["Name"] for each in glue.get_databases()["DatabaseList"]}:
        glue.create_database(DatabaseInput={"Name": RAW_DATABASE})
    for number in range(120):
        glue.create_table(DatabaseName=RAW_DATABASE, TableInput={"Name": f"{topic}_{number}_staging"})
    settings.reset()
    monkeypatch.setenv("LEANOPS_REGION", "eu-central-1")
    monkeypatch.setattr(function, "tables", RawTables(lambda: settings.client("glue")))
    found = answers(*(record(raw(topic_name=f"{topic}_{number}")) for number in (0, 119, 120)))
    expected = [f"{RAW_DATABASE}.{topic}_0_staging", f"{RAW_DATABASE}.{topic}_119_staging", QUARANTINE_TABLE]
    assert [place(answer) for answer in found] == expected
    settings.reset()


def answer_bytes(records: list[dict[str, Any]]) -> tuple[int, int]:
    """The size of the answer as Lambda writes it, and how many of its records are not failed."""
    answer = function.handler({"records": records}, None)
    assert [each["recordId"] for each in answer["records"]] == [each["recordId"] for each in records]
    return len(json.dumps(answer)), sum(each["result"] == "Ok" for each in answer["records"])


@pytest.mark.parametrize("kind", ["smallest", "unknown topics", "largest"])
def test_a_full_buffer_fits_the_answer(catalog: Catalog, kind: str) -> None:
    """1 MiB and the record that goes over it is what our setting lets the stream hand over."""
    body = {"smallest": "", "unknown topics": '"' * 100, "largest": "x" * (RECORD_BYTES - 500)}[kind]
    topic = "unheard_of" if kind == "unknown topics" else "events"
    data = outgoing(sqs(json.dumps({"messageId": "1", "payload": body}), topic), DEV).data
    last = outgoing(sqs(pubsub("x" * (RECORD_BYTES - 500))), DEV).data
    records = [record(data, f"{number:080d}") for number in range(1024 * 1024 // len(data))] + [record(last)]
    size, fine = answer_bytes(records)
    assert fine == len(records)
    assert size < LAMBDA_ANSWER_BYTES


@given(
    records=st.lists(
        st.tuples(
            st.integers(0, 1_024_000), st.sampled_from(["events", "unheard_of"]), st.sampled_from(['"', "x", "\\"])
        ),
        min_size=1,
        max_size=8,
    )
)
@limits(deadline=None, max_examples=25)
def test_no_answer_is_over_the_limit_and_what_does_not_fit_is_answered_as_failed(
    records: list[tuple[int, str, str]],
) -> None:
    made = [
        record(json.dumps(raw(topic_name=topic, json_payload=sign * size)).encode(), str(number))
        for number, (size, topic, sign) in enumerate(records)
    ]
    with mock.patch.object(function, "tables", RawTables(Catalog("events_staging"))):
        size, fine = answer_bytes(made)
    assert size <= LAMBDA_ANSWER_BYTES
    needed = sum(2 * len(each["data"]) + 2_000 for each in made)
    assert fine == len(made) or needed > 6_000_000 // 2


def test_one_record_that_does_not_fit_leaves_the_others_their_place(catalog: Catalog) -> None:
    hostile = record(b"\x01" * RECORD_BYTES, "hostile")
    found = answers(record(raw(), "a"), hostile, record(raw(), "b"))
    assert [answer["result"] for answer in found] == ["Ok", "ProcessingFailed", "Ok"]


def test_tens_of_thousands_of_records_are_answered_within_the_limit(catalog: Catalog) -> None:
    records = [record(raw(), f"{number:056d}") for number in range(30_000)]
    size, fine = answer_bytes(records)
    assert size <= LAMBDA_ANSWER_BYTES
    assert 9_000 < fine < 30_000


def test_counters_are_told(catalog: Catalog, capsys: pytest.CaptureFixture[str]) -> None:
    answers(record(raw()), record(b"?"), {"recordId": "x"})
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (told,) = (line for line in lines if "_aws" in line)
    assert (told["received"], told["quarantined"], told["failed"]) == ([3], [1], [1])
