"""Changes of one column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from leanops.core.compatibility.report import Change, Level
from leanops.core.contract.model import Column, Length, Range

REPLAY = "rows rejected before can be replayed"
REJECTS = "rows that were valid would be rejected now"


def column_changes(old: Column, new: Column, path: str) -> Iterator[Change]:
    if old.path != new.path:
        yield Change(
            f"{path}.json_path",
            Level.BREAKING,
            _path(old),
            _path(new),
            "the column takes another value, in old rows too",
        )
    if old.type != new.type:
        yield _type_change(old, new, path)
    if old.pii != new.pii:
        reason = "old rows hold the value under the earlier treatment"
        yield Change(f"{path}.pii", Level.BREAKING, _shown(old.pii), _shown(new.pii), reason)
    if old.default != new.default:
        reason = "old rows keep what they have until they are redone"
        level = Level.ENHANCEMENT_WITH_BACKFILL
        yield Change(f"{path}.default", level, _shown(old.default), _shown(new.default), reason)
    yield from _presence_changes(old, new, path)
    yield from _limit_changes(old, new, path)


def _type_change(old: Column, new: Column, path: str) -> Change:
    if old.type.widens_to(new.type):
        level, reason = Level.COMPATIBLE, f"Iceberg promotes it in place; {REPLAY}"
    else:
        level, reason = Level.BREAKING, "Iceberg cannot promote it in place"
    return Change(f"{path}.type", level, str(old.type), str(new.type), reason)


def _presence_changes(old: Column, new: Column, path: str) -> Iterator[Change]:
    if old.may_be_missing != new.may_be_missing:
        words = {True: "may be missing", False: "may not be missing"}
        level, reason = (Level.COMPATIBLE, REPLAY) if new.may_be_missing else (Level.BREAKING, REJECTS)
        yield Change(path, level, words[old.may_be_missing], words[new.may_be_missing], reason)
    elif old.cde != new.cde:
        level, reason = (Level.BREAKING, "blank text counts as missing") if new.cde else (Level.COMPATIBLE, REPLAY)
        yield Change(f"{path}.cde", level, _shown(old.cde), _shown(new.cde), reason)


def _limit_changes(old: Column, new: Column, path: str) -> Iterator[Change]:
    checks: tuple[tuple[str, Callable[[Column, Column], bool]], ...] = (
        ("enum", lambda a, b: not b.enum or (bool(a.enum) and set(a.enum) <= set(b.enum))),
        ("range", lambda a, b: _contains(_ends(b.range), _ends(a.range))),
        ("length", lambda a, b: _contains(_ends(b.length), _ends(a.length))),
        ("regex", lambda a, b: b.regex is None),
    )
    for key, is_wider in checks:
        before, after = getattr(old, key), getattr(new, key)
        if before == after or (key == "enum" and set(before) == set(after)):
            continue
        level, reason = (Level.COMPATIBLE, REPLAY) if is_wider(old, new) else (Level.BREAKING, REJECTS)
        yield Change(f"{path}.{key}", level, _shown(before), _shown(after), reason)


def _ends(limits: Range | Length | None) -> tuple[Any, Any]:
    return (None, None) if limits is None else (limits.minimum, limits.maximum)


def _contains(outer: tuple[Any, Any], inner: tuple[Any, Any]) -> bool:
    low = outer[0] is None or (inner[0] is not None and outer[0] <= inner[0])
    high = outer[1] is None or (inner[1] is not None and outer[1] >= inner[1])
    return low and high


def added_column(column: Column, path: str) -> Change:
    if column.may_be_missing or column.default is not None:
        level, reason = Level.ENHANCEMENT_WITH_BACKFILL, "RAW may hold values for old rows"
    else:
        level, reason = Level.BREAKING, "old rows lack it, though it may not be missing"
    return Change(path, level, "nothing", str(column.type), reason)


def removed_column(column: Column, path: str) -> Change:
    return Change(path, Level.BREAKING, str(column.type), "nothing", "readers of the column fail")


def _path(column: Column) -> str:
    return "nothing" if column.path is None else ".".join(("$", *column.path))


def _shown(value: object) -> str:
    match value:
        case None | ():
            return "nothing"
        case Range(low, high) | Length(low, high):
            return f"{'any' if low is None else low} to {'any' if high is None else high}"
        case tuple():
            return ", ".join(map(str, value))
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
    treatment, keep = getattr(value, "treatment", value), getattr(value, "keep", None)
    return f"{treatment}" if keep is None else f"{treatment} to {keep}"
