"""Dispositions and the exact balances: every record has one fate, and the sums prove it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from leanops.core.errors import UnbalancedBatch


class RawDisposition(StrEnum):
    """What became of a RAW record."""

    ACCEPTED = "accepted"
    NETWORK_DUPLICATE = "network_duplicate"
    SUPERSEDED = "superseded"
    STALE = "stale"
    PARSE_ERROR = "parse_error"


class RowDisposition(StrEnum):
    """What became of a Standardized row."""

    CURATED = "curated"
    REJECTED = "rejected"


@dataclass(frozen=True)
class RawBalance:
    """`raw = accepted + network_duplicate + superseded + stale + parse_error` of one batch."""

    raw: int
    counts: Mapping[RawDisposition, int]

    @classmethod
    def of(cls, raw: int, dispositions: Iterable[RawDisposition | str]) -> RawBalance:
        return cls(raw, Counter(RawDisposition(disposition) for disposition in dispositions))

    @property
    def accounted(self) -> int:
        return sum(self.counts.values())

    def prove(self) -> None:
        _prove(f"raw = {' + '.join(RawDisposition)}", self.raw, self.accounted, self.counts.values())


@dataclass(frozen=True)
class RowBalance:
    """`standardized = curated + rejected` of one batch, each at the row's own version."""

    standardized: int
    curated: int
    rejected: int

    @property
    def rejected_ratio(self) -> float:
        return self.rejected / self.standardized if self.standardized else 0.0

    def prove(self) -> None:
        accounted = self.curated + self.rejected
        _prove(
            f"standardized = {' + '.join(RowDisposition)}", self.standardized, accounted, (self.curated, self.rejected)
        )

    def is_spike(self, max_rejected_ratio: float) -> bool:
        """Whether more rows are rejected than the contract lets pass; then Curated stays as it was."""
        return self.rejected_ratio > max_rejected_ratio


def _prove(identity: str, expected: int, found: int, parts: Iterable[int]) -> None:
    if expected != found or any(part < 0 for part in parts):
        raise UnbalancedBatch(identity, expected, found)
