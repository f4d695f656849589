"""Accounting periods: `YYYY-MM`, 1970-01 to 9999-12."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from leanops.core.errors import InvalidPeriod

# ASCII digits only: \d and str.isdigit also take other scripts' digits.
PERIOD: Final = re.compile(r"(19[7-9][0-9]|[2-9][0-9]{3})-(0[1-9]|1[0-2])")


@dataclass(frozen=True, order=True)
class Period:
    year: int
    month: int

    def __post_init__(self) -> None:
        if not (1970 <= self.year <= 9999 and 1 <= self.month <= 12):
            raise InvalidPeriod(f"{self.year:04}-{self.month:02}")

    @classmethod
    def parse(cls, text: object) -> Period:
        if not isinstance(text, str) or not (match := PERIOD.fullmatch(text)):
            raise InvalidPeriod(text)
        return cls(int(match[1]), int(match[2]))

    @classmethod
    def of(cls, moment: datetime) -> Period:
        """The month of a moment in UTC. A moment without a zone is refused: which month it is would be a guess."""
        if moment.tzinfo is None:
            raise InvalidPeriod(moment.isoformat())
        utc = moment.astimezone(UTC)
        return cls(utc.year, utc.month)

    def __str__(self) -> str:
        return f"{self.year:04}-{self.month:02}"

    def plus(self, months: int) -> Period:
        years, month = divmod(self.year * 12 + self.month - 1 + months, 12)
        return Period(years, month + 1)

    def months_since(self, other: Period) -> int:
        return (self.year - other.year) * 12 + self.month - other.month

    @property
    def start(self) -> datetime:
        return datetime(self.year, self.month, 1, tzinfo=UTC)

    def through(self, last: Period) -> Iterator[Period]:
        """This period and those after it up to and including `last`."""
        for months in range(last.months_since(self) + 1):
            yield self.plus(months)


def is_period(text: object) -> bool:
    return isinstance(text, str) and PERIOD.fullmatch(text) is not None


def filed_period(given: str | None, publish_time: datetime) -> Period:
    """Where Standardized files a record: the given period, else (missing or invalid) the month of publish_time."""
    return Period.parse(given) if is_period(given) else Period.of(publish_time)
