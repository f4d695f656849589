"""A record against its contract: the typed values, or every rule that it violates."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from tests.traffic.oracle.casts import NotOfType, Value, cast
from tests.traffic.oracle.contract import Column, Contract
from tests.traffic.oracle.payload import text_at
from tests.traffic.oracle.records import Record, is_period


class Violation(NamedTuple):
    """The value is the text as it came. A rule over several columns belongs to none: column and value are None."""

    column: str | None
    rule: str
    value: str | None


@dataclass(frozen=True)
class Findings:
    texts: dict[str, str | None]
    values: dict[str, Value | None]
    violations: tuple[Violation, ...]


def examine(contract: Contract, record: Record) -> Findings:
    texts: dict[str, str | None] = {}
    values: dict[str, Value | None] = {}
    violations: list[Violation] = []
    uncast: set[str] = set()
    for column in contract.columns:
        text = _text(column, record)
        texts[column.name] = text
        values[column.name] = None
        if _missing(column, text):
            if column.cde or column.required:
                violations.append(Violation(column.name, "cde" if column.cde else "not_null", text))
            continue
        assert text is not None
        try:
            value = cast(text, column.type)
        except NotOfType:
            uncast.add(column.name)
            violations.append(Violation(column.name, "cast", text))
            continue
        values[column.name] = value
        violations.extend(Violation(column.name, rule, text) for rule in _broken(column, text, value))
    for name, expression in contract.rules.items():
        if not expression.columns & uncast and expression(values) is False:
            violations.append(Violation(None, f"rule:{name}", None))
    period = text_at(record.document, contract.period_path)
    if period is not None and not is_period(period):
        violations.append(Violation("period_reference", "period", period))
    return Findings(texts, values, tuple(violations))


def _text(column: Column, record: Record) -> str | None:
    if column.path is not None:
        text = text_at(record.document, column.path)
    else:
        raw = record.raw
        envelope: dict[str, str] = {
            "message_id": raw.message_id,
            "topic_name": raw.topic_name,
            "publish_time": raw.publish_time_text,
            "ingestion_ts": str(raw.ingestion_ts),
        }
        text = envelope[column.name]
    return column.default if text is None and not column.cde else text


def _missing(column: Column, text: str | None) -> bool:
    return text is None or (column.cde and not text.strip())


def _broken(column: Column, text: str, value: Value) -> list[str]:
    broken = []
    if column.enum is not None and value not in [cast(option, column.type) for option in column.enum]:
        broken.append("enum")
    if (column.least or column.most) and not _in_range(column, value):
        broken.append("range")
    if column.regex is not None and not re.fullmatch(column.regex, text, re.ASCII):
        broken.append("regex")
    if len(text) < (column.shortest or 0) or (column.longest is not None and len(text) > column.longest):
        broken.append("length")
    return broken


def _in_range(column: Column, value: Value) -> bool:
    least, most = _bound(column, column.least), _bound(column, column.most)
    return (least is None or least <= value) and (most is None or value <= most)  # type: ignore[operator]


def _bound(column: Column, text: str | None) -> Value | None:
    if text is None:
        return None
    # `-0.5` is a fair bound of an INT, though not an INT.
    return cast(text, "DECIMAL(38,10)" if column.type in ("INT", "BIGINT") or "DECIMAL" in column.type else column.type)
