"""Which batch comes next, from the table's metadata.json alone: what `spark_jobs.tables` learns from Iceberg's library.

Snapshots are followed by their parents from the head: other branches' lie beside them in the same list.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from leanops.core.errors import LeanOpsError, shown

BATCH: Final = "leanops.batch"
RAW_SNAPSHOT: Final = "leanops.raw-snapshot-id"
CONTRACT_VERSION: Final = "leanops.contract-version"
RESULT: Final = "leanops.result"
RUN: Final = "leanops.run"
READ_OPERATIONS: Final = frozenset({"append", "replace"})
# Iceberg's way to say that a table has none.
NO_SNAPSHOT: Final = -1


class UnreadableMetadata(LeanOpsError):
    def __init__(self, reason: str, subject: str) -> None:
        super().__init__(
            "read table metadata", reason, subject, "Compare the file with Iceberg's table spec; look who wrote it."
        )


@dataclass(frozen=True)
class Snapshot:
    """One of Iceberg's, with what this package reads of it."""

    id: int
    parent: int | None
    sequence: int
    operation: str | None
    summary: Mapping[str, str] = field(default_factory=dict)

    @property
    def added_rows(self) -> int:
        """Rows that are new to a reader: compaction adds files, not rows."""
        return self._count("added-records") if self.operation == "append" else 0

    @property
    def total_rows(self) -> int:
        return self._count("total-records")

    def _count(self, key: str) -> int:
        return _number(self.summary.get(key) or 0, f"{key} of snapshot {self.id}")


@dataclass(frozen=True)
class Batch:
    """RAW's snapshots after `start` (None: from the beginning) up to and including `end`. `rows_left` come after it."""

    number: int
    start: int | None
    end: int
    rows: int
    rows_left: int = 0


@dataclass(frozen=True)
class Nothing:
    """No rows after the snapshot asked for. `head` is RAW's newest snapshot; None: it has none."""

    head: int | None


@dataclass(frozen=True)
class Unreadable:
    """RAW's snapshots are no longer, or never were, a plain sequence of appends."""

    reason: str
    next_step: str


@dataclass(frozen=True)
class Watermark:
    """The last batch that a merged table has taken in. `snapshot` carries it, `result` is what the job noted of it."""

    batch: int
    raw_snapshot: int | None
    snapshot: int
    contract_version: str | None = None
    run: str | None = None
    result: Mapping[str, Any] = field(default_factory=dict)


def head(metadata: Mapping[str, Any]) -> Snapshot | None:
    return next(history(metadata), None)


def history(metadata: Mapping[str, Any]) -> Iterator[Snapshot]:
    """From the head to the oldest ancestor that is kept."""
    listed = metadata.get("snapshots") or []
    if not isinstance(listed, list):
        raise UnreadableMetadata("its snapshots are no list", shown(str(listed)))
    by_id = {_id(each): each for each in listed}
    newest = metadata.get("current-snapshot-id")
    current = NO_SNAPSHOT if newest is None else _number(newest, "current-snapshot-id")
    if current == NO_SNAPSHOT:
        return
    if current not in by_id:
        raise UnreadableMetadata("the head is not among its snapshots", str(current))
    left = len(by_id)
    while current in by_id:
        if not left:
            raise UnreadableMetadata("a snapshot is its own ancestor", str(current))
        left -= 1
        snapshot = _snapshot(by_id[current])
        yield snapshot
        if snapshot.parent is None:
            return
        current = snapshot.parent


def pending(
    metadata: Mapping[str, Any], after_snapshot: int | None, most_rows: int | None = None
) -> Batch | Nothing | Unreadable:
    """What RAW holds after that snapshot, in whole snapshots and not above `most_rows`, but for the first with rows.

    A snapshot that brings no rows goes with the ones before it, and at the beginning with the first that does: a batch
    without rows would be answered by the job with «nothing», and come again for ever.
    """
    try:
        return _pending(metadata, after_snapshot, most_rows)
    except UnreadableMetadata as error:
        return Unreadable(f"{error.reason}: {error.subject}", error.remedy)


def _pending(
    metadata: Mapping[str, Any], after_snapshot: int | None, most_rows: int | None
) -> Batch | Nothing | Unreadable:
    newest = head(metadata)
    if newest is None or newest.id == after_snapshot:
        return Nothing(None if newest is None else newest.id)
    fresh = _fresh(metadata, after_snapshot)
    if isinstance(fresh, Unreadable):
        return fresh
    if not any(snapshot.added_rows for snapshot in fresh):
        return Nothing(newest.id)
    count, added = _fitting(fresh, most_rows)
    end = fresh[count - 1]
    if not end.sequence:
        return Unreadable(
            f"snapshot {end.id} has no sequence number", "Upgrade RAW to format version 2, then write to it once."
        )
    return Batch(
        number=end.sequence,
        start=after_snapshot,
        end=end.id,
        # Snapshots from before may be expired, their records are not.
        rows=end.total_rows if after_snapshot is None else added,
        rows_left=sum(snapshot.added_rows for snapshot in fresh[count:]),
    )


def _fresh(metadata: Mapping[str, Any], start: int | None) -> list[Snapshot] | Unreadable:
    """The snapshots after `start`, oldest first. An expired start serves where it is the parent of the oldest kept."""
    found: list[Snapshot] = []
    oldest_parent = None
    for snapshot in history(metadata):
        if snapshot.id == start:
            return found[::-1]
        if snapshot.operation not in READ_OPERATIONS:
            return Unreadable(
                f"snapshot {snapshot.id} is a {shown(snapshot.operation)}",
                "RAW takes appends and compaction only; rebuild the topic from RAW.",
            )
        found.append(snapshot)
        oldest_parent = snapshot.parent
    if start is not None and start != oldest_parent:
        return Unreadable(f"snapshot {start} is expired or on no path to RAW's head", "Rebuild the topic from RAW.")
    return found[::-1]


def _fitting(fresh: Sequence[Snapshot], most_rows: int | None) -> tuple[int, int]:
    """How many of the oldest snapshots fit, and their rows."""
    rows = 0
    for count, snapshot in enumerate(fresh):
        if rows and most_rows is not None and rows + snapshot.added_rows > most_rows:
            return count, rows
        rows += snapshot.added_rows
    return len(fresh), rows


def watermark(metadata: Mapping[str, Any]) -> Watermark | None:
    """Of the newest ancestor of the head that carries one: compaction's do not. None: nothing is taken in yet."""
    for snapshot in history(metadata):
        if BATCH in snapshot.summary:
            summary = snapshot.summary
            raw = summary.get(RAW_SNAPSHOT)
            return Watermark(
                batch=_number(summary[BATCH], f"{BATCH} of snapshot {snapshot.id}"),
                raw_snapshot=None if raw is None else _number(raw, f"{RAW_SNAPSHOT} of snapshot {snapshot.id}"),
                snapshot=snapshot.id,
                contract_version=summary.get(CONTRACT_VERSION),
                run=summary.get(RUN),
                result=_result(summary.get(RESULT)),
            )
    return None


def _result(text: str | None) -> Mapping[str, Any]:
    """Only told to people: the numbers that count are properties of their own."""
    try:
        found = json.loads(text or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _id(document: object) -> int:
    if not isinstance(document, dict):
        raise UnreadableMetadata("one of its snapshots is no object", shown(str(document)))
    return _number(document.get("snapshot-id"), "snapshot-id")


def _snapshot(document: Mapping[str, Any]) -> Snapshot:
    number = _id(document)
    where = f"snapshot {number}"
    parent = document.get("parent-snapshot-id")
    summary = document.get("summary") or {}
    if not isinstance(summary, dict):
        raise UnreadableMetadata("its summary is no object", where)
    return Snapshot(
        id=number,
        parent=None if parent is None else _number(parent, f"parent of {where}"),
        # Snapshots of format version 1 have none.
        sequence=_number(document.get("sequence-number", 0), f"sequence number of {where}"),
        operation=summary.get("operation"),
        summary=summary,
    )


def _number(value: object, what: str) -> int:
    try:
        if isinstance(value, bool) or not isinstance(value, int | str):
            raise ValueError
        return int(value)
    except ValueError:
        raise UnreadableMetadata(f"{shown(value)} is no whole number", what) from None
