import ast
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.traffic.oracle import payload
from tests.traffic.oracle.casts import NotOfType, Value, cast
from tests.traffic.oracle.expressions import Expression


def test_the_oracle_imports_only_itself_the_message_and_the_standard_library() -> None:
    for file in Path(__file__).parent.joinpath("oracle").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert not name.startswith(("leanops", "plugins", "spark_jobs")), file
                if name.startswith("tests."):
                    assert name.startswith(("tests.traffic.oracle", "tests.traffic.message")), file


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \t\r\n", "empty"),
        ("\ufeff", "empty"),
        ("{", "not_json"),
        ("{}{}", "not_json"),
        ("{'a':1}", "not_json"),
        ('{"a":NaN}', "not_json"),
        ('{"a":-Infinity}', "not_json"),
        ('{"a":01}', "not_json"),
        ('{"a":1.}', "not_json"),
        ('{"a":"\n"}', "not_json"),
        ('{"a":1,"a":2,}', "not_json"),
        ("\ufeff\ufeff{}", "not_json"),
        ("null", "not_an_object"),
        ("[{}]", "not_an_object"),
        ('"{}"', "not_an_object"),
        ("1.5", "not_an_object"),
        ('{"a":1,"a":1}', "duplicate_key"),
        ('{"a":1,"\\u0061":1}', "duplicate_key"),
        ('{"a":[{"b":{"c":1,"c":2}}]}', "duplicate_key"),
        ('{"a":"\\ud800"}', "lone_surrogate"),
        ('{"\\uDFFF":1}', "lone_surrogate"),
        ('{"a":["\\ude00\\ud83d"]}', "lone_surrogate"),
        ('{"a":' * 500 + "{}" + "}" * 500, "too_deep"),
        ("[" * 100_000, "too_deep"),
        (" " * (64 * 1024 * 1024 + 1), "too_large"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_payload_that_is_not_one_json_object_has_a_reason(text: str | None, reason: str) -> None:
    with pytest.raises(payload.ParseError) as error:
        payload.parse(text)
    assert error.value.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        ' \n{"a": 1e5}\t',
        '\ufeff{"a":-0.0}',
        '{"a":"\\ud83d\\ude00"}',
        '{"a":"\\\\ud800"}',
        '{"a":1,"A":2}',
        '{"a":' * 499 + "{}" + "}" * 499,
        '{"a":"' + "[" * 600 + '"}',
        '{"a":' + "9" * 5000 + "}",
    ],
    ids=lambda value: str(value)[:20],
)
def test_one_json_object_is_taken_in(text: str) -> None:
    assert isinstance(payload.parse(text), dict)


def _at(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[arg-type, misc]


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("STRING", " any ", " any "),
        ("INT", "+007", 7),
        ("INT", "-2147483648", -(2**31)),
        ("BIGINT", "9223372036854775807", 2**63 - 1),
        ("DOUBLE", "+1.5", 1.5),
        ("DOUBLE", "-2E-3", -0.002),
        ("DOUBLE", "1e-999", 0.0),
        ("DECIMAL(4,2)", "99.9900", Decimal("99.99")),
        ("DECIMAL(4,2)", "1.5e1", Decimal(15)),
        ("DECIMAL(4,2)", "1000e-2", Decimal(10)),
        ("DECIMAL(4,2)", "0e99999999999999999999", Decimal(0)),
        ("DECIMAL(18,2)", "-1234567890123456.78", Decimal("-1234567890123456.78")),
        ("BOOLEAN", "tRuE", True),
        ("BOOLEAN", "FALSE", False),
        ("DATE", "2024-02-29", date(2024, 2, 29)),
        ("TIMESTAMP", "2026-01-02T03:04", _at(2026, 1, 2, 3, 4)),
        ("TIMESTAMP", "2026-01-02 03:04:05", _at(2026, 1, 2, 3, 4, 5)),
        ("TIMESTAMP", "2026-01-02T03:04:05.1234569Z", _at(2026, 1, 2, 3, 4, 5, 123456)),
        ("TIMESTAMP", "2026-01-02T00:30:00+05:30", _at(2026, 1, 1, 19)),
        ("TIMESTAMP", "2026-01-02T00:00-01:00", _at(2026, 1, 2, 1)),
        ("TIMESTAMP", "1700000000123", _at(2023, 11, 14, 22, 13, 20) + timedelta(milliseconds=123)),
        ("TIMESTAMP", "100000000000", _at(1973, 3, 3, 9, 46, 40)),
    ],
)
def test_text_of_the_type_is_cast(kind: str, text: str, value: Value) -> None:
    found = cast(text, kind)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("INT", ["", "1.0", "1e3", " 1", "2147483648", "-2147483649", "0x1", "1_000", "٥", "+", "9" * 5000, "1\n"]),
        ("BIGINT", ["9223372036854775808", "-9223372036854775809", "true"]),
        ("DOUBLE", ["", "NaN", "Infinity", "1e999", "01", "1.", ".5", "+-1", " 1", "1f", "0x1p3"]),
        ("DECIMAL(4,2)", ["", "100", "0.001", "1e2", "1e-3", "1,5", "+1", ".5", "NaN", "1e99999999999999999999", "1 "]),
        ("BOOLEAN", ["", "1", "yes", "t", " true", "null"]),
        ("DATE", ["", "2026-02-29", "2026-1-1", "20260101", "2026-01-01T00:00", "0000-01-01", " 2026-01-01"]),
        (
            "TIMESTAMP",
            [
                "",
                "2026-01-02",
                "2026-01-02T03",
                "2026-01-02t03:04",
                "2026-01-02T24:00",
                "2026-01-02T03:04:60",
                "2026-01-02T03:04:05.",
                "2026-01-02T03:04:05.1234567890",
                "2026-01-02T03:04z",
                "2026-01-02T03:04+0100",
                "2026-01-02T03:04+01:60",
                "2026-02-30T00:00",
                "0001-01-01T00:00+01:00",
                "17000000000",
                "17000000000000",
                "-1700000000000",
                "2026-01-02T03:04 Z",
            ],
        ),
    ],
)
def test_text_that_is_not_of_the_type_is_refused(kind: str, texts: list[str]) -> None:
    for text in texts:
        with pytest.raises(NotOfType):
            print(kind, repr(text), cast(text, kind))


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        ("a = 1", True),
        ("a != 1 or b is not null", True),
        ("a = 1 and n = 1", None),
        ("a = 2 and n = 1", False),
        ("a = 1 or n = 1", True),
        ("a = 2 or n = 1", None),
        ("not n = 1", None),
        ("n is null", True),
        ("not (s = 'it''s') or t", True),
        ("s in ('x', 'it''s')", True),
        ("s not in ('x', 'y')", True),
        ("a in (2, n)", None),
        ("a in (1, n)", True),
        ("a + 2 * b - 1 >= 4.0", True),
        ("(a + 2) * b < -1", False),
        ("d < 0.3", False),
        ("d = 0.3", True),
        ("t = TRUE AND NOT t = false", True),
        ("day > '2026-01-01'", True),
        ("n + 1 > 0", None),
    ],
)
def test_a_check_follows_three_valued_logic(check: str, expected: bool | None) -> None:
    row: dict[str, Any] = {"a": 1, "b": 2, "n": None, "s": "it's", "t": True, "d": 0.3, "day": date(2026, 1, 2)}
    assert Expression(check)(row) is expected


@pytest.mark.parametrize("check", ["", "a =", "a = 1 b", "(a = 1", "a is 1", "a in ()", "a; b", "not", "a not 1"])
def test_a_check_that_is_not_an_expression_is_refused(check: str) -> None:
    with pytest.raises(ValueError, match="Cannot read rule"):
        Expression(check)


def test_a_check_names_the_columns_that_it_reads() -> None:
    assert Expression("not (method = 'sepa') or currency in ('EUR')").columns == {"method", "currency"}
