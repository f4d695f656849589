"""Text to typed value, or `NotOfType`. Nothing is rounded, trimmed or guessed."""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from functools import cache, partial
from math import isfinite
from typing import TypeAlias

Value: TypeAlias = int | Decimal | float | bool | date | datetime | str

_INTEGER = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?")
_DECIMAL_TYPE = re.compile(r"DECIMAL\(\s*([0-9]+)\s*,\s*([0-9]+)\s*\)")
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIMESTAMP = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[T ]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\.([0-9]{1,9}))?)?"
    r"(?:(Z)|([+-])([0-9]{2}):([0-9]{2}))?"
)
_MILLIS = re.compile(r"[0-9]{12,13}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST_NUMBER = 400


class NotOfType(ValueError):
    pass


def cast(text: str, type_name: str) -> Value:
    return _caster(type_name)(text)


@cache
def _caster(type_name: str) -> Callable[[str], Value]:
    decimal = _DECIMAL_TYPE.fullmatch(type_name)
    if decimal:
        return partial(_decimal, precision=int(decimal[1]), scale=int(decimal[2]))
    if type_name not in _CASTS:
        raise ValueError(f"Cannot cast, unknown type: {type_name}")
    return _CASTS[type_name]


def _whole(bits: int) -> Callable[[str], int]:
    limit = 1 << (bits - 1)

    def whole(text: str) -> int:
        # Python refuses to convert thousands of digits; a number that long is out of range anyway.
        if len(text) > _LONGEST_NUMBER or not _INTEGER.fullmatch(text) or len(text.lstrip("+-").lstrip("0")) > 20:
            raise NotOfType(text)
        value = int(text.lstrip("+-").lstrip("0") or "0") * (-1 if text[0] == "-" else 1)
        if not -limit <= value < limit:
            raise NotOfType(text)
        return value

    return whole


def _double(text: str) -> float:
    number = text[1:] if text.startswith("+") else text
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(number) or text.startswith("+-"):
        raise NotOfType(text)
    value = float(number)
    if not isfinite(value):
        raise NotOfType(text)
    return value


def _decimal(text: str, precision: int, scale: int) -> Decimal:
    match = _NUMBER.fullmatch(text)
    if not match or len(text) > _LONGEST_NUMBER:
        raise NotOfType(text)
    sign, whole, fraction, exponent = match.groups()
    digits = (whole + (fraction or "")).lstrip("0")
    kept = digits.rstrip("0")
    if not kept:
        return Decimal(0)
    if len((exponent or "0").lstrip("+-").lstrip("0")) > 10:
        raise NotOfType(text)
    last_place = int(exponent or "0") - len(fraction or "") + len(digits) - len(kept)
    if -last_place > scale or len(kept) + last_place > precision - scale:
        raise NotOfType(text)
    return Decimal(f"{sign}{kept}E{last_place}")


def _boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise NotOfType(text)
    return text.lower() == "true"


def _date(text: str) -> date:
    match = _DATE.fullmatch(text)
    if not match:
        raise NotOfType(text)
    try:
        return date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError as error:
        raise NotOfType(text) from error


def timestamp(text: str) -> datetime:
    if _MILLIS.fullmatch(text):
        return _EPOCH + timedelta(milliseconds=int(text))
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        raise NotOfType(text)
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    micros = int((match[7] or "")[:6].ljust(6, "0"))
    try:
        moment = datetime(year, month, day, hour, minute, int(match[6] or 0), micros, _zone(match))
        return moment.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise NotOfType(text) from error


def _zone(match: re.Match[str]) -> timezone:
    if not match[9]:
        return UTC
    offset = timedelta(hours=int(match[10]), minutes=int(match[11]))
    if int(match[11]) > 59 or offset > timedelta(hours=18):
        raise ValueError(match[0])
    return timezone(-offset if match[9] == "-" else offset)


_CASTS: dict[str, Callable[[str], Value]] = {
    "STRING": str,
    "INT": _whole(32),
    "BIGINT": _whole(64),
    "DOUBLE": _double,
    "BOOLEAN": _boolean,
    "DATE": _date,
    "TIMESTAMP": timestamp,
}
