"""Typed errors. Every message reads «Cannot <verb>, <reason>: <subject>. <next step>»."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SHOWN_CHARACTERS = 80


def shown(value: Any) -> str:
    """A value as an error may print it: one line, escaped, cut where it is long."""
    text = value if isinstance(value, str) else str(value)
    escaped = ascii(text)[1:-1] if isinstance(value, str) else text
    if len(escaped) > SHOWN_CHARACTERS:
        escaped = f"{escaped[:SHOWN_CHARACTERS]}… ({len(text)} characters)"
    return f"'{escaped}'" if isinstance(value, str) else escaped


class LeanOpsError(Exception):
    """What went wrong, with what, and what to do next; the parts stay readable as fields."""

    def __init__(self, verb: str, reason: str, subject: str, remedy: str) -> None:
        self.verb = verb
        self.reason = reason
        self.subject = subject
        self.remedy = remedy
        super().__init__(f"Cannot {verb}, {reason}: {subject}. {remedy}")


class InvalidName(LeanOpsError):
    def __init__(self, kind: str, name: object, reason: str, remedy: str) -> None:
        self.kind = kind
        self.name = name
        super().__init__(f"use {kind}", reason, shown(name), remedy)


class InvalidPeriod(LeanOpsError):
    def __init__(self, value: object) -> None:
        self.value = value
        super().__init__(
            "read period", "it is not YYYY-MM", shown(value), "Give a year from 1970 to 9999 and a month from 01 to 12."
        )


class InvalidExpression(LeanOpsError):
    def __init__(self, text: str, position: int, reason: str, remedy: str) -> None:
        self.text = text
        self.position = position
        super().__init__("read rule", f"{reason} at character {position + 1}", shown(text), remedy)


class UnreadablePayload(LeanOpsError):
    """A payload that becomes a parse error. `reason_code` is from `flatten.ParseReason`."""

    def __init__(self, reason_code: str, reason: str, position: int | None, remedy: str) -> None:
        self.reason_code = reason_code
        self.position = position
        where = "payload" if position is None else f"payload at character {position + 1}"
        super().__init__("flatten record", reason, where, remedy)


class UnbalancedBatch(LeanOpsError):
    def __init__(self, identity: str, expected: int, found: int) -> None:
        self.identity = identity
        self.expected = expected
        self.found = found
        super().__init__(
            "close batch",
            f"{identity} does not balance",
            f"{expected} expected, {found} found, difference {found - expected}",
            "Do not publish; compare RAW with the tables by message_id to name the records.",
        )


@dataclass(frozen=True, order=True)
class Fault:
    """One thing wrong with a contract, for the person who wrote it."""

    path: str
    found: str
    allowed: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path}: found {self.found}; allowed: {self.allowed}. {self.remedy}"


class InvalidContract(LeanOpsError):
    def __init__(self, source: str, faults: Sequence[Fault]) -> None:
        self.source = source
        self.faults = tuple(faults)
        count = f"{len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}"
        super().__init__(
            "load contract", count, source, "\n".join(["Mend all of:", *(f"  - {fault}" for fault in self.faults)])
        )
