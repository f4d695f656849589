"""A contract as the oracle reads it."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tests.traffic.oracle.expressions import Expression
from tests.traffic.oracle.payload import Digits, compact

_JSON_PATH = re.compile(r"\$(?:\.[^.\[\]]+)+")
_KEY_PATH = "$._metadata.idempotencyKeyResource"
_UPDATED_PATH = "$._metadata.lastUpdatedTs"
_PERIOD_PATH = "$._metadata.periodReference"


@dataclass(frozen=True)
class Column:
    name: str
    type: str
    path: tuple[str, ...] | None
    cde: bool
    required: bool
    default: str | None
    enum: tuple[str, ...] | None
    least: str | None
    most: str | None
    regex: str | None
    shortest: int | None
    longest: int | None
    treatment: str | None
    keep: int


@dataclass(frozen=True)
class Contract:
    columns: tuple[Column, ...]
    rules: Mapping[str, Expression]

    def path(self, name: str, otherwise: str) -> tuple[str, ...]:
        for column in self.columns:
            if column.name == name and column.path:
                return column.path
        return _keys(otherwise)

    @cached_property
    def key_path(self) -> tuple[str, ...]:
        return self.path("idempotency_key", _KEY_PATH)

    @cached_property
    def updated_path(self) -> tuple[str, ...]:
        return self.path("last_updated_ts", _UPDATED_PATH)

    @cached_property
    def period_path(self) -> tuple[str, ...]:
        return self.path("period_reference", _PERIOD_PATH)


def read_contract(source: Path | Mapping[str, Any]) -> Contract:
    """The contract in a file, or in an object that was read with plain `json`."""
    text = source.read_text(encoding="utf-8") if isinstance(source, Path) else json.dumps(source)
    content = json.loads(text, parse_int=Digits, parse_float=Digits)
    columns = [*content.get("envelope_columns", []), *content.get("payload_columns", [])]
    rules = {rule["name"]: Expression(rule["check"]) for rule in content.get("rules", [])}
    return Contract(tuple(_column(column) for column in columns), rules)


def _column(content: dict[str, Any]) -> Column:
    limits, length, pii = content.get("range", {}), content.get("length", {}), content.get("pii", {})
    enum = content.get("enum")
    return Column(
        name=content["name"],
        type=content["type"],
        path=_keys(content["json_path"]) if "json_path" in content else None,
        cde=content.get("cde", False),
        required=content.get("required", False) or not content.get("nullable", True),
        default=_text(content.get("default")),
        enum=None if enum is None else tuple(str(_text(value)) for value in enum),
        least=_text(limits.get("min")),
        most=_text(limits.get("max")),
        regex=content.get("regex"),
        shortest=_count(length.get("min")),
        longest=_count(length.get("max")),
        treatment=pii.get("treatment"),
        keep=int(pii.get("keep", 0)),
    )


def _keys(json_path: str) -> tuple[str, ...]:
    if not _JSON_PATH.fullmatch(json_path):
        raise ValueError(f"Cannot read contract, not a path of plain keys: {json_path}")
    return tuple(json_path[2:].split("."))


def _text(value: Any) -> str | None:
    if value is None:
        return None
    return str(value) if isinstance(value, str) else compact(value)


def _count(value: Any) -> int | None:
    return None if value is None else int(value)
