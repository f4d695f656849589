"""What a rule is made of. Whoever evaluates or translates a rule walks these nodes."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

Family = Literal["number", "text", "boolean", "date", "timestamp"]
Comparator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True)
class Column:
    name: str
    family: Family


@dataclass(frozen=True)
class Constant:
    value: Decimal | str | bool | date | datetime
    family: Family


@dataclass(frozen=True)
class Arithmetic:
    operator: Literal["+", "-", "*"]
    left: Expression
    right: Expression
    family: Family = "number"


@dataclass(frozen=True)
class Comparison:
    operator: Comparator
    left: Expression
    right: Expression
    family: Family = "boolean"


@dataclass(frozen=True)
class IsNull:
    operand: Expression
    family: Family = "boolean"


@dataclass(frozen=True)
class IsIn:
    operand: Expression
    choices: tuple[Constant, ...]
    family: Family = "boolean"


@dataclass(frozen=True)
class Not:
    operand: Expression
    family: Family = "boolean"


@dataclass(frozen=True)
class Junction:
    operator: Literal["and", "or"]
    parts: tuple[Expression, ...]
    family: Family = "boolean"


Expression = Column | Constant | Arithmetic | Comparison | IsNull | IsIn | Not | Junction


def columns_of(expression: Expression) -> frozenset[str]:
    match expression:
        case Column(name):
            return frozenset({name})
        case Constant():
            return frozenset()
        case Arithmetic(_, left, right) | Comparison(_, left, right):
            return columns_of(left) | columns_of(right)
        case IsNull(operand) | Not(operand) | IsIn(operand):
            return columns_of(operand)
        case Junction(_, parts):
            return frozenset().union(*map(columns_of, parts))
