"""A layout in Iceberg's own JSON: the form in which every engine's table can be compared, ids and all."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from leanops.core.errors import LeanOpsError, shown
from leanops.core.layout import Layout, Partition

SIMPLE: Final = {
    "STRING": "string",
    "INT": "int",
    "BIGINT": "long",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "DATE": "date",
    # A moment; Iceberg's plain timestamp has no zone.
    "TIMESTAMP": "timestamptz",
}
DECIMAL: Final = re.compile(r"DECIMAL\((\d+),(\d+)\)")
DECIMAL_JSON: Final = re.compile(r"decimal\((\d+), (\d+)\)")
WORDS: Final = re.compile(r"\s*(DECIMAL\(\d+,\d+\)|[A-Za-z_][A-Za-z0-9_]*|[<>:,])")
# The transform's name in Iceberg, and the ending of the partition's name as Spark gives it.
TRANSFORMS: Final = {"days": ("day", "_day"), "months": ("month", "_month"), "identity": ("identity", "")}
FIRST_PARTITION_ID: Final = 1000


class UnknownType(LeanOpsError):
    def __init__(self, text: str) -> None:
        self.text = text
        super().__init__(
            "read type",
            "it is none of a layout's",
            shown(text),
            f"Use {', '.join(SIMPLE)}, DECIMAL(p,s), ARRAY<…> or STRUCT<name: …>.",
        )


def schema_json(layout: Layout) -> dict[str, Any]:
    """Ids as Iceberg gives them to a new table: the columns first, then what lies in them, level by level."""
    ids = count(1)
    fields: list[dict[str, Any]] = [
        {"id": next(ids), "name": field.name, "required": field.required, "type": field.type, "doc": field.doc}
        for field in layout.fields
    ]
    for field in fields:
        field["type"] = _numbered(parsed_type(field["type"]), ids)
        if not field["doc"]:
            del field["doc"]
    return {"type": "struct", "schema-id": 0, "fields": fields}


def spec_json(layout: Layout) -> dict[str, Any]:
    source = {field.name: number for number, field in enumerate(layout.fields, 1)}
    fields = [
        {"name": name, "transform": transform, "source-id": source[partition.column], "field-id": number}
        for number, partition in enumerate(layout.partitions, FIRST_PARTITION_ID)
        for name, transform in [partition_field(partition)]
    ]
    return {"spec-id": 0, "fields": fields}


def sort_json(layout: Layout) -> dict[str, Any]:
    """Order 0 is Iceberg's name for none."""
    source = {field.name: number for number, field in enumerate(layout.fields, 1)}
    fields = [
        {"transform": "identity", "source-id": source[name], "direction": "asc", "null-order": "nulls-first"}
        for name in layout.sorted_by
    ]
    return {"order-id": 1 if fields else 0, "fields": fields}


def partition_field(partition: Partition) -> tuple[str, str]:
    """Its name and its transform."""
    if partition.transform == "bucket":
        return f"{partition.column}_bucket", f"bucket[{partition.buckets}]"
    transform, ending = TRANSFORMS[partition.transform]
    return f"{partition.column}{ending}", transform


def widens_to(old: Any, new: Any) -> bool:
    """Whether a v2 table takes the new type in place of the old one: types as in `schema_json`."""
    if (old, new) == ("int", "long"):
        return True
    before, after = (DECIMAL_JSON.fullmatch(type_) if isinstance(type_, str) else None for type_ in (old, new))
    return bool(before and after and before[2] == after[2] and int(before[1]) < int(after[1]))


def parsed_type(text: str) -> Any:
    """A type of a layout in Iceberg's JSON, without ids."""
    words = list(_words(text))
    type_, rest = _type(words, text)
    if rest:
        raise UnknownType(text)
    return type_


def _words(text: str) -> Iterator[str]:
    position = 0
    while position < len(text):
        match = WORDS.match(text, position)
        if match is None:
            raise UnknownType(text)
        yield match[1]
        position = match.end()


def _type(words: list[str], text: str) -> tuple[Any, list[str]]:
    if not words:
        raise UnknownType(text)
    word, rest = words[0], words[1:]
    if word in SIMPLE:
        return SIMPLE[word], rest
    if match := DECIMAL.fullmatch(word):
        return f"decimal({match[1]}, {match[2]})", rest
    if word == "ARRAY" and rest[:1] == ["<"]:
        element, rest = _type(rest[1:], text)
        if rest[:1] == [">"]:
            return {"type": "list", "element": element, "element-required": False}, rest[1:]
    if word == "STRUCT" and rest[:1] == ["<"]:
        return _struct(rest, text)
    raise UnknownType(text)


def _struct(rest: list[str], text: str) -> tuple[Any, list[str]]:
    """Begins at `<` and goes on at each `,`."""
    fields: list[dict[str, Any]] = []
    while rest[:1] == ["<"] or (fields and rest[:1] == [","]):
        if rest[2:3] != [":"]:
            raise UnknownType(text)
        name = rest[1]
        type_, rest = _type(rest[3:], text)
        fields.append({"name": name, "required": False, "type": type_})
    if rest[:1] != [">"]:
        raise UnknownType(text)
    return {"type": "struct", "fields": fields}, rest[1:]


def _numbered(type_: Any, ids: Iterator[int]) -> Any:
    if isinstance(type_, str):
        return type_
    if type_["type"] == "list":
        number = next(ids)
        return {**type_, "element-id": number, "element": _numbered(type_["element"], ids)}
    fields = [{"id": next(ids), **field} for field in type_["fields"]]
    return {"type": "struct", "fields": [{**field, "type": _numbered(field["type"], ids)} for field in fields]}
