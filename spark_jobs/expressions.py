"""A contract's rule as a Spark expression in three-valued logic, equal to `leanops.core.expression.evaluated`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any, Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from leanops.core.expression import Expression, common_type, number_type
from leanops.core.expression import tree as rule
from leanops.core.types import ColumnType
from spark_jobs.casts import literal

DOUBLE: Final = ColumnType("DOUBLE")
LITERAL_TYPES: Final[Mapping[rule.Family, ColumnType]] = {
    "text": ColumnType("STRING"),
    "boolean": ColumnType("BOOLEAN"),
    "date": ColumnType("DATE"),
    "timestamp": ColumnType("TIMESTAMP"),
}
JUNCTIONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"and": operator.and_, "or": operator.or_}
COMPARATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def column_of(expression: Expression, values: Mapping[str, Column], types: Mapping[str, ColumnType]) -> Column:
    """True, false or NULL for each row; `values` and `types` are those of the columns that the rule names."""
    return _Translation(values, types).column(expression)


class _Translation:
    """Every number is cast to the type that the core has counted for it, so that Spark widens and rounds nothing."""

    def __init__(self, values: Mapping[str, Column], types: Mapping[str, ColumnType]) -> None:
        self._values = values
        self._types = types

    def column(self, expression: Expression) -> Column:
        match expression:
            case rule.Column(name):
                return self._values[name]
            case rule.Constant(value, family):
                return literal(value, LITERAL_TYPES[family] if family != "number" else self._type(expression))
            case rule.IsNull(operand):
                return self.column(operand).isNull()
            case rule.Not(operand):
                return ~self.column(operand)
            case rule.Junction(word, parts):
                joined: Column = reduce(JUNCTIONS[word], map(self.column, parts))
                return joined
            case rule.IsIn(operand, choices):
                member, *listed = self._alike(operand, *choices)
                return member.isin(listed)
            case rule.Comparison(sign, left, right):
                return self._comparison(sign, left, right)
            case rule.Arithmetic(sign, left, right):
                return self._arithmetic(sign, left, right)

    def _type(self, number: Expression) -> ColumnType:
        return number_type(number, self._types)

    def _as(self, number: Expression, type_: ColumnType) -> Column:
        return self.column(number).cast(str(type_))

    def _alike(self, *operands: Expression) -> list[Column]:
        if operands[0].family != "number":
            return [self.column(operand) for operand in operands]
        common = common_type(map(self._type, operands))
        return [self._as(operand, common) for operand in operands]

    def _arithmetic(self, sign: str, left: Expression, right: Expression) -> Column:
        if DOUBLE in (types := (self._type(left), self._type(right))):
            types = (DOUBLE, DOUBLE)
        result: Column = ARITHMETIC[sign](self._as(left, types[0]), self._as(right, types[1]))
        return result

    def _comparison(self, sign: str, left: Expression, right: Expression) -> Column:
        first, second = self._alike(left, right)
        compared: Column = COMPARATORS[sign](first, second)
        if not (self._may_be_nan(left) or self._may_be_nan(right)):
            return compared
        # Spark takes NaN for equal to itself and above all numbers; by IEEE 754 it is only ever unequal.
        known = first.isNotNull() & second.isNotNull()
        return F.when(known & (F.isnan(first) | F.isnan(second)), F.lit(sign == "!=")).otherwise(compared)

    def _may_be_nan(self, operand: Expression) -> bool:
        """Columns and literals are finite; only what is calculated from them may not be."""
        return isinstance(operand, rule.Arithmetic) and self._type(operand) == DOUBLE
