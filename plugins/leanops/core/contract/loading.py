"""A contract's text to a Contract, or InvalidContract with every fault at once."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from leanops.core import flatten
from leanops.core.contract.columns import column_of
from leanops.core.contract.model import (
    AlertRoute,
    Approval,
    Column,
    Compute,
    Contract,
    Maintenance,
    Owner,
    Partitioning,
    Quality,
    Retention,
    RowRule,
)
from leanops.core.contract.schema import ENVELOPE_TYPES, MESSAGE_COLUMNS
from leanops.core.contract.structure import structural_faults
from leanops.core.errors import Fault, InvalidContract, InvalidExpression, InvalidName, shown
from leanops.core.expression import parsed
from leanops.core.naming import valid_topic

PARTITION_LIMIT = 20_000
REQUIRED_ENVELOPE = ("message_id", "publish_time", "idempotency_key")


class _Refused(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def load(text: str, source: str = "schema.json") -> Contract:
    """The contract in this text; `source` names it in errors."""
    try:
        document = json.loads(
            text.removeprefix("\ufeff"), parse_float=Decimal, parse_constant=_refused, object_pairs_hook=_object
        )
    except json.JSONDecodeError as error:
        where = f"line {error.lineno} column {error.colno}"
        raise InvalidContract(source, [Fault(where, error.msg, "JSON", "Mend the JSON.")]) from error
    except RecursionError as error:
        raise InvalidContract(source, [Fault("contract", "deep nesting", "JSON", "Mend the JSON.")]) from error
    except _Refused as error:
        raise InvalidContract(source, [error.fault]) from error
    return loaded(document, source)


def loaded(document: Any, source: str = "schema.json") -> Contract:
    """The contract in this parsed JSON."""
    faults = structural_faults(document)
    if not isinstance(document, dict):
        raise InvalidContract(source, faults)
    reader = _Reader(document, faults)
    reader.read()
    if reader.faults:
        raise InvalidContract(source, sorted(set(reader.faults)))
    return reader.contract()


def _refused(word: str) -> Any:
    raise _Refused(Fault("contract", word, "JSON numbers", "Write a number."))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    twice = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    if twice:
        raise _Refused(
            Fault("contract", f"the key {shown(twice[0])} twice in one object", "each key once", "Drop one.")
        )
    return dict(pairs)


def _quality(entry: dict[str, Any]) -> Quality:
    """A stricter maximum than the default draws the default warning down with it."""
    ratios = {key: Decimal(str(value)) for key, value in entry.items()}
    if "max_rejected_ratio" in ratios:
        ratios.setdefault("warn_rejected_ratio", min(Quality.warn_rejected_ratio, ratios["max_rejected_ratio"]))
    return Quality(**ratios)


class _Reader:
    """Checks what JSON Schema cannot say. Parts whose form is wrong are left out: their faults stand already."""

    def __init__(self, document: dict[str, Any], faults: list[Fault]) -> None:
        self.document = document
        self.faults = list(faults)
        self._misshapen = [fault.path for fault in faults]
        self._envelope: list[Column] = []
        self._payload: list[Column] = []
        self._rules: list[RowRule] = []
        self._unread = False

    def read(self) -> None:
        if self._sound("table_name"):
            try:
                valid_topic(self.document["table_name"])
            except InvalidName as error:
                self._add("table_name", f"{shown(error.name)}, {error.reason}", "another name", error.remedy)
        self._envelope = self._columns("envelope_columns")
        self._payload = self._columns("payload_columns")
        self._check_envelope()
        self._check_names()
        self._check_paths()
        self._read_rules()
        self._check_settings()

    def contract(self) -> Contract:
        document = self.document
        approval = document.get("approve_breaking")
        names = {column.name for column in self._envelope}
        return Contract(
            topic=document["table_name"],
            schema_version=document["schema_version"],
            owner=Owner(**document["owner"]),
            alert_route=AlertRoute(**document["alert_route"]),
            envelope_columns=tuple(self._envelope),
            payload_columns=tuple(self._payload) if "payload_columns" in document else None,
            rules=tuple(self._rules),
            description=document.get("description"),
            version_column=document.get(
                "version_column", "last_updated_ts" if "last_updated_ts" in names else "publish_time"
            ),
            partitioning=Partitioning(**document.get("partitioning", {})),
            column_budget=document.get("column_budget", 500),
            quality=_quality(document.get("quality", {})),
            compute=Compute(**document.get("compute", {})),
            retention=Retention(**document.get("retention", {})),
            maintenance=Maintenance(**document.get("maintenance", {})),
            approve_breaking=Approval(**approval) if approval else None,
        )

    def _sound(self, path: str) -> bool:
        """Whether the key is there and nothing in it is misshapen."""
        inside = (path, f"{path}.", f"{path}[")
        key = path.partition("[")[0].partition(".")[0]
        return key in self.document and not any(p == path or p.startswith(inside[1:]) for p in self._misshapen)

    def _add(self, path: str, found: str, allowed: str, remedy: str) -> None:
        self.faults.append(Fault(path, found, allowed, remedy))

    def _columns(self, key: str) -> list[Column]:
        entries = self.document.get(key)
        columns: list[Column] = []
        for index, entry in enumerate(entries if isinstance(entries, list) else []):
            where = f"{key}[{index}]"
            if self._sound(where) and (column := column_of(entry, self.faults, where)):
                columns.append(column)
            else:
                self._unread = True
        self._unread |= not self._sound(key)
        return columns

    def _check_envelope(self) -> None:
        if not self._sound("envelope_columns"):
            return
        for index, column in enumerate(self._envelope):
            where = f"envelope_columns[{index}]"
            fixed = ENVELOPE_TYPES[column.name]
            if str(column.type) != fixed:
                self._add(f"{where}.type", shown(str(column.type)), fixed, f"Write {fixed}.")
            if column.name in MESSAGE_COLUMNS and column.path is not None:
                self._add(f"{where}.json_path", "a path", "none", f"Drop it: the message itself has {column.name}.")
            if column.name not in MESSAGE_COLUMNS and column.path is None:
                self._add(f"{where}.json_path", "nothing", "keys from the payload's root", "Add 'json_path'.")
            if column.name in REQUIRED_ENVELOPE and not column.cde:
                self._add(f"{where}.cde", "no CDE", "true", f"Write 'cde': true: rows are found by {column.name}.")
        names = {column.name for column in self._envelope}
        for name in REQUIRED_ENVELOPE:
            if name not in names:
                self._add("envelope_columns", f"no {name}", ", ".join(ENVELOPE_TYPES), f"Add the column {name!r}.")
        if self.document.get("version_column", "publish_time") not in names | {"publish_time"}:
            found = "'last_updated_ts', which is no envelope column"
            self._add("version_column", found, "a column of the envelope", "Add the column, or use publish_time.")

    def _named(self) -> Iterator[tuple[str, Column]]:
        for key, columns in (("envelope_columns", self._envelope), ("payload_columns", self._payload)):
            entries = self.document.get(key, [])
            for column in columns:
                index = next(
                    i for i, entry in enumerate(entries) if isinstance(entry, dict) and entry.get("name") == column.name
                )
                yield f"{key}[{index}]", column

    def _check_names(self) -> None:
        counts = Counter(column.name for column in (*self._envelope, *self._payload))
        for name, count in counts.items():
            if count > 1:
                self._add("columns", f"{count} columns named {shown(name)}", "each name once", "Rename one.")
        for where, column in self._named():
            if where.startswith("payload") and column.name in flatten.RESERVED:
                self._add(f"{where}.name", f"{shown(column.name)}, a column of lean-ops", "another name", "Rename it.")

    def _check_paths(self) -> None:
        owners: dict[str, tuple[str, flatten.Path]] = {}
        for where, column in self._named():
            if column.path is None:
                continue
            name = flatten.column_name(column.path)
            first, path = owners.setdefault(name, (where, column.path))
            if path != column.path:
                found = f"a path that shares the column {name} with {first}"
                self._add(
                    f"{where}.json_path", found, "paths whose names differ in Standardized", "Declare one of them."
                )

    def _read_rules(self) -> None:
        rules = self.document.get("rules")
        if not self._sound("rules") or not isinstance(rules, list):
            return
        if "payload_columns" not in self.document:
            self._add("rules", "rules without payload_columns", "rules over Curated's columns", "Drop the rules.")
            return
        types = {column.name: column.type for column in (*self._envelope, *self._payload)}
        seen: set[str] = set()
        for index, rule in enumerate(rules):
            if rule["name"] in seen:
                self._add(f"rules[{index}].name", f"{shown(rule['name'])} again", "each name once", "Rename it.")
            seen.add(rule["name"])
            if self._unread:
                continue  # a column it names may be among those that could not be read
            try:
                self._rules.append(RowRule(rule["name"], rule["check"], parsed(rule["check"], types)))
            except InvalidExpression as error:
                found = f"{shown(error.text)}, {error.reason}"
                self._add(
                    f"rules[{index}].check", found, "columns, literals, and or not, = != < <= > >=, + - *", error.remedy
                )

    def _check_settings(self) -> None:
        partitioning = Partitioning(**self.document["partitioning"]) if self._sound("partitioning") else Partitioning()
        partitions = partitioning.history_months * partitioning.buckets
        if partitions > PARTITION_LIMIT:
            found = f"{partitions} partitions (history_months times buckets)"
            self._add("partitioning", found, f"up to {PARTITION_LIMIT}", "Use fewer buckets.")
        declared = len(self._envelope) + len(self._payload)
        budget = self.document.get("column_budget", 500)
        if self._sound("column_budget") and budget < declared:
            self._add("column_budget", str(budget), f"at least {declared}, the declared columns", "Raise it.")
        if self._sound("quality"):
            quality = _quality(self.document["quality"])
            if quality.warn_rejected_ratio > quality.max_rejected_ratio:
                found = f"{quality.warn_rejected_ratio} above max_rejected_ratio {quality.max_rejected_ratio}"
                self._add("quality.warn_rejected_ratio", found, "up to max_rejected_ratio", "Lower it.")
        if self._sound("retention"):
            retention = Retention(**self.document["retention"])
            if retention.snapshot_days > retention.raw_days:
                found = f"{retention.snapshot_days} days, RAW is kept {retention.raw_days}"
                self._add("retention.snapshot_days", found, "up to raw_days", "Lower it, or raise raw_days.")
        if self._sound("approve_breaking") and self._sound("schema_version"):
            version = self.document["schema_version"]
            if self.document["approve_breaking"]["from_version"] == version:
                path, found = "approve_breaking.from_version", f"{version}, this version itself"
                self._add(path, found, "the active version", "Name the version it replaces.")
