from __future__ import annotations

import math
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from leanops.core.types import ColumnType, NotOfType
from tests.traffic.oracle import casts as oracle

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TYPES = [
    ColumnType.parse(name)
    for name in (
        "STRING", "INT", "BIGINT", "DOUBLE", "BOOLEAN", "DATE", "TIMESTAMP", "DECIMAL(1,0)", "DECIMAL(1,1)",
        "DECIMAL(4,2)", "DECIMAL(18,2)", "DECIMAL(19,0)", "DECIMAL(38,0)", "DECIMAL(38,10)", "DECIMAL(38,38)",
    )
]  # fmt: skip

WHOLE = [
    "0", "-0", "+0", "007", "+007", "-7", "2147483647", "2147483648", "-2147483648", "-2147483649",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "9" * 37, "9" * 38, "9" * 39, "-" + "9" * 38, "1" + "0" * 38, "9" * 400, "9" * 401, "9" * 5000,
    "0" * 400, "0" * 401, "0" * 399 + "5", "+" + "0" * 399, "+" + "0" * 400,
    "", " ", " 1", "1 ", "1\n", "\n1", "--1", "+-1", "-+1", "+", "-", "1_000", "0x1", "1L", "1d", "1f", "٥", "１", "1\x00",
]  # fmt: skip
NUMBERS = [
    "1.0", "+1.5", "-1.5", "1.50000", "19.90", "99.99", "99.990", "99.991", "100", "-99.99", "0.1", "0.10", "0.01", "0.001",
    "-0.00", "-0.0", "1.", ".5", "00.1", "01", "1,5", "1.5.5", "$1", "NaN", "Infinity", "-Infinity", "inf", "nan", "0x1p3",
    "1e2", "1E2", "1e+2", "1e-2", "1e-3", "1.5e1", "1000e-2", "1000e-3", "12.34e-1", "1.234e+1", "0.00001234e+0007", "-1.2e1",
    "1e0", "1e00000000000000000000", "1e000000000000000000000000002", "1e-0", "5e+0001", "0.5e1", "10e-1", "1e37", "1e38",
    "9e37", "-1e37", "1e-38", "1e-39", "10e-39", "12e-38", "0e5", "-0e5", "0.0e-5", "0e99999999999999999999",
    "-0e-99999999999999999999", "0.000e999999999", "1e999", "1e1000", "1e-999", "1e-1000", "1e308", "1.7976931348623157e308",
    "1.7976931348623159e308", "-1.8e308", "4.9e-324", "2e-324", "1e999999999", "1e-999999999", "6.0790316E+25569151",
    "1e99999999999999999999", "1e-99999999999999999999", "1" + "0" * 300 + "e-300", "0." + "0" * 300 + "1e300",
    "0." + "0" * 300 + "1e301", "1" + "0" * 300 + "e-302", "0." + "0" * 398, "0." + "0" * 399, "1." + "0" * 398,
    "1." + "0" * 399, "0." + "9" * 38, "0." + "9" * 39, "0." + "9" * 38 + "0" * 300, "1e", "e1", "1e1.5", "1e+", "+1e2",
    "1 e2", "1e2 ", "123456789012345678901234567.8901234567", "0.1234567890123456789012345678901234567", "12345678901234567.89",
    "9007199254740993", "9007199254740993.0", "2.2250738585072011e-308", "5e-1", "50e-2", "500000e-5", "1e1", "1e01", "9.99e0",
    "0.3", "0.1e1", "1e+38", "9999999999999999.99", "99999999999999999.9", "-9999999999999999.99", "1e15", "1e16",
]  # fmt: skip
WORDS = ["true", "false", "TRUE", "False", "tRuE", "t", "f", "yes", "no", "1", "0", " true", "true ", "true\n", "ſalse", "ﬀalse", "null"]  # fmt: skip
DAYS = [
    "2024-02-29", "2023-02-29", "2000-02-29", "1900-02-29", "2026-01-01", "2026-1-1", "2026-01-32", "2026-04-31", "2026-00-10",
    "2026-13-01", "2026-12-00", "0000-01-01", "0001-01-01", "0000-12-31", "9999-12-31", "10000-01-01", "1582-10-04", "1582-10-10",
    "1582-10-15", "1969-12-31", "20260101", "01/02/2026", " 2026-01-01", "2026-01-01 ", "2026-01-01\n", "-2026-01-01",
    "+2026-01-01", "2026-01-01T", "2026-01-01T00:00:00Z", "२०२६-01-01", "2026-01", "2026", "today", "epoch",
]  # fmt: skip
MOMENTS = [
    "1769903998123", "100000000000", "999999999999", "9999999999999", "17000000000", "17000000000000", "000000000000",
    "-1700000000000", "+170000000000", "170000000000.0", "now", "yesterday", "2026-01-31", "T12:00", "12:00:00",
    *(
        f"{day}{between}{time}{zone}"
        for day in ("2026-01-31", "0001-01-01", "9999-12-31", "1582-10-10", "0000-01-01", "2023-02-29")
        for between, time in (
            ("T", "23:59"), (" ", "23:59:58"), ("T", "00:00:00.1"), ("T", "12:34:56.123456789"), ("T", "00:00"),
            ("T", "23:59:59.999999999"),
        )
        for zone in ("", "Z", "+00:00", "-00:00", "+01:30", "-18:00", "+18:00", "+18:01", "-17:59", "+23:59", "+01:60", "-00:01")
    ),
    *(f"2026-01-31T{time}" for time in ("24:00", "24:00:00Z", "25:00:00Z", "23:60:00", "23:59:60Z", "23:59:58.Z", "23:59:58.1234567890Z", "23", "2:03", "23:5", "23:59:5", "23:59:58z", "23:59:58 Z", "23:59:58+01", "23:59:58+0100", "23:59:58+1:00", "23:59:58UTC", "23:59:58 UTC", "23:59:58[UTC]", "23:59:58+01:00:00", "23:59:58Europe/Berlin", "23:59Z ", "23:59:58Z\n", "23:59:58,5")),
    "2026-01-31t23:59:58", "2026-01-31  23:59:58", "31.01.2026 23:59", "2026-02-30T00:00", "12026-01-31T23:59:58Z",
]  # fmt: skip

number_texts = st.from_regex(r"[+-]?(0|[1-9][0-9]{0,45})(\.[0-9]{1,45})?([eE][+-]?[0-9]{1,4})?", fullmatch=True)
zero_texts = st.from_regex(r"-?(0|[1-9]0{0,40})(\.0{1,40}[0-9]?)?(e[+-]?[0-9]{1,2})?", fullmatch=True)
moment_texts = st.from_regex(
    r"[0-9]{4}-(0[0-9]|1[0-3])-[0-3][0-9][T ][0-2][0-9]:[0-6][0-9](:[0-6][0-9](\.[0-9]{1,10})?)?(Z|[+-][0-2][0-9]:[0-7][0-9])?",
    fullmatch=True,
)
texts = st.one_of(
    st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    st.text("0123456789+-.eETZ: ", max_size=25),
    number_texts,
    zero_texts,
    st.floats(allow_nan=False).map(repr),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.integers(-(2**64), 2**64).map(str),
    moment_texts,
    st.datetimes().map(lambda moment: f"{moment.isoformat()}Z"),
    st.dates().map(str),
)


T = TypeVar("T")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def drawn(strategy: st.SearchStrategy[T], count: int) -> list[T]:
    """Examples by the hundred, for one Spark job over all of them."""
    found: list[T] = []

    @settings(
        max_examples=count,
        phases=[Phase.generate],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(value: T) -> None:
        found.append(value)

    collect()
    return found


def cast_or_none(text: str | None, type_: ColumnType) -> Any:
    try:
        return None if text is None else type_.cast(text)
    except NotOfType:
        return None


def oracle_or_none(text: str, type_: ColumnType) -> Any:
    try:
        return oracle.cast(text, str(type_))
    except oracle.NotOfType:
        return None


def same(left: Any, right: Any) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return left == right and math.copysign(1, left) == math.copysign(1, right)
    return type(left) is type(right) and left == right


def moment(micros: int | None) -> datetime | None:
    return None if micros is None else EPOCH + timedelta(microseconds=micros)


def test_spark_core_and_oracle_cast_every_text_alike(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.casts import cast_column

    given_texts = dict.fromkeys([*WHOLE, *NUMBERS, *WORDS, *DAYS, *MOMENTS, *drawn(texts, 1500)])
    cases: list[str | None] = [*given_texts, None]
    casts = {str(type_): cast_column(F.col("text"), type_) for type_ in TYPES}
    # By its number: Python's reader of moments does not know the first and last day of all years.
    casts["TIMESTAMP"] = F.unix_micros(casts["TIMESTAMP"])
    rows = spark.createDataFrame(list(enumerate(cases)), "n int, text string").coalesce(2)
    frame = rows.select("n", *(cast.alias(name) for name, cast in casts.items()))
    found = {row["n"]: row for row in frame.collect()}
    wrong = []
    for number, text in enumerate(cases):
        for type_ in TYPES:
            value = found[number][str(type_)]
            value = moment(value) if type_.name == "TIMESTAMP" else value
            expected = cast_or_none(text, type_)
            if not same(value, expected):
                wrong.append((str(type_), text, "spark", value, "core", expected))
            if text is not None and oracle_or_none(text, type_) != expected:
                wrong.append((str(type_), text, "oracle", oracle_or_none(text, type_), "core", expected))
    assert not wrong
    types = dict(frame.dtypes)
    assert all(types[str(type_)] == str(type_).lower() for type_ in TYPES if type_.name != "TIMESTAMP")


def test_a_text_is_blank_exactly_where_strip_leaves_nothing(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.casts import is_blank

    characters = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace() or code < 0x3100]
    cases = ["", "  ", " x ", "\u2003\x85\t", *characters, *(f" {character}\n" for character in characters)]
    cases = [text for text in cases if not 0xD800 <= ord(text[:1] or "x") <= 0xDFFF]
    rows = spark.createDataFrame([(text,) for text in cases], "text string")
    found = rows.select("text", is_blank(F.col("text")).alias("blank")).collect()
    assert [row["text"] for row in found if row["blank"] != (not row["text"].strip())] == []


def test_a_literal_has_the_value_and_type_that_were_meant(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.casts import FIRST_MOMENT, LAST_MOMENT, literal

    day = ColumnType("DATE")
    old = datetime(1582, 10, 10, 1, 2, 3, 4, tzinfo=UTC)
    wide = ColumnType.parse("DECIMAL(38,10)")
    row = spark.range(1).select(
        *(
            F.unix_micros(literal(at, ColumnType("TIMESTAMP"))).alias(f"at{n}")
            for n, at in enumerate((FIRST_MOMENT, old, LAST_MOMENT))
        ),
        literal(old.date(), day).alias("day"),
        literal(Decimal("1E+20"), wide).alias("wide"),
        literal(7, ColumnType("INT")).alias("whole"),
    )
    assert dict(row.dtypes) == {
        "at0": "bigint",
        "at1": "bigint",
        "at2": "bigint",
        "day": "date",
        "wide": "decimal(38,10)",
        "whole": "int",
    }
    found = row.first()
    assert found is not None
    assert [moment(found[f"at{n}"]) for n in range(3)] == [FIRST_MOMENT, old, LAST_MOMENT]
    assert (found["day"], found["wide"], found["whole"]) == (old.date(), Decimal("1E+20"), 7)
