"""Column types and which text is of which type. Nothing is rounded, trimmed or guessed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

Value = str | int | float | Decimal | bool | date | datetime

INTEGER: Final = re.compile(r"[+-]?[0-9]+")
NUMBER: Final = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
DATE: Final = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"(Z|[+-][0-9]{2}:[0-9]{2})?"
)
EPOCH_MILLIS: Final = re.compile(r"[0-9]{12,13}")
DECIMAL_TYPE: Final = re.compile(r"DECIMAL\(([1-9]|[12][0-9]|3[0-8]),([0-9]|[12][0-9]|3[0-8])\)")

SIMPLE_TYPES: Final = ("STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP")
# Longer text than this is no number of any column; the limit keeps a hostile exponent or digit run cheap.
NUMBER_LENGTH: Final = 400
# As Java's ZoneOffset; no place on earth is further from UTC than 14 hours.
WIDEST_OFFSET: Final = timedelta(hours=18)
# What Iceberg's updateColumn accepts in a v2 table, for the types that a contract can name.
WIDER: Final = {"INT": ("BIGINT",)}


class NotOfType(ValueError):
    """The text is not of the column's type; the caller names column and value."""


@dataclass(frozen=True)
class ColumnType:
    name: str
    precision: int = 0
    scale: int = 0

    @classmethod
    def parse(cls, text: str) -> ColumnType:
        if text in SIMPLE_TYPES:
            return cls(text)
        if (match := DECIMAL_TYPE.fullmatch(text)) and int(match[2]) <= int(match[1]):
            return cls("DECIMAL", int(match[1]), int(match[2]))
        raise NotOfType(text)

    def __str__(self) -> str:
        return f"DECIMAL({self.precision},{self.scale})" if self.name == "DECIMAL" else self.name

    @property
    def is_number(self) -> bool:
        return self.name in {"INT", "BIGINT", "DOUBLE", "DECIMAL"}

    def widens_to(self, other: ColumnType) -> bool:
        """Whether Iceberg promotes it in place: int → long; decimal with more precision, same scale."""
        if self.name == "DECIMAL" and other.name == "DECIMAL":
            return other.precision > self.precision and other.scale == self.scale
        return other.name in WIDER.get(self.name, ())

    def cast(self, text: str) -> Value:
        """The value of the text, or NotOfType."""
        if self.name == "STRING":
            return text
        if self.name in {"INT", "BIGINT"}:
            return _integer(text, bits=32 if self.name == "INT" else 64)
        if self.name == "DOUBLE":
            return _double(text)
        if self.name == "DECIMAL":
            return _decimal(text, self.precision, self.scale)
        if self.name == "BOOLEAN":
            return _boolean(text)
        return _date(text) if self.name == "DATE" else timestamp(text)


def _integer(text: str, bits: int) -> int:
    if len(text) > NUMBER_LENGTH or not INTEGER.fullmatch(text):
        raise NotOfType(text)
    value = int(text)
    if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise NotOfType(text)
    return value


def _double(text: str) -> float:
    if len(text) > NUMBER_LENGTH or not NUMBER.fullmatch(text.removeprefix("+")) or text.startswith("+-"):
        raise NotOfType(text)
    value = float(text)
    if value in {float("inf"), float("-inf")}:
        raise NotOfType(text)
    return value


def _decimal(text: str, precision: int, scale: int) -> Decimal:
    if len(text) > NUMBER_LENGTH or not (match := NUMBER.fullmatch(text)):
        raise NotOfType(text)
    sign, whole, fraction, power = (part or "" for part in match.groups())
    digits = (whole + fraction).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return Decimal((0, (0,), -scale))
    # Beside at most NUMBER_LENGTH digits, a power of more than three digits leaves no value that fits any column.
    if len(power.lstrip("+-").lstrip("0")) > 3:
        raise NotOfType(text)
    exponent = int(power or "0") - len(fraction) + len(digits) - len(significant)
    if -exponent > scale or len(significant) + exponent > precision - scale:
        raise NotOfType(text)
    padded = significant + "0" * (exponent + scale)
    return Decimal((1 if sign else 0, tuple(map(int, padded)), -scale))


def _boolean(text: str) -> bool:
    lowered = text.lower()
    if lowered not in {"true", "false"} or not text.isascii():
        raise NotOfType(text)
    return lowered == "true"


def _date(text: str) -> date:
    if not (match := DATE.fullmatch(text)):
        raise NotOfType(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError as error:
        raise NotOfType(text) from error


def timestamp(text: str) -> datetime:
    """A moment in UTC. Text without a zone is UTC; digits after the microsecond are cut."""
    if EPOCH_MILLIS.fullmatch(text):
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=int(text))
    if not (match := TIMESTAMP.fullmatch(text)):
        raise NotOfType(text)
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    microsecond = int((match[7] or "").ljust(6, "0")[:6])
    try:
        local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=UTC)
        return local - _offset(match[8], text)
    except (ValueError, OverflowError) as error:
        raise NotOfType(text) from error


def _offset(zone: str | None, text: str) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    offset = timedelta(hours=hours, minutes=minutes)
    if minutes > 59 or offset > WIDEST_OFFSET:
        raise NotOfType(text)
    return offset if zone[0] == "+" else -offset
