"""Text to typed value as Spark expressions, equal to `ColumnType.cast`: NULL where the text is not of the type."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from leanops.core.types import NUMBER_LENGTH, ColumnType, Value

# Spark's own casts trim, round and guess: each text passes a pattern first. Java's `$` would let a line end through.
SHORT: Final = rf"\A(?!.{{{NUMBER_LENGTH + 1}}})"
INTEGER: Final = rf"{SHORT}[+-]?[0-9]+\z"
MANTISSA: Final = r"(?:0|[1-9][0-9]*)(?:\.[0-9]+)?"
NUMBER: Final = rf"{SHORT}(?:\+|-?){MANTISSA}(?:[eE][+-]?[0-9]+)?\z"
# The power is small, or the number is zero.
POWERED: Final = rf"{SHORT}-?(?:{MANTISSA}[eE][+-]?0*[0-9]{{1,3}}|0(?:\.0+)?[eE][+-]?[0-9]+)\z"
BOOLEAN: Final = r"(?i)\A(?:true|false)\z"
DAY: Final = r"\A(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
# An offset cannot lead from these days out of the years 0001 to 9999.
INNER_DAY: Final = rf"\A(?!0001-01-01|9999-12-31){DAY}"
ZONE: Final = r"(?:Z|[+-](?:(?:0[0-9]|1[0-7]):[0-5][0-9]|18:00))?\z"
TO_THE_MINUTE: Final = rf"[T ][0-9]{{2}}:[0-9]{{2}}{ZONE}"
TO_THE_SECOND: Final = rf"[T ][0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}(?:\.[0-9]{{1,9}})?{ZONE}"
EPOCH_MILLIS: Final = r"\A[0-9]{12,13}\z"

TIMESTAMP: Final = ColumnType("TIMESTAMP")
EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
FIRST_MOMENT: Final = datetime.min.replace(tzinfo=UTC)
LAST_MOMENT: Final = datetime.max.replace(tzinfo=UTC)

# What str.strip takes for white space; Java's own classes differ.
WHITE: Final = "".join(rf"\x{{{code:x}}}" for code in range(0x10000) if chr(code).isspace())


def is_blank(text: Column) -> Column:
    """Whether nothing is left of the text without white space; NULL where it is NULL."""
    return ~text.rlike(f"[^{WHITE}]")


def cast_column(text: Column, type_: ColumnType) -> Column:
    """The value of the text; NULL where it is NULL or not of the type."""
    match type_.name:
        case "STRING":
            return text
        case "INT" | "BIGINT":
            return F.when(text.rlike(INTEGER), text.cast(type_.name))
        case "DOUBLE":
            number = text.cast("double")
            return F.when(text.rlike(NUMBER) & (F.abs(number) < float("inf")), number)
        case "DECIMAL":
            return _decimal(text, type_)
        case "BOOLEAN":
            return F.when(text.rlike(BOOLEAN), text.cast("boolean"))
        case "DATE":
            return F.when(text.rlike(rf"{DAY}\z"), text.cast("date"))
    return _timestamp(text)


def literal(value: Value, type_: ColumnType) -> Column:
    """A constant of exactly this type."""
    match value:
        # By their number: py4j would take them through the Julian calendar.
        case datetime():
            return F.timestamp_micros(F.lit((value - EPOCH) // timedelta(microseconds=1)))
        case date():
            return F.date_from_unix_date(F.lit((value - EPOCH.date()).days))
        case Decimal():
            return F.lit(f"{value:f}").cast(str(type_))
    return F.lit(value).cast(str(type_))


def _decimal(text: Column, type_: ColumnType) -> Column:
    whole = rf"[1-9][0-9]{{0,{type_.precision - type_.scale - 1}}}|" if type_.precision > type_.scale else ""
    fraction = rf"[0-9]{{1,{type_.scale}}}0*" if type_.scale else "0+"
    plain = rf"{SHORT}-?(?:{whole}0)(?:\.{fraction})?\z"
    return F.when(text.rlike(plain), text.cast(str(type_))).when(text.rlike(POWERED), _powered(text, type_))


def _powered(text: Column, type_: ColumnType) -> Column:
    """A number with a power of ten, by its digits: Spark would round it, or spell out a billion zeros first."""
    digits = F.regexp_replace(text, r"-|\.|[eE].*", "")
    zeros = F.length(digits) - F.length(F.rtrim(F.translate(digits, "0", " ")))
    fraction = F.length(F.regexp_extract(text, r"\.([0-9]+)", 1))
    power = F.regexp_extract(text, r"[eE](.+)", 1).cast("int")
    parts = F.struct(
        F.regexp_extract(text, "-?", 0).alias("sign"),
        F.btrim(digits, F.lit("0")).alias("significant"),
        (power - fraction + zeros).alias("last_place"),
    )

    def number(parts: Column) -> Column:
        significant, last_place = parts["significant"], parts["last_place"]
        fits = (last_place >= -type_.scale) & (F.length(significant) + last_place <= type_.precision - type_.scale)
        exact = F.concat(parts["sign"], significant, F.lit("e"), last_place.cast("string"))
        return F.when(significant == "", F.lit("0")).when(fits, exact).cast(str(type_))

    return _seldom(parts, number)


def _timestamp(text: Column) -> Column:
    # Spark reads no zone right behind the minute.
    with_seconds = F.regexp_replace(text, r"\A(.{16})(?!:)", "$1:00")
    return (
        F.when(text.rlike(rf"{INNER_DAY}{TO_THE_SECOND}"), text.cast("timestamp"))
        .when(text.rlike(EPOCH_MILLIS), F.timestamp_millis(text.cast("bigint")))
        .when(
            text.rlike(rf"{DAY}(?:{TO_THE_SECOND}|{TO_THE_MINUTE})"),
            _seldom(with_seconds.cast("timestamp"), _in_our_years),
        )
    )


def _in_our_years(moment: Column) -> Column:
    return F.when(moment.between(literal(FIRST_MOMENT, TIMESTAMP), literal(LAST_MOMENT, TIMESTAMP)), moment)


def _seldom(value: Column, function: Callable[[Column], Column]) -> Column:
    """The function of the value, interpreted: what hardly ever occurs is not worth compiling in every run."""
    return F.transform(F.array(value), function)[0]
