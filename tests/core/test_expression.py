from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leanops.core.errors import InvalidExpression
from leanops.core.expression import columns_of, evaluated, parsed
from leanops.core.types import ColumnType, Value

COLUMNS = {
    name: ColumnType.parse(type_)
    for name, type_ in {
        "amount": "DECIMAL(10,2)",
        "fee": "INT",
        "reading": "DOUBLE",
        "method": "STRING",
        "refund": "BOOLEAN",
        "day": "DATE",
        "at": "TIMESTAMP",
        "wide": "DECIMAL(38,10)",
        "count": "BIGINT",
    }.items()
}
ROW: dict[str, Value | None] = {
    "amount": Decimal("10.50"),
    "fee": 2,
    "reading": 1.5,
    "method": "card's",
    "refund": False,
    "day": date(2026, 1, 2),
    "at": datetime(2026, 1, 2, 3, tzinfo=UTC),
    "wide": Decimal("1234567890123456789012345678.0123456789"),
    "count": 2**63 - 1,
}


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ("fee <= amount", True),
        ("fee * 5 + 0.50 = amount", True),
        ("amount - fee * 2 > 6.49", True),
        ("fee = -2 or fee = 2", True),
        ("method = 'card''s'", True),
        ("method in ('sepa', 'wallet')", False),
        ("method not in ('sepa')", True),
        ("not (refund = true) AND NOT refund", True),
        ("refund or fee > 1", True),
        ("day >= '2026-01-02' and at < '2026-01-02T03:00:01Z'", True),
        ("reading * 2 = 3", True),
        ("amount is not null and not amount is null", True),
        ("(fee + 1) * 2 = 6", True),
        ("fee in (1, -2, 2)", True),
        ("count * 99999999999999999 = 922337203685477571476627963145224193", True),
        ("wide > 1234567890123456789012345678.0123456788", True),
        ("wide * reading > 0", True),
    ],
)
def test_a_check_over_a_row(check: str, value: bool) -> None:
    assert evaluated(parsed(check, COLUMNS), ROW) is value


@pytest.mark.parametrize(
    ("check", "value"),
    [
        ("fee <= amount", None),
        ("fee > 100 and method = 'x'", None),
        ("method = 'card''s' or fee > 1", True),
        ("method != 'card''s' and fee > 1", False),
        ("not fee > 1", None),
        ("fee is null", True),
        ("fee in (1)", None),
        ("fee + 1 > 0", None),
    ],
)
def test_a_missing_column_makes_a_check_unknown(check: str, value: bool | None) -> None:
    row = ROW | {"fee": None}
    if check == "fee > 100 and method = 'x'":
        row = row | {"method": "x"}
    assert evaluated(parsed(check, COLUMNS), row) is value


def test_the_columns_of_a_check() -> None:
    assert columns_of(parsed("fee * 2 <= amount or method in ('x') and not refund", COLUMNS)) == {
        "fee", "amount", "method", "refund",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("", "it ends too early at character 1: ''. Complete the comparison."),
        ("fee", "it is not true or false at character 1: 'fee'. Write a comparison, for example amount >= 0."),
        ("fee >", "it ends too early at character 6: 'fee >'. Complete the comparison."),
        ("fee > 1 fee", "unexpected 'fee' at character 9: 'fee > 1 fee'. Join parts with and / or."),
        ("fee; DROP", "unexpected ';' at character 4: 'fee; DROP'. Use columns, numbers, 'text', and or not, = != < <= > >=, + - *."),
        ("fee = 'x'", "a number is compared with a text at character 1: 'fee = 'x''. Compare values of the same type."),
        ("day > 'soon'", "'soon' is no date at character 1: 'day > 'soon''. Write it as ISO 8601."),
        ("refund > true", "true and false have no order for '>' at character 1: 'refund > true'. Use = or !=."),
        ("method + 1 > 2", "'+' joins something that is no number at character 8: 'method + 1 > 2'. Use numbers only."),
        ("fee in (amount)", "a list holds literals only at character 9: 'fee in (amount)'. Write in ('a', 'b') or in (1, 2)."),
        ("fee in 1", "'(' is missing at character 8: 'fee in 1'. Write ( here."),
        ("fee is 1", "'null' is missing at character 8: 'fee is 1'. Write null here."),
        ("(fee > 1", "')' is missing at character 9: '(fee > 1'. Write ) here."),
        ("not fee", "'not' before something that is not true or false at character 1: 'not fee'. Compare it first."),
        ("fee and refund", "'and' joins something that is not true or false at character 1: 'fee and refund'. Compare it first."),
        ("sleep(9) > 1", "there is no column 'sleep' at character 1: 'sleep(9) > 1'. Use one of: amount, at, count, day, fee, method, reading, refund, wide."),
        ("wide + 1 > 0", "'+' may need 39 digits, 38 can be exact at character 6: 'wide + 1 > 0'. Use columns and literals with fewer digits, or a DOUBLE."),
        ("count * count > 0", "'*' may need 39 digits, 38 can be exact at character 7: 'count * count > 0'. Use columns and literals with fewer digits, or a DOUBLE."),
        ("not wide = 0.12345678901", "'=' may need 39 digits, 38 can be exact at character 5: 'not wide = 0.12345678901'. Use columns and literals with fewer digits, or a DOUBLE."),
        ("count in (1, 0.12345678901234567890)", "'in' may need 39 digits, 38 can be exact at character 7: 'count in (1, 0.12345678901234567890)'. Use columns and literals with fewer digits, or a DOUBLE."),
        (f"reading > {'9' * 39}", f"the number may need 39 digits, 38 can be exact at character 11: 'reading > {'9' * 39}'. Use columns and literals with fewer digits, or a DOUBLE."),
        ("= 1", "unexpected '=' at character 1: '= 1'. Write a column, a number or 'text' here."),
    ],
)  # fmt: skip
def test_a_bad_check_says_where_and_what_next(check: str, message: str) -> None:
    with pytest.raises(InvalidExpression) as caught:
        parsed(check, COLUMNS)
    assert str(caught.value) == f"Cannot read rule, {message}"


def test_long_and_deep_checks_are_refused() -> None:
    with pytest.raises(InvalidExpression, match="too long"):
        parsed("fee > 1 or " * 200 + "fee > 1", COLUMNS)
    with pytest.raises(InvalidExpression, match="nested too deeply"):
        parsed("(" * 400 + "fee > 1" + ")" * 400, COLUMNS)


@given(st.text("fe >=<1'()andortis nul,-+*;", max_size=40))
def test_any_text_is_a_check_or_an_error_of_ours(text: str) -> None:
    try:
        value = evaluated(parsed(text, COLUMNS), ROW)
    except InvalidExpression:
        return
    assert value in {True, False, None}
