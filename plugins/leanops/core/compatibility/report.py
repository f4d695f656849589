"""The answer: changes with their reasons, and the rebuild they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum

from leanops.core.period import Period


class Level(IntEnum):
    """How much a change matters; a contract's level is its gravest change's."""

    COMPATIBLE = 0
    ENHANCEMENT = 1
    ENHANCEMENT_WITH_BACKFILL = 2
    BREAKING = 3

    def __str__(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Change:
    path: str
    level: Level
    old: str
    new: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.old} → {self.new} is {self.level}, {self.reason}"


@dataclass(frozen=True)
class Rebuild:
    """The periods whose rows would have to be made again from RAW, and how many rows they have."""

    rows_by_period: Mapping[Period, int]

    @property
    def rows(self) -> int:
        return sum(self.rows_by_period.values())

    def __str__(self) -> str:
        if not self.rows_by_period:
            return "nothing to redo: Curated has no rows yet"
        first, last = min(self.rows_by_period), max(self.rows_by_period)
        return f"{len(self.rows_by_period)} periods from {first} to {last}, {self.rows} rows"


@dataclass(frozen=True)
class Comparison:
    old_version: str
    new_version: str
    changes: tuple[Change, ...]
    rebuild: Rebuild | None
    is_approved: bool
    objection: str | None = None

    @property
    def level(self) -> Level:
        return max((change.level for change in self.changes), default=Level.COMPATIBLE)

    @property
    def may_activate(self) -> bool:
        return self.objection is None and (self.level < Level.BREAKING or self.is_approved)
