from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leanops.core.types import ColumnType, NotOfType, Value

MOMENT = datetime(2026, 1, 31, 23, 59, 58, 123456, tzinfo=UTC)


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        ("STRING", "", ""),
        ("STRING", " x ", " x "),
        ("INT", "-2147483648", -2147483648),
        ("INT", "+7", 7),
        ("INT", "007", 7),
        ("BIGINT", "9223372036854775807", 2**63 - 1),
        ("DOUBLE", "1e3", 1000.0),
        ("DOUBLE", "-0", -0.0),
        ("DECIMAL(5,2)", "123.45", Decimal("123.45")),
        ("DECIMAL(5,2)", "1.5000", Decimal("1.50")),
        ("DECIMAL(5,2)", "1e2", Decimal("100.00")),
        ("DECIMAL(5,2)", "-0.00", Decimal("0.00")),
        ("DECIMAL(38,0)", "9" * 38, Decimal("9" * 38)),
        ("DECIMAL(5,2)", "0e99999999999999999999", Decimal("0.00")),
        ("DECIMAL(5,2)", "0.00001234e+0007", Decimal("123.40")),
        ("DOUBLE", "+1.5", 1.5),
        ("BOOLEAN", "TRUE", True),
        ("BOOLEAN", "false", False),
        ("DATE", "2024-02-29", date(2024, 2, 29)),
        ("TIMESTAMP", "2026-01-31T23:59:58.123456Z", MOMENT),
        ("TIMESTAMP", "2026-01-31 23:59:58.123456789", MOMENT),
        ("TIMESTAMP", "2026-02-01T01:29:58.123456+01:30", MOMENT),
        ("TIMESTAMP", "2026-02-01T17:59:58.123456+18:00", MOMENT),
        ("TIMESTAMP", "2026-01-31T05:59:58.123456-18:00", MOMENT),
        ("TIMESTAMP", "2026-01-31T23:59", datetime(2026, 1, 31, 23, 59, tzinfo=UTC)),
        ("TIMESTAMP", "1769903998123", datetime(2026, 1, 31, 23, 59, 58, 123000, tzinfo=UTC)),
    ],
)
def test_text_that_is_of_its_type(type_: str, text: str, value: Value) -> None:
    found = ColumnType.parse(type_).cast(text)
    assert found == value
    assert type(found) is type(value)
    assert str(found) == str(value)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        *(
            ("INT", text)
            for text in ("", " 1", "1 ", "1.0", "1e3", "2147483648", "0x1", "1_000", "١", "--1", "9" * 5000)
        ),
        ("BIGINT", "9223372036854775808"),
        ("INT", "0" * 401),
        *(
            ("DOUBLE", text)
            for text in (
                "",
                "NaN",
                "Infinity",
                "1e999",
                "1.",
                ".5",
                "1,5",
                "0x1p3",
                "1f",
                "00.1",
                "+-1",
                "0." + "0" * 399,
            )
        ),
        *(
            ("DECIMAL(5,2)", text)
            for text in (
                "1.234",
                "1234",
                "1e3",
                "1e-3",
                "1e999999999",
                "1e99999999999999999999",
                "1e-99999999999999999999",
                "",
                "$1",
                "1,00",
                "+1",
                "0." + "0" * 399,
            )
        ),
        *(("BOOLEAN", text) for text in ("1", "0", "yes", "t", "", " true")),
        *(("DATE", text) for text in ("2023-02-29", "2026-1-1", "01/02/2026", "2026-01-01T00:00:00Z", "0000-01-01")),
        *(
            ("TIMESTAMP", text)
            for text in (
                "",
                "yesterday",
                "2026-01-31",
                "2026-13-01T00:00:00Z",
                "2026-01-31T25:00:00Z",
                "2026-01-31T23:59:60Z",
                "2026-01-31T23:59:58 Z",
                "2026-01-31T23:59:58+25:00",
                "2026-01-31T23:59:58+18:01",
                "2026-01-31T23:59:58-18:30",
                "2026-01-31T23:59:58+01:60",
                "0000-01-01T00:00:00Z",
                "9999-12-31T23:59:59-00:01",
                "2026-01-31T23:59:58+01",
                "1769903998",
                "0001-01-01T00:00:00+01:00",
                "31.01.2026 23:59",
            )
        ),
    ],
)
def test_text_that_is_not_of_the_type(type_: str, text: str) -> None:
    with pytest.raises(NotOfType):
        ColumnType.parse(type_).cast(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**14), max_value=10**14))
def test_a_decimal_is_exact_or_refused(number: Decimal) -> None:
    type_ = ColumnType.parse("DECIMAL(18,4)")
    try:
        assert type_.cast(f"{number:f}") == number
    except NotOfType:
        assert abs(number) >= 10**14


@pytest.mark.parametrize(
    "text", ["int", "FLOAT", "DECIMAL", "DECIMAL(0,0)", "DECIMAL(39,2)", "DECIMAL(3,4)", "STRING "]
)
def test_what_is_no_type(text: str) -> None:
    with pytest.raises(NotOfType):
        ColumnType.parse(text)


@pytest.mark.parametrize(
    ("old", "new", "widens"),
    [
        ("INT", "BIGINT", True),
        ("BIGINT", "INT", False),
        ("INT", "DOUBLE", False),
        ("DECIMAL(10,2)", "DECIMAL(12,2)", True),
        ("DECIMAL(10,2)", "DECIMAL(12,4)", False),
        ("DECIMAL(12,2)", "DECIMAL(10,2)", False),
        ("DATE", "TIMESTAMP", False),
        ("INT", "STRING", False),
    ],
)
def test_widening_is_what_iceberg_promotes_in_format_v2(old: str, new: str, widens: bool) -> None:
    assert ColumnType.parse(old).widens_to(ColumnType.parse(new)) is widens
