"""What a snapshot says of itself: watermarks and the batches between them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from leanops.core.errors import LeanOpsError

BATCH = "leanops.batch"
RAW_SNAPSHOT = "leanops.raw-snapshot-id"
CONTRACT_VERSION = "leanops.contract-version"
RUN = "leanops.run"
RESULT = "leanops.result"
REPLACED_PERIODS = "leanops.replaced-periods"
# Where the periods are too many to list, readers look everywhere.
ANY_PERIOD = "*"


class Batch(NamedTuple):
    """The RAW snapshots after `start` (None: from the beginning) up to and including `end`."""

    number: int
    start: int | None
    end: int


class Watermark(NamedTuple):
    batch: int
    raw_snapshot: int | None
    result: Mapping[str, Any]


class UnreadableRange(LeanOpsError):
    """RAW's snapshots are no longer, or never were, a plain sequence of appends."""


class MainMoved(LeanOpsError):
    """Somebody else published while this run was writing; the run starts over from the new watermark."""

    def __init__(self, table: str, branch: str) -> None:
        super().__init__("publish", "main moved meanwhile", f"{table}, branch {branch}", "Start over from its head.")


@dataclass(frozen=True)
class Snapshot:
    """One of Iceberg's, with what this package reads of it."""

    id: int
    parent: int | None
    sequence: int
    operation: str
    summary: Any

    @classmethod
    def of(cls, java: Any) -> Snapshot:
        return cls(java.snapshotId(), java.parentId(), java.sequenceNumber(), java.operation(), java.summary())

    def get(self, key: str) -> str | None:
        value: str | None = self.summary.get(key)
        return value

    @property
    def added_records(self) -> int:
        return int(self.get("added-records") or 0)

    @property
    def total_records(self) -> int:
        return int(self.get("total-records") or 0)

    @property
    def added_columns(self) -> list[str]:
        """The columns that the batch of this watermark brought."""
        mark = self.watermark
        return list(mark.result.get("added", [])) if mark else []

    @property
    def watermark(self) -> Watermark | None:
        batch = self.get(BATCH)
        if batch is None:
            return None
        raw = self.get(RAW_SNAPSHOT)
        return Watermark(int(batch), None if raw is None else int(raw), json.loads(self.get(RESULT) or "{}"))


def ancestors(table: Any, head: int | None) -> Iterator[Snapshot]:
    """From this snapshot to the oldest that is kept."""
    while head is not None:
        java = table.snapshot(head)
        if java is None:
            return
        snapshot = Snapshot.of(java)
        yield snapshot
        head = snapshot.parent
