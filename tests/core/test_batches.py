"""Batches and watermarks from a table's metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core.batches import (
    Batch,
    Nothing,
    Unreadable,
    UnreadableMetadata,
    Watermark,
    head,
    history,
    pending,
    watermark,
)

Document = dict[str, Any]


def snapshot(
    number: int,
    parent: int | None,
    operation: str = "append",
    added: int = 0,
    total: int = 0,
    properties: Mapping[str, str] | None = None,
) -> Document:
    summary = {"operation": operation, "added-records": str(added), "total-records": str(total), **(properties or {})}
    return {
        "snapshot-id": number,
        **({} if parent is None else {"parent-snapshot-id": parent}),
        "sequence-number": number % 1000,
        "summary": summary,
    }


def metadata(snapshots: list[Document], current: int | None) -> Document:
    return {"format-version": 2, "current-snapshot-id": current, "snapshots": snapshots}


def chain(*rows: int | str) -> Document:
    """Appends of so many rows, or snapshots of that operation: ids 9001, 9002 …, numbers 1, 2 …"""
    found, total = [], 0
    for place, each in enumerate(rows, 1):
        added = each if isinstance(each, int) else 0
        total += added
        parent = 9000 + place - 1 if place > 1 else None
        operation = "append" if isinstance(each, int) else each
        # Compaction writes the rows again: they are not new.
        written = added if operation == "append" else 77
        found.append(snapshot(9000 + place, parent, operation, written, total))
    return metadata(found, 9000 + len(rows) if rows else -1)


def test_everything_is_one_batch_from_the_beginning() -> None:
    assert pending(chain(10, 20, 30), None) == Batch(3, None, 9003, 60)


def test_a_batch_begins_after_the_snapshot_that_was_taken_last() -> None:
    assert pending(chain(10, 20, 30), 9001) == Batch(3, 9001, 9003, 50)


@pytest.mark.parametrize("current", [None, -1])
def test_a_table_without_snapshots_has_nothing(current: int | None) -> None:
    assert pending(metadata([], current), None) == Nothing(None)
    assert head(metadata([], current)) is None


def test_a_head_that_was_taken_has_nothing() -> None:
    assert pending(chain(10, 20), 9002) == Nothing(9002)


def test_compaction_alone_brings_nothing() -> None:
    assert pending(chain(10, "replace", "replace"), 9001) == Nothing(9003)


def test_compaction_between_appends_is_passed_over_and_its_rows_do_not_count() -> None:
    assert pending(chain(10, "replace", 5), 9001) == Batch(3, 9001, 9003, 5)


def test_a_batch_is_cut_in_whole_snapshots_and_tells_what_is_left() -> None:
    rows = chain(10, 20, 30, 40)
    assert pending(rows, None, 35) == Batch(2, None, 9002, 30, rows_left=70)
    assert pending(rows, 9002, 70) == Batch(4, 9002, 9004, 70, rows_left=0)


def test_a_first_snapshot_is_taken_whatever_its_size() -> None:
    assert pending(chain(500, 1), None, 10) == Batch(1, None, 9001, 500, rows_left=1)


def test_compaction_before_a_large_snapshot_is_no_batch_of_its_own() -> None:
    assert pending(chain(1, "replace", 500, 1), 9001, 10) == Batch(3, 9001, 9003, 500, rows_left=1)


def test_compaction_after_a_full_batch_goes_with_it() -> None:
    assert pending(chain(10, "replace", 10), None, 10) == Batch(2, None, 9002, 10, rows_left=10)


def test_from_the_beginning_the_rows_of_expired_snapshots_count() -> None:
    document = metadata([snapshot(9007, 9006, "append", 3, 703)], 9007)
    assert pending(document, None) == Batch(7, None, 9007, 703)


def test_an_expired_start_serves_where_it_is_the_parent_of_the_oldest_kept() -> None:
    document = metadata([snapshot(9007, 9006, "append", 3, 703)], 9007)
    assert pending(document, 9006) == Batch(7, 9006, 9007, 3)
    found = pending(document, 9005)
    assert isinstance(found, Unreadable)
    assert found.reason == "snapshot 9005 is expired or on no path to RAW's head"


@pytest.mark.parametrize("operation", ["overwrite", "delete"])
def test_anything_but_appends_and_compaction_makes_the_range_unreadable(operation: str) -> None:
    found = pending(chain(10, operation, 5), 9001)
    assert found == Unreadable(
        f"snapshot 9002 is a '{operation}'", "RAW takes appends and compaction only; rebuild the topic from RAW."
    )


def test_an_overwrite_before_the_start_does_not_matter() -> None:
    assert pending(chain(10, "overwrite", 5, 6), 9003) == Batch(4, 9003, 9004, 6)


def test_other_branches_lie_in_the_same_list_and_are_not_read() -> None:
    document = chain(10, 20)
    document["snapshots"].append(snapshot(9555, 9001, "overwrite", 99, 99))
    assert pending(document, None) == Batch(2, None, 9002, 30)


def test_a_table_rolled_back_below_the_start_is_unreadable() -> None:
    document = chain(10, 20)
    document["current-snapshot-id"] = 9001
    assert isinstance(pending(document, 9002), Unreadable)


def test_a_batch_without_a_number_is_refused() -> None:
    document = chain(10)
    del document["snapshots"][0]["sequence-number"]
    found = pending(document, None)
    assert isinstance(found, Unreadable)
    assert found.reason == "snapshot 9001 has no sequence number"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"snapshots": {}}, None),
        ({"snapshots": "x"}, "its snapshots are no list"),
        ({"snapshots": ["x"]}, "one of its snapshots is no object"),
        ({"snapshots": [{}]}, "None is no whole number"),
        ({"snapshots": []}, "the head is not among its snapshots"),
        ({"current-snapshot-id": "abc"}, "'abc' is no whole number"),
        ({"current-snapshot-id": 404}, "the head is not among its snapshots"),
    ],
)
def test_a_broken_file_is_unreadable_and_says_why(change: Document, reason: str | None) -> None:
    found = pending(chain(10) | change, None)
    assert isinstance(found, Unreadable)
    assert reason is None or reason in found.reason


def test_a_cycle_of_parents_ends() -> None:
    document = metadata([snapshot(1, 2, added=1), snapshot(2, 1, added=1)], 1)
    assert pending(document, None) == Unreadable(
        "a snapshot is its own ancestor: 1", "Compare the file with Iceberg's table spec; look who wrote it."
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.text("1x", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=2),
    max_leaves=6,
)
SNAPSHOT_KEYS = ("snapshot-id", "parent-snapshot-id", "sequence-number", "summary")
SUMMARY_KEYS = ("operation", "added-records", "total-records", "leanops.batch", "leanops.raw-snapshot-id")
ODD_SUMMARY = st.fixed_dictionaries({}, optional={key: JSON | st.just("append") for key in SUMMARY_KEYS})
ODD_SNAPSHOT = st.fixed_dictionaries({}, optional=dict.fromkeys(SNAPSHOT_KEYS, JSON | ODD_SUMMARY))


@given(
    st.fixed_dictionaries(
        {}, optional={"snapshots": JSON | st.lists(ODD_SNAPSHOT, max_size=4), "current-snapshot-id": JSON}
    ),
    st.none() | st.integers(-2, 4),
)
def test_no_json_breaks_the_reader(document: Document, after: int | None) -> None:
    assert isinstance(pending(document, after, 5), Batch | Nothing | Unreadable)
    try:
        assert isinstance(watermark(document), Watermark | None)
    except UnreadableMetadata as error:
        assert str(error).startswith("Cannot read table metadata, ")


# Properties


@dataclass(frozen=True)
class Log:
    """RAW as a list of its snapshots, oldest first; the first `expired` are no longer kept."""

    operations: list[tuple[str, int]]
    expired: int = 0
    document: Document = field(default_factory=dict)

    def id(self, place: int) -> int:
        return 9001 + place


@st.composite
def logs(draw: st.DrawFn, operations: tuple[str, ...] = ("append", "append", "append", "replace")) -> Log:
    written = draw(st.lists(st.tuples(st.sampled_from(operations), st.integers(0, 20)), max_size=12))
    document = chain(*(rows if operation == "append" else operation for operation, rows in written))
    expired = draw(st.integers(0, max(len(written) - 1, 0)))
    document["snapshots"] = draw(st.permutations(document["snapshots"][expired:]))
    return Log(written, expired, document)


def rows_between(log: Log, start: int, end: int) -> int:
    return sum(rows for operation, rows in log.operations[start:end] if operation == "append")


@given(logs(), st.data())
def test_a_batch_is_the_longest_run_of_snapshots_that_fits(log: Log, data: st.DataObject) -> None:
    """Against a list: no parents, no ids, no early exits."""
    first = data.draw(st.integers(log.expired, len(log.operations)))
    most = data.draw(st.none() | st.integers(0, 60))
    after = log.id(first - 1) if first else None
    found = pending(log.document, after, most)
    if not rows_between(log, first, len(log.operations)):
        assert isinstance(found, Nothing)
        return
    ends = range(first + 1, len(log.operations) + 1)
    least = next(end for end in ends if rows_between(log, first, end))
    fitting = [end for end in ends if most is None or rows_between(log, first, end) <= most]
    end = max([least, *fitting])
    assert isinstance(found, Batch)
    assert (found.number, found.start, found.end) == (end, after, log.id(end - 1))
    assert found.rows == rows_between(log, first, end)
    assert found.rows_left == rows_between(log, end, len(log.operations))


@given(logs(), st.integers(0, 60))
def test_bites_follow_each_other_without_gap_and_take_every_row_once(log: Log, most: int) -> None:
    after, taken, numbers = None, 0, [0]
    log.document["snapshots"] = chain(*(rows if kind == "append" else kind for kind, rows in log.operations))[
        "snapshots"
    ]
    while isinstance(found := pending(log.document, after, most), Batch):
        assert found.rows > 0
        taken += found.rows
        numbers.append(found.number)
        after = found.end
        assert found.rows_left == rows_between(log, 0, len(log.operations)) - taken
    assert isinstance(found, Nothing)
    assert taken == rows_between(log, 0, len(log.operations))
    assert numbers == sorted(set(numbers))


# The first example pays for importing PySpark.
@settings(deadline=None)
@given(logs(("append", "append", "append", "replace", "overwrite")), st.data())
def test_the_gate_and_the_job_agree(log: Log, data: st.DataObject) -> None:
    """The job's own code over the same snapshots; it needs PySpark to be imported, not to run."""
    pytest.importorskip("pyspark")
    from spark_jobs.snapshots import UnreadableRange
    from spark_jobs.tables import Lake

    lake = Lake.__new__(Lake)
    table = FakeTable(log.document)
    lake._table = lake._fresh = lambda _: table  # type: ignore[method-assign, assignment]
    after = data.draw(st.none() | st.integers(9000, 9001 + len(log.operations)))
    most = data.draw(st.none() | st.integers(0, 60))
    found = pending(log.document, after, most)
    try:
        expected = lake.next_batch("raw", after, None, most)
        # The gate hands its batch to the job by its end.
        by_end = lake.next_batch("raw", after, found.end) if isinstance(found, Batch) else None
    except UnreadableRange:
        assert isinstance(found, Unreadable)
        return
    if expected is None:
        assert isinstance(found, Nothing)
        return
    assert isinstance(found, Batch)
    assert by_end == (found.number, found.start, found.end)
    assert found.rows == lake.raw_rows("raw", by_end)
    # A batch of compaction alone, which a limit in rows can make, the job does by itself but not when given its end.
    if lake.next_batch("raw", after, expected.end) == expected:
        assert expected == by_end


class FakeTable:
    """Iceberg's Java table over the same document."""

    def __init__(self, document: Document) -> None:
        self._by_id = {each["snapshot-id"]: each for each in document["snapshots"]}
        self._current = document["current-snapshot-id"]

    def currentSnapshot(self) -> Any:  # noqa: N802
        return self.snapshot(self._current)

    def snapshot(self, number: int) -> Any:
        found: Mapping[str, Any] | None = self._by_id.get(number)
        if found is None:
            return None
        return SimpleNamespace(
            snapshotId=lambda: found["snapshot-id"],
            parentId=lambda: found.get("parent-snapshot-id"),
            sequenceNumber=lambda: found["sequence-number"],
            operation=lambda: found["summary"]["operation"],
            summary=lambda: found["summary"],
        )


# Watermarks


def mark(batch: int, raw: int | None = None, **others: str) -> dict[str, str]:
    return {"leanops.batch": str(batch), **({} if raw is None else {"leanops.raw-snapshot-id": str(raw)}), **others}


def test_a_watermark_is_read_with_all_that_its_carrier_says() -> None:
    result = {"counts": {"raw": 5}}
    properties = mark(
        7, 9007, **{"leanops.contract-version": "1.2.0", "leanops.run": "abc", "leanops.result": json.dumps(result)}
    )
    assert watermark(metadata([snapshot(1, None, "overwrite", properties=properties)], 1)) == Watermark(
        7, 9007, 1, "1.2.0", "abc", result
    )


def test_compactions_snapshots_carry_none_and_are_passed_over() -> None:
    document = metadata(
        [
            snapshot(1, None, "append", properties=mark(3, 93)),
            snapshot(2, 1, "append", properties=mark(4, 94)),
            snapshot(3, 2, "replace"),
        ],
        3,
    )
    assert watermark(document) == Watermark(4, 94, 2)


def test_a_rollback_brings_the_earlier_watermark_back() -> None:
    document = metadata([snapshot(1, None, properties=mark(3, 93)), snapshot(2, 1, properties=mark(4, 94))], 1)
    assert watermark(document) == Watermark(3, 93, 1)


def test_a_table_that_has_taken_nothing_in_has_no_watermark() -> None:
    assert watermark(metadata([snapshot(1, None)], 1)) is None
    assert watermark(metadata([], None)) is None


def test_an_unreadable_note_of_the_job_does_not_hide_the_watermark() -> None:
    document = metadata([snapshot(1, None, properties=mark(3) | {"leanops.result": "{"})], 1)
    assert watermark(document) == Watermark(3, None, 1)


def test_a_watermark_that_is_no_number_is_refused() -> None:
    with pytest.raises(UnreadableMetadata, match=r"'x' is no whole number: leanops\.batch of snapshot 1"):
        watermark(metadata([snapshot(1, None, properties={"leanops.batch": "x"})], 1))


@given(st.lists(st.none() | st.integers(1, 50), max_size=10))
def test_the_newest_carrier_counts(marks: list[int | None]) -> None:
    listed = [
        snapshot(number, number - 1 if number > 1 else None, properties={} if each is None else mark(each))
        for number, each in enumerate(marks, 1)
    ]
    found = watermark(metadata(listed, len(marks) or None))
    carriers = [(number, each) for number, each in enumerate(marks, 1) if each is not None]
    assert (None if found is None else (found.snapshot, found.batch)) == (carriers[-1] if carriers else None)


def test_the_history_ends_where_a_parent_is_expired() -> None:
    document = metadata([snapshot(3, 2), snapshot(4, 3)], 4)
    assert [each.id for each in history(document)] == [4, 3]
