"""One column of a contract: from its JSON to a Column, with what is wrong in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, Final

from leanops.core.contract.model import Column, Length, Pii, Range
from leanops.core.contract.paths import path_keys
from leanops.core.contract.regex import regex_objection
from leanops.core.errors import Fault, shown
from leanops.core.types import ColumnType, NotOfType, Value

ENUM_TYPES: Final = ("STRING", "INT", "BIGINT", "DECIMAL", "DATE")
RANGE_TYPES: Final = ("INT", "BIGINT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP")


def scalar_text(value: Any) -> str:
    """A JSON scalar as the text that a payload would have."""
    return str(value).lower() if isinstance(value, bool) else f"{value:f}" if isinstance(value, Decimal) else str(value)


def column_of(entry: dict[str, Any], faults: list[Fault], where: str) -> Column | None:
    """The column, or None after adding the fault that makes its type unusable. The entry's form is valid."""
    try:
        type_ = ColumnType.parse(entry["type"])
    except NotOfType:
        faults.append(
            Fault(f"{where}.type", shown(entry["type"]), "a scale up to the precision", "Write DECIMAL(p,s).")
        )
        return None
    found = len(faults)
    bounds = _range(entry.get("range"), type_, faults, where)
    length = entry.get("length")
    pii = entry.get("pii")
    column = Column(
        name=entry["name"],
        type=type_,
        path=path_keys(entry["json_path"]) if "json_path" in entry else None,
        required=entry.get("required", False),
        cde=entry.get("cde", False),
        nullable=entry.get("nullable", not (entry.get("required") or entry.get("cde"))),
        default=scalar_text(entry["default"]) if "default" in entry else None,
        enum=tuple(scalar_text(value) for value in entry.get("enum", ())),
        range=bounds,
        regex=entry.get("regex"),
        length=Length(length.get("min"), length.get("max")) if length is not None else None,
        pii=Pii(pii["treatment"], pii.get("keep")) if pii is not None else None,
        description=entry.get("description"),
    )
    faults.extend(_faults(column, where))
    if len(faults) == found and column.default is not None:
        faults.extend(_default_faults(column, where))
    return column


def _range(entry: dict[str, Any] | None, type_: ColumnType, faults: list[Fault], where: str) -> Range | None:
    if entry is None:
        return None
    if type_.name not in RANGE_TYPES:
        faults.append(Fault(f"{where}.range", f"a range on {type_}", ", ".join(RANGE_TYPES), "Drop it, or use length."))
        return None
    if not entry:
        faults.append(Fault(f"{where}.range", "neither min nor max", "min, max or both", "Add a bound."))
        return None
    bounds: dict[str, Value] = {}
    for end, value in entry.items():
        try:
            bounds[end] = type_.cast(scalar_text(value))
        except NotOfType:
            faults.append(Fault(f"{where}.range.{end}", shown(scalar_text(value)), f"a value of {type_}", "Mend it."))
    low, high = bounds.get("min"), bounds.get("max")
    if low is not None and high is not None and low > high:  # type: ignore[operator]
        faults.append(Fault(f"{where}.range", f"min {low} above max {high}", "min up to max", "Swap them."))
    return Range(low, high)


def _faults(column: Column, where: str) -> Iterator[Fault]:
    yield from _presence_faults(column, where)
    yield from _enum_faults(column, where)
    if column.type.name != "STRING":
        for key in ("regex", "length"):
            if getattr(column, key) is not None:
                yield Fault(f"{where}.{key}", f"{key} on {column.type}", "STRING", "Drop it, or use range.")
    elif column.regex is not None and (objection := regex_objection(column.regex)):
        yield Fault(
            f"{where}.regex", shown(column.regex), "the syntax Python and Java share", f"Change it: {objection}."
        )
    if (length := column.length) is not None:
        if length.minimum is None and length.maximum is None:
            yield Fault(f"{where}.length", "neither min nor max", "min, max or both", "Add a bound.")
        elif length.minimum is not None and length.maximum is not None and length.minimum > length.maximum:
            found = f"min {length.minimum} above max {length.maximum}"
            yield Fault(f"{where}.length", found, "min up to max", "Swap them.")
    if (pii := column.pii) is not None:
        if pii.treatment != "drop" and column.type.name != "STRING":
            yield Fault(f"{where}.pii", f"{pii.treatment} on {column.type}", "STRING", "Use drop, or type STRING.")
        if (pii.treatment == "truncate") != (pii.keep is not None):
            found = "truncate without keep" if pii.keep is None else f"keep with {pii.treatment}"
            yield Fault(f"{where}.pii.keep", found, "keep with truncate only", "Add or drop keep.")


def _presence_faults(column: Column, where: str) -> Iterator[Fault]:
    if column.cde and column.default is not None:
        yield Fault(f"{where}.default", "a default on a CDE", "none", "Drop it: a missing CDE must be seen.")
    for key in ("cde", "required"):
        if getattr(column, key) and column.nullable:
            yield Fault(f"{where}.nullable", f"nullable and {key}", "one of the two", "Drop nullable.")


def _enum_faults(column: Column, where: str) -> Iterator[Fault]:
    if column.enum and column.type.name not in ENUM_TYPES:
        yield Fault(f"{where}.enum", f"an enum on {column.type}", ", ".join(ENUM_TYPES), "Drop it, or use range.")
        return
    seen: set[Value] = set()
    for index, text in enumerate(column.enum):
        try:
            value = column.type.cast(text)
        except NotOfType:
            yield Fault(f"{where}.enum[{index}]", shown(text), f"a value of {column.type}", "Mend or drop it.")
            continue
        if value in seen:
            yield Fault(f"{where}.enum[{index}]", f"{shown(text)} again", "each value once", "Drop it.")
        seen.add(value)


def _default_faults(column: Column, where: str) -> Iterator[Fault]:
    text = column.default or ""
    try:
        value = column.type.cast(text)
    except NotOfType:
        yield Fault(f"{where}.default", shown(text), f"a value of {column.type}", "Mend it.")
        return
    if rule := violated_rule(column, value):
        yield Fault(f"{where}.default", shown(text), f"a value that passes {rule}", "Mend it, or the rule.")


def violated_rule(column: Column, value: Value) -> str | None:
    """The first value rule (enum, range, regex, length) that a cast value breaks."""
    return next(violated_rules(column, value), None)


def violated_rules(column: Column, value: Value) -> Iterator[str]:
    if column.enum and value not in {column.type.cast(text) for text in column.enum}:
        yield "enum"
    if (bounds := column.range) is not None:
        below = bounds.minimum is not None and value < bounds.minimum  # type: ignore[operator]
        above = bounds.maximum is not None and value > bounds.maximum  # type: ignore[operator]
        if below or above:
            yield "range"
    if column.regex is not None and not re.fullmatch(column.regex, str(value), re.ASCII):
        yield "regex"
    if (length := column.length) is not None:
        size = len(str(value))
        if size < (length.minimum or 0) or (length.maximum is not None and size > length.maximum):
            yield "length"
