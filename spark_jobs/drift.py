"""How a topic's payloads change: columns that come, go, or carry another kind of value.

The log itself is the memory: a column's state before a batch is its last entry below that batch. So a batch that is
done again finds what it found the first time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from spark_jobs.flat_rows import Census, Sighted

# Below this, a column's absence says little.
REMOVAL_RECORDS = 100
# A column in fewer records than this share is rare by nature: its absence is not news.
REGULAR_SHARE = 0.5


class Action(StrEnum):
    ADDED = "ADDED"
    RESCUED = "RESCUED"
    REMOVED = "REMOVED"
    TYPE_CHANGED = "TYPE_CHANGED"
    UNKNOWN = "UNKNOWN"


class Change(NamedTuple):
    column_name: str
    json_path: str
    action: Action
    old_value: str | None
    new_value: str | None
    details: str


class Entry(NamedTuple):
    """A line of the log, as far as it tells a column's state."""

    batch: int
    column_name: str
    action: str
    new_value: str | None
    details: str


@dataclass(frozen=True)
class State:
    shapes: frozenset[str]
    is_regular: bool
    is_gone: bool = False


def states(entries: Iterable[Entry]) -> dict[str, State]:
    """What the log knows of each column; entries of one batch are one line per column."""
    known: dict[str, State] = {}
    for entry in sorted(entries):
        before = known.get(entry.column_name)
        if entry.action == Action.REMOVED:
            known[entry.column_name] = State(before.shapes if before else frozenset(), True, is_gone=True)
        elif entry.action == Action.TYPE_CHANGED:
            known[entry.column_name] = State(_shapes(entry.new_value), before.is_regular if before else False)
        elif entry.action in (Action.ADDED, Action.RESCUED):
            known[entry.column_name] = State(
                _shapes(entry.new_value), json.loads(entry.details)["share"] >= REGULAR_SHARE
            )
    return known


def changes(census: Census, known: Mapping[str, State], kept: Collection[str]) -> Iterator[Change]:
    """What this batch changes. `kept` are the columns that the table has for it."""
    for name, seen in sorted(census.columns.items()):
        yield from _sighted(name, seen, known.get(name), census.valid, name in kept)
    if census.valid < REMOVAL_RECORDS:
        return
    for name, state in sorted(known.items()):
        if state.is_regular and not state.is_gone and name not in census.columns:
            details = _details(records=0, of=census.valid)
            yield Change(name, "", Action.REMOVED, _text(state.shapes), None, details)


def _sighted(name: str, seen: Sighted, state: State | None, valid: int, is_kept: bool) -> Iterator[Change]:
    path = json.dumps(seen.path, ensure_ascii=False)
    details = _details(records=seen.records, of=valid, share=round(seen.records / valid, 4))
    if state is None or state.is_gone:
        before = state.shapes if state else frozenset()
        action = Action.ADDED if is_kept else Action.RESCUED
        yield Change(name, path, action, None, _text(before | seen.kinds), details)
    elif not seen.kinds <= state.shapes:
        yield Change(name, path, Action.TYPE_CHANGED, _text(state.shapes), _text(state.shapes | seen.kinds), details)


def _text(shapes: frozenset[str]) -> str | None:
    """Shapes only accumulate, so that a source which mixes them is logged once."""
    return "/".join(sorted(shapes)) or None


def _shapes(text: str | None) -> frozenset[str]:
    return frozenset(text.split("/")) if text else frozenset()


def _details(**facts: float) -> str:
    return json.dumps(facts)
