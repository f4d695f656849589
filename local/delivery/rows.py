"""JSON rows into a table's columns, as Firehose fits them: unknown keys are left out, a misfit fails its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pyarrow as pa
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.schema import Schema
from pyiceberg.types import BooleanType, IntegerType, LongType, StringType, TimestamptzType


class Misfit(ValueError):
    pass


class Fitted(NamedTuple):
    """`misfits` are (index of the row, reason)."""

    data: pa.Table
    misfits: list[tuple[int, str]]


def fitted(schema: Schema, rows: Sequence[dict[str, Any]]) -> Fitted:
    columns = [(field.name, field.required, _reader(field.field_type)) for field in schema.fields]
    good: list[dict[str, Any]] = []
    misfits: list[tuple[int, str]] = []
    for index, row in enumerate(rows):
        try:
            good.append({name: _value(row.get(name), name, required, read) for name, required, read in columns})
        except Misfit as error:
            misfits.append((index, str(error)))
    arrow = schema_to_pyarrow(schema, include_field_ids=False)
    return Fitted(pa.Table.from_pylist(good, schema=arrow), misfits)


def _value(value: Any, name: str, required: bool, read: Callable[[Any], Any]) -> Any:
    if value is None:
        if required:
            raise Misfit(f"{name} is missing")
        return None
    try:
        return read(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise Misfit(f"{name} does not fit its column: {error}") from error


def _reader(kind: Any) -> Callable[[Any], Any]:
    if isinstance(kind, StringType):
        return _text
    if isinstance(kind, LongType):
        return lambda value: _whole(value, 63)
    if isinstance(kind, IntegerType):
        return lambda value: _whole(value, 31)
    if isinstance(kind, TimestamptzType):
        return _moment
    if isinstance(kind, BooleanType):
        return _truth
    raise Misfit(f"the local delivery service cannot write {kind}")


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not text")
    value.encode()
    return value


def _whole(value: Any, bits: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{type(value).__name__} is not a whole number")
    if not -(1 << bits) <= value < 1 << bits:
        raise ValueError("the number is too large")
    return value


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{type(value).__name__} is not true or false")
    return value
