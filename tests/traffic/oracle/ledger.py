"""The truth about a stream: what became of each record, and what the tables hold in the end.

Batches are taken in one after another; after each, its accepted rows are curated. Curated shows a key only at the
version that Standardized has: where that one is rejected, the key is not in Curated. So what the tables hold does not
depend on how the stream was split.

`first_seen_ts` is the smallest publish_time of the key among all RAW records with a valid payload, whatever became of
them, and `first_period_reference` that record's period (the smallest, where several share the time).
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import NamedTuple, TypeAlias

from tests.traffic.message import Message
from tests.traffic.oracle.casts import Value
from tests.traffic.oracle.checks import Findings, Violation, examine
from tests.traffic.oracle.contract import Contract
from tests.traffic.oracle.payload import ParseError, parse
from tests.traffic.oracle.records import Raw, Record, Version, raw, record
from tests.traffic.oracle.treatments import treated

Row: TypeAlias = dict[str, Value | None]


class Outcome(NamedTuple):
    batch: int
    message: Message
    message_id: str
    key: str | None
    disposition: str
    reason: str | None


class Rejection(NamedTuple):
    batch: int
    key: str | None
    version: Version
    violations: tuple[Violation, ...]


@dataclass(frozen=True)
class Truth:
    """Rows without a key are in none of the dictionaries: each stands for itself."""

    standardized: dict[str, Version]
    keyless: list[Version]
    curated: dict[str, Row]
    curated_keyless: list[Row]
    rejected: list[Rejection]
    first: dict[str, tuple[datetime, str]]


@dataclass
class Ledger:
    contract: Contract
    pii_key: bytes = b""
    _batches: set[int] = field(default_factory=set)
    _taken_in: set[tuple[str, datetime]] = field(default_factory=set)
    _standardized: dict[str, Version] = field(default_factory=dict)
    _keyless: list[Version] = field(default_factory=list)
    _curated: dict[str, Row] = field(default_factory=dict)
    _curated_keyless: list[Row] = field(default_factory=list)
    _rejected: list[Rejection] = field(default_factory=list)
    _first: dict[str, tuple[datetime, str]] = field(default_factory=dict)

    def take(self, batch: int, messages: Iterable[Message]) -> list[Outcome]:
        """The outcome of each message of the batch, in the order given."""
        if batch in self._batches:
            raise ValueError(f"Cannot take batch, it was taken before: {batch}")
        self._batches.add(batch)
        deliveries = list(messages)
        raws = [raw(message) for message in deliveries]
        reasons, records = _parsed(self.contract, raws)
        chosen = self._chosen(records)
        newest = _newest(records[position] for position in chosen)
        dispositions: dict[int, str] = dict.fromkeys(reasons, "parse_error")
        for position, one in records.items():
            dispositions[position] = self._disposition(one, position in chosen, newest)
        for position, one in records.items():
            self._note(one)
            if dispositions[position] == "accepted":
                self._judge(batch, one)
        self._taken_in.update(_message(records[position]) for position in chosen)
        return [
            Outcome(
                batch,
                message,
                raws[position].message_id,
                records[position].key if position in records else None,
                dispositions[position],
                reasons.get(position),
            )
            for position, message in enumerate(deliveries)
        ]

    def truth(self) -> Truth:
        for key, row in self._curated.items():
            publish_time, period = self._first[key]
            row.update(first_seen_ts=publish_time, first_period_reference=period)
        return Truth(
            standardized=dict(self._standardized),
            keyless=list(self._keyless),
            curated={key: dict(row) for key, row in self._curated.items()},
            curated_keyless=list(self._curated_keyless),
            rejected=list(self._rejected),
            first=dict(self._first),
        )

    def _chosen(self, records: dict[int, Record]) -> set[int]:
        """Of each message that was not taken in before, the delivery that is."""
        best: dict[tuple[str, datetime], int] = {}
        for position, one in records.items():
            message = _message(one)
            if message in self._taken_in:
                continue
            if message not in best or _delivery(one) < _delivery(records[best[message]]):
                best[message] = position
        return set(best.values())

    def _disposition(self, one: Record, is_chosen: bool, newest: dict[str, Version]) -> str:
        if not is_chosen:
            return "network_duplicate"
        if one.key is None:
            return "accepted"
        if one.version < newest[one.key]:
            return "superseded"
        held = self._standardized.get(one.key)
        return "stale" if held is not None and one.version < held else "accepted"

    def _note(self, one: Record) -> None:
        if one.key is None:
            return
        candidate = (one.raw.publish_time, one.period)
        self._first[one.key] = min(candidate, self._first.get(one.key, candidate))

    def _judge(self, batch: int, one: Record) -> None:
        findings = examine(self.contract, one)
        if one.key is None:
            self._keyless.append(one.version)
        else:
            self._standardized[one.key] = one.version
            self._curated.pop(one.key, None)
        if findings.violations:
            self._rejected.append(Rejection(batch, one.key, one.version, findings.violations))
        elif one.key is None:
            first: Row = {"first_seen_ts": one.raw.publish_time, "first_period_reference": one.period}
            self._curated_keyless.append(self._row(one, findings) | first)
        else:
            self._curated[one.key] = self._row(one, findings)

    def _row(self, one: Record, findings: Findings) -> Row:
        row = {
            column.name: treated(column, findings.texts[column.name], findings.values[column.name], self.pii_key)
            for column in self.contract.columns
            if column.treatment != "drop"
        }
        if "period_reference" in row:
            row["period_reference"] = one.period
        return row


def truth(messages: Iterable[Message], contract: Contract, pii_key: bytes = b"") -> tuple[list[Outcome], Truth]:
    """Outcomes and end state of a stream of one topic whose messages are in the order of their batches."""
    ledger = Ledger(contract, pii_key)
    outcomes = [outcome for batch, group in _batches(messages) for outcome in ledger.take(batch, group)]
    return outcomes, ledger.truth()


def _batches(messages: Iterable[Message]) -> Iterator[tuple[int, list[Message]]]:
    for batch, group in groupby(messages, key=lambda message: message.batch):
        yield batch, list(group)


def _parsed(contract: Contract, raws: list[Raw]) -> tuple[dict[int, str], dict[int, Record]]:
    reasons: dict[int, str] = {}
    records: dict[int, Record] = {}
    for position, source in enumerate(raws):
        try:
            records[position] = record(contract, source, parse(source.json_payload))
        except ParseError as error:
            reasons[position] = error.reason
    return reasons, records


def _newest(records: Iterable[Record]) -> dict[str, Version]:
    newest: dict[str, Version] = {}
    for one in records:
        if one.key is not None and (one.key not in newest or one.version > newest[one.key]):
            newest[one.key] = one.version
    return newest


def _message(one: Record) -> tuple[str, datetime]:
    return one.raw.message_id, one.raw.publish_time


def _delivery(one: Record) -> tuple[int, str]:
    return one.raw.ingestion_ts, hashlib.md5((one.raw.json_payload or "").encode()).hexdigest()
