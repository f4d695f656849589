"""A part of a table, as Spark, Spark SQL and Iceberg's own planning ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from leanops.core.naming import literal, quoted

# Columns and what they equal; a tuple is from … to with both ends, a set any of its members.
Unit = Mapping[str, "str | int | tuple[int, int] | tuple[datetime, datetime] | frozenset[int]"]


def unit_column(unit: Unit) -> Column:
    condition = F.lit(True)
    for name, value in unit.items():
        if isinstance(value, tuple):
            condition &= F.col(name).between(*value)
        elif isinstance(value, frozenset):
            condition &= F.col(name).isin(sorted(value))
        else:
            condition &= F.col(name) == value
    return condition


def unit_sql(unit: Unit) -> str:
    parts: list[str] = []
    for name, value in unit.items():
        if isinstance(value, tuple):
            parts.append(f"{quoted(name)} BETWEEN {value[0]} AND {value[1]}")
        elif isinstance(value, frozenset):
            parts.append(f"{quoted(name)} IN ({', '.join(map(str, sorted(value)))})")
        else:
            parts.append(f"{quoted(name)} = {literal(value) if isinstance(value, str) else value}")
    return " AND ".join(parts)


def unit_expression(jvm: Any, unit: Unit) -> Any:
    """For planning by statistics: a set counts as all that lies between its ends."""
    make = jvm.org.apache.iceberg.expressions.Expressions
    both = getattr(make, "and")
    condition = make.alwaysTrue()
    for name, value in unit.items():
        if isinstance(value, (tuple, frozenset)):
            low, high = (_micros(end) if isinstance(end, datetime) else end for end in (min(value), max(value)))
            # Py4J makes an int of a small number; Iceberg widens it.
            condition = both(condition, make.greaterThanOrEqual(name, low))
            condition = both(condition, make.lessThanOrEqual(name, high))
        else:
            condition = both(condition, make.equal(name, value))
    return condition


def _micros(moment: datetime) -> int:
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
