"""The type of a number in a rule, as SQL counts digits: exact decimals, or double where a DOUBLE takes part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, cast

from leanops.core.expression.tree import Arithmetic, Column, Constant, Expression
from leanops.core.types import ColumnType

# Spark's decimals have no more; past it they round, and the rule would depend on where it runs.
MOST_DIGITS: Final = 38
DOUBLE: Final = ColumnType("DOUBLE")
WHOLE_NUMBERS: Final = {"INT": ColumnType("DECIMAL", 10, 0), "BIGINT": ColumnType("DECIMAL", 19, 0)}


def number_type(expression: Expression, columns: Mapping[str, ColumnType]) -> ColumnType:
    """DOUBLE, or the DECIMAL that holds every value of the number; its precision may be past MOST_DIGITS."""
    match expression:
        case Column(name):
            return WHOLE_NUMBERS.get(columns[name].name, columns[name])
        case Constant(Decimal() as value):
            return _literal_type(value)
        case Arithmetic(sign, left, right):
            return _result_type(sign, number_type(left, columns), number_type(right, columns))
    raise TypeError(f"Cannot count digits, it is no number: {expression}")


def common_type(types: Iterable[ColumnType]) -> ColumnType:
    """The type in which these numbers are compared."""
    known = tuple(types)
    if DOUBLE in known:
        return DOUBLE
    scale = max(type_.scale for type_ in known)
    return _decimal(max(type_.precision - type_.scale for type_ in known), scale)


def _literal_type(value: Decimal) -> ColumnType:
    _, digits, exponent = value.as_tuple()
    exponent = cast(int, exponent)  # a literal is finite
    return _decimal(max(0, len(digits) + exponent) if value else 0, max(0, -exponent))


def _result_type(sign: str, left: ColumnType, right: ColumnType) -> ColumnType:
    if DOUBLE in (left, right):
        return DOUBLE
    if sign == "*":
        # One digit more than the product can have, but so Spark counts, and rounds by it.
        return ColumnType("DECIMAL", left.precision + right.precision + 1, left.scale + right.scale)
    common = common_type((left, right))
    return ColumnType("DECIMAL", common.precision + 1, common.scale)


def _decimal(whole: int, scale: int) -> ColumnType:
    return ColumnType("DECIMAL", max(1, whole + scale), scale)
