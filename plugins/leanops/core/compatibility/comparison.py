"""Two contracts of one topic, change by change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from leanops.core.compatibility.columns import added_column, column_changes, removed_column
from leanops.core.compatibility.report import Change, Comparison, Level, Rebuild
from leanops.core.contract.model import Column, Contract
from leanops.core.errors import LeanOpsError
from leanops.core.period import Period

SETTINGS = ("owner", "alert_route", "quality", "compute", "maintenance", "description")


def compared(old: Contract, new: Contract, rows_by_period: Mapping[Period, int] | None = None) -> Comparison:
    """What `new` changes. `rows_by_period` is what Curated holds, for the cost of a rebuild."""
    if old.topic != new.topic:
        raise LeanOpsError(
            "compare contracts",
            "they are of two topics",
            f"{old.topic}, {new.topic}",
            "Compare contracts of one topic.",
        )
    changes = tuple(_changes(old, new))
    level = max((change.level for change in changes), default=Level.COMPATIBLE)
    approval = new.approve_breaking
    return Comparison(
        old_version=old.schema_version,
        new_version=new.schema_version,
        changes=changes,
        rebuild=Rebuild(dict(rows_by_period or {})) if level >= Level.ENHANCEMENT_WITH_BACKFILL else None,
        is_approved=approval is not None and approval.from_version == old.schema_version,
        objection=_version_objection(old, new, changes),
    )


def _version_objection(old: Contract, new: Contract, changes: Iterable[Change]) -> str | None:
    if any(changes) and _numbers(new) <= _numbers(old):
        return f"the contract changed, but schema_version {new.schema_version} is not above {old.schema_version}"
    return None


def _numbers(contract: Contract) -> tuple[int, ...]:
    return tuple(map(int, contract.schema_version.split(".")))


def _changes(old: Contract, new: Contract) -> Iterator[Change]:
    yield from _columns("envelope_columns", old.envelope_columns, new.envelope_columns)
    if old.is_curated and new.is_curated:
        yield from _columns("payload_columns", old.payload_columns or (), new.payload_columns or ())
    elif new.is_curated:
        level = Level.ENHANCEMENT_WITH_BACKFILL
        yield Change("payload_columns", level, "nothing", "columns", "the topic gets a Curated table")
    elif old.is_curated:
        yield Change("payload_columns", Level.BREAKING, "columns", "nothing", "the topic loses its Curated table")
    yield from _rules(old, new)
    yield from _layout(old, new)
    for key in SETTINGS:
        if getattr(old, key) != getattr(new, key):
            yield Change(key, Level.COMPATIBLE, "as it was", "as it is", "it touches no row")


def _columns(key: str, old: tuple[Column, ...], new: tuple[Column, ...]) -> Iterator[Change]:
    before = {column.name: column for column in old}
    after = {column.name: column for column in new}
    for name, column in before.items():
        path = f"{key}.{name}"
        if name not in after:
            yield removed_column(column, path)
        else:
            yield from column_changes(column, after[name], path)
    for name, column in after.items():
        if name not in before:
            yield added_column(column, f"{key}.{name}")


def _rules(old: Contract, new: Contract) -> Iterator[Change]:
    before = {rule.name: rule for rule in old.rules}
    after = {rule.name: rule for rule in new.rules}
    for name in before.keys() - after.keys():
        reason = "rows rejected before can be replayed"
        yield Change(f"rules.{name}", Level.COMPATIBLE, before[name].check, "nothing", reason)
    for name, rule in after.items():
        if name not in before or before[name].expression != rule.expression:
            was = before[name].check if name in before else "nothing"
            reason = "rows that were valid may be rejected now"
            yield Change(f"rules.{name}", Level.BREAKING, was, rule.check, reason)


def _layout(old: Contract, new: Contract) -> Iterator[Change]:
    if old.version_column != new.version_column:
        reason = "another record of a key may be the newest"
        yield Change("version_column", Level.BREAKING, old.version_column, new.version_column, reason)
    if old.partitioning.buckets != new.partitioning.buckets:
        was, now = str(old.partitioning.buckets), str(new.partitioning.buckets)
        reason = "new files follow the new layout, old ones when they are compacted"
        yield Change("partitioning.buckets", Level.ENHANCEMENT, was, now, reason)
    if old.partitioning.history_months != new.partitioning.history_months:
        was, now = str(old.partitioning.history_months), str(new.partitioning.history_months)
        yield Change("partitioning.history_months", Level.COMPATIBLE, was, now, "it touches no row")
    if old.column_budget != new.column_budget:
        reason = "columns that exist stay; rescued values stay where they are"
        yield Change("column_budget", Level.ENHANCEMENT, str(old.column_budget), str(new.column_budget), reason)
    for key in ("raw_days", "error_days", "snapshot_days"):
        was, now = getattr(old.retention, key), getattr(new.retention, key)
        if was != now:
            shorter = now < was and key == "raw_days"
            reason = "older records are deleted and no rebuild can bring them back" if shorter else "it touches no row"
            level = Level.BREAKING if shorter else Level.COMPATIBLE
            yield Change(f"retention.{key}", level, str(was), str(now), reason)
