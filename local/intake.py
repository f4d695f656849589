"""Standardizing in memory with the core's rules: what the demo shows until the Spark jobs stand in its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from leanops.core import flatten
from leanops.core.accounting import RawBalance, RawDisposition
from leanops.core.contract import Contract
from leanops.core.errors import UnreadablePayload
from leanops.core.version import Version


class RawRecord(NamedTuple):
    message_id: str
    publish_time: datetime
    ingestion_ts: int
    json_payload: str | None


@dataclass
class Intake:
    """One topic's Standardized table as dictionaries."""

    contract: Contract
    columns: set[str] = field(default_factory=set)
    versions: dict[str, Version] = field(default_factory=dict)
    parse_errors: Counter[str] = field(default_factory=Counter)
    _taken: set[str] = field(default_factory=set)

    def take(self, records: Iterable[RawRecord]) -> RawBalance:
        """Takes a batch in and returns its proven balance."""
        dispositions: list[RawDisposition] = []
        readable: dict[str, list[tuple[RawRecord, str | None, Version]]] = {}
        seen: set[str] = set()
        total = 0
        for record in records:
            total += 1
            try:
                row = flatten.flatten(record.json_payload, self.contract.owners)
            except UnreadablePayload as error:
                self.parse_errors[error.reason_code] += 1
                dispositions.append(RawDisposition.PARSE_ERROR)
                continue
            seen |= row.columns.keys()
            readable.setdefault(record.message_id, []).append((record, *self._identity(record, row)))
        self.columns.update(flatten.columns_to_add(self.columns, seen, self.contract.column_budget))

        newest: dict[str, Version] = {}
        for message_id, deliveries in readable.items():
            dispositions.extend([RawDisposition.NETWORK_DUPLICATE] * (len(deliveries) - 1))
            if message_id in self._taken:
                dispositions.append(RawDisposition.NETWORK_DUPLICATE)
                continue
            self._taken.add(message_id)
            first = min(deliveries, key=lambda delivery: (delivery[0].ingestion_ts, delivery[0].json_payload or ""))
            _, key, version = first
            if key is None:
                dispositions.append(RawDisposition.ACCEPTED)
            elif key in newest:
                dispositions.append(RawDisposition.SUPERSEDED)
                newest[key] = max(newest[key], version)
            else:
                newest[key] = version
        for key, version in newest.items():
            if key in self.versions and self.versions[key] > version:
                dispositions.append(RawDisposition.STALE)
            else:
                self.versions[key] = version
                dispositions.append(RawDisposition.ACCEPTED)

        balance = RawBalance.of(total, dispositions)
        balance.prove()
        return balance

    def _identity(self, record: RawRecord, row: flatten.FlatRow) -> tuple[str | None, Version]:
        key = self._value("idempotency_key", row)
        updated = self._value(self.contract.version_column, row)
        version = Version.of(updated, record.publish_time, record.ingestion_ts, record.message_id)
        return (key if key and key.strip() else None), version

    def _value(self, name: str, row: flatten.FlatRow) -> str | None:
        column = self.contract.by_name.get(name)
        return None if column is None else row.columns.get(self.contract.standardized_column(column))
