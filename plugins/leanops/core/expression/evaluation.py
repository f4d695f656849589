"""A rule over one row: true, false, or None (unknown) where a column is missing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Context, Decimal
from typing import Any, Final

from leanops.core.expression.digits import MOST_DIGITS
from leanops.core.expression.tree import (
    Arithmetic,
    Column,
    Comparison,
    Constant,
    Expression,
    IsIn,
    IsNull,
    Junction,
    Not,
)
from leanops.core.types import Value

COMPARATORS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
# The parser lets no number need more digits.
EXACT: Final = Context(prec=MOST_DIGITS)


def evaluated(expression: Expression, row: Mapping[str, Value | None]) -> Any:
    match expression:
        case Column(name):
            return row.get(name)
        case Constant(value):
            return value
        case IsNull(operand):
            return evaluated(operand, row) is None
        case Not(operand):
            value = evaluated(operand, row)
            return None if value is None else not value
        case Junction(word, parts):
            return _joined(word, [evaluated(part, row) for part in parts])
        case IsIn(operand, choices):
            value = evaluated(operand, row)
            return None if value is None else any(_compared("=", value, choice.value) for choice in choices)
        case Comparison(sign, left, right):
            return _binary(lambda a, b: _compared(sign, a, b), evaluated(left, row), evaluated(right, row))
        case Arithmetic(sign, left, right):
            return _binary(lambda a, b: _calculated(sign, a, b), evaluated(left, row), evaluated(right, row))


def _binary(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    return None if left is None or right is None else function(left, right)


def _joined(word: str, values: list[bool | None]) -> bool | None:
    decisive = word == "or"
    if decisive in values:
        return decisive
    return None if None in values else not decisive


def _numbers(left: Any, right: Any) -> tuple[Any, Any]:
    """As Spark does: beside a double, everything is a double."""
    if isinstance(left, float) or isinstance(right, float):
        return float(left), float(right)
    return left, right


def _compared(sign: str, left: Any, right: Any) -> bool:
    if isinstance(left, int | float | Decimal) and not isinstance(left, bool):
        left, right = _numbers(left, right)
    return COMPARATORS[sign](left, right)


def _calculated(sign: str, left: Any, right: Any) -> Any:
    left, right = _numbers(left, right)
    if isinstance(left, float):
        return {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign](left, right)
    exact = {"+": EXACT.add, "-": EXACT.subtract, "*": EXACT.multiply}[sign]
    return exact(Decimal(left), Decimal(right))
