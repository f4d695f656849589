"""The stream delivers all that it accepted, at least once, whatever fails on the way."""

from __future__ import annotations

import json
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core.naming import Environment
from local.delivery.faults import Faults
from local.delivery.stream import Buffering, Stream
from local.delivery.transform import Failed, Routed, Transform

ENVIRONMENT = Environment("test", "000000000000", "eu-central-1")


class Tables:
    """Fails as a whole by a list of turns."""

    def __init__(self, failing: Sequence[bool] = ()) -> None:
        self.rows: list[dict[str, Any]] = []
        self._failing = list(failing)

    def append(self, table: str, routed: Sequence[Routed]) -> list[Failed]:
        if self._failing and self._failing.pop():
            raise OSError("the lake is away")
        self.rows += [each.row for each in routed if "misfit" not in each.row]
        return [Failed(each.record, "iceberg-failed", "Misfit", "") for each in routed if "misfit" in each.row]


class Failures:
    def __init__(self) -> None:
        self.kept: list[bytes] = []

    def keep(self, failures: Sequence[Failed]) -> None:
        self.kept += [failed.record.data for failed in failures]


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Routes by the record's own word; a record may ask not to be answered, or to be answered badly."""
    assert context.get_remaining_time_in_millis() > 0
    answers = []
    for each in event["records"]:
        row = json.loads(__import__("base64").b64decode(each["data"]))
        route = {"destinationDatabaseName": "db", "destinationTableName": row.get("table", "t"), "operation": "insert"}
        if row.get("answer") == "none":
            continue
        result = "ProcessingFailed" if row.get("answer") == "failed" else "Ok"
        data = b64encode(json.dumps(row).encode()).decode()
        answers.append(
            {"recordId": each["recordId"], "result": result, "data": data, "metadata": {"otfMetadata": route}}
        )
    return {"records": answers}


def stream(folder: Path, tables: Tables, failures: Failures, faults: Faults | None = None) -> Stream:
    buffering = Buffering(size=10_000, seconds=0.01, retry_seconds=0.01)
    return Stream(folder, Transform(handler, ENVIRONMENT), tables, failures, buffering, faults or Faults())


rows = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "table": st.sampled_from(["a", "b"]),
            "answer": st.sampled_from(["none", "failed"]),
            "misfit": st.just(1),
        },
    ),
    min_size=1,
    max_size=20,
)
shares = st.sampled_from([0.0, 0.3])
some_faults = st.builds(Faults, refuse=shares, duplicate=shares, fail_delivery=shares, shuffle=st.booleans())


@settings(max_examples=60, deadline=None)
@given(rows, some_faults, st.lists(st.booleans(), max_size=5))
def test_each_accepted_record_is_in_the_lake_or_under_the_error_prefix(
    given_rows: list[dict[str, Any]], faults: Faults, failing: list[bool]
) -> None:
    records = [json.dumps({**row, "id": index}).encode() for index, row in enumerate(given_rows)]
    tables, failures = Tables(failing), Failures()
    with TemporaryDirectory() as name:
        own = stream(Path(name), tables, failures, faults)
        ids = own.accept(records)
        accepted = {record for record, each in zip(records, ids, strict=True) if each is not None}
        own.start()
        deadline = time.monotonic() + 20
        while not own.is_empty and time.monotonic() < deadline:
            time.sleep(0.005)
        own.stop()
    in_lake = {json.dumps(row).encode() for row in tables.rows}
    bad = {record for record in accepted if {"answer", "misfit"} & json.loads(record).keys()}
    assert set(failures.kept) == bad
    assert in_lake == accepted - bad
    if not failing and faults == Faults():
        assert Counter(row["id"] for row in tables.rows).total() == len(accepted - bad)


def test_a_process_that_ends_before_delivery_leaves_the_records_to_the_next(tmp_path: Path) -> None:
    before = stream(tmp_path, Tables(), Failures())
    assert before.accept([b'{"id": 1}', b'{"id": 2}']) == ["1".zfill(20), "2".zfill(20)]
    before.stop()
    tables = Tables()
    after = stream(tmp_path, tables, Failures())
    after.accept([b'{"id": 3}'])
    after.flush()
    assert tables.rows == [{"id": 1}, {"id": 2}, {"id": 3}]
    assert after.is_empty


def test_duplicates_and_another_order_come_only_on_request(tmp_path: Path) -> None:
    records = [json.dumps({"id": index}).encode() for index in range(50)]
    plain, wild = Tables(), Tables()
    own = stream(tmp_path / "plain", plain, Failures())
    own.accept(records)
    own.flush()
    assert [row["id"] for row in plain.rows] == list(range(50))
    other = stream(tmp_path / "wild", wild, Failures(), Faults(duplicate=1.0, shuffle=True))
    other.accept(records)
    other.flush()
    found = [row["id"] for row in wild.rows]
    assert Counter(found) == Counter(list(range(50)) * 2)
    assert found != sorted(found)


def test_a_transform_that_always_fails_sends_its_records_to_the_error_prefix(tmp_path: Path) -> None:
    def broken(event: dict[str, Any], context: Any) -> dict[str, Any]:
        raise MemoryError

    failures = Failures()
    own = Stream(tmp_path, Transform(broken, ENVIRONMENT), Tables(), failures, Buffering(), Faults())
    own.accept([b"1", b"2"])
    own.flush()
    assert failures.kept == [b"1", b"2"]
    assert own.counts["undelivered"] == 2


def test_the_transform_gets_a_megabyte_at_a_time(tmp_path: Path) -> None:
    sizes = []

    def measuring(event: dict[str, Any], context: Any) -> dict[str, Any]:
        sizes.append(len(event["records"]))
        return handler(event, context)

    own = Stream(tmp_path, Transform(measuring, ENVIRONMENT), Tables(), Failures(), Buffering(), Faults())
    own.accept([json.dumps({"id": index, "fill": "x" * 400_000}).encode() for index in range(5)])
    own.flush()
    assert sizes == [2, 2, 1]
