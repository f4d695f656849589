"""Payloads as columns: what `leanops.core.flatten` says of each, at the speed of a typed decoder.

A record whose paths are known is decoded by a learned shape and handled column by column. Every record that this can't
prove right goes through the reference itself.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import NoneType
from typing import Any, Final

import numpy as np
import pyarrow as pa

from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import (
    Digits,
    FlatRow,
    Path,
    column_name,
    flatten,
    leaves,
    marked_name,
    parse,
)
from spark_jobs.payloads import Payloads
from spark_jobs.shape import Reading, Shape, learned_paths
from spark_jobs.tokens import Kind, Numbers, TokenReader

TEXT: Final = pa.string()
EXTRA: Final = pa.map_(TEXT, TEXT)
SLOW_SHARE: Final = 0.05
LEARNINGS_PER_CALL: Final = 4
SHAPES: Final = 4
KIND_BY_TYPE: Final[Mapping[type, Kind]] = {
    Digits: Kind.NUMBER,
    str: Kind.TEXT,
    bool: Kind.BOOLEAN,
    list: Kind.ARRAY,
    dict: Kind.OBJECT,
    NoneType: Kind.NULL,
}


@dataclass(frozen=True)
class Sighting:
    """Where a column's values come from, and how many are of which JSON kind."""

    path: Path
    shapes: Mapping[str, int]


@dataclass(frozen=True)
class Flattened:
    """One entry per text. `extra` has by name what has no column of its own; a JSON null is an entry without value."""

    columns: dict[str, Any]
    extra: Any
    rescued: Any
    reason: Any
    detail: Any
    position: Any
    census: dict[str, Sighting]


class Flattener:
    """Remembers the shapes that it has seen: one instance should serve many calls."""

    def __init__(self, owners: Mapping[str, Path], columns: Sequence[str]) -> None:
        self._owners = owners
        self._columns = columns
        self._shapes: list[Shape] = []
        self._reader = TokenReader()

    def flattened(self, texts: Any) -> Flattened:
        """`texts` is an Arrow array of string or large_string. Each becomes what the reference makes of it."""
        payloads = Payloads(texts)
        readings = self._readings(payloads)
        census = _Census()
        proven = np.zeros(payloads.count, np.bool_)
        for reading in readings:
            proven[reading.rows[reading.proven]] = True
            census.add_reading(reading)
        referred = _Referred(payloads, np.flatnonzero(~proven), self._owners, census)
        return _assembled(payloads.count, self._columns, readings, referred, census.sightings())

    def _readings(self, payloads: Payloads) -> list[Reading]:
        pending = payloads.candidates
        readings: dict[Shape, Reading] = {}

        def read(shape: Shape) -> int:
            nonlocal pending
            reading = shape.reading(payloads.records(pending), payloads.quotes, self._reader)
            readings[shape] = reading
            pending = np.setdiff1d(pending, reading.rows[reading.proven], assume_unique=True)
            return reading.hits

        for shape in self._shapes:
            read(shape)
        for _ in range(LEARNINGS_PER_CALL):
            if len(pending) <= SLOW_SHARE * payloads.count:
                break
            learned = self._learned(payloads, pending)
            if learned is None or not read(learned):
                break
            self._shapes.append(learned)
        self._shapes.sort(key=lambda shape: readings[shape].hits, reverse=True)
        del self._shapes[SHAPES:]
        return [reading for reading in readings.values() if reading.hits]

    def _learned(self, payloads: Payloads, pending: Numbers) -> Shape | None:
        known = dict.fromkeys(chain.from_iterable(shape.paths for shape in self._shapes))
        paths = learned_paths(payloads.sample(pending), list(known))
        if paths is None:
            return None
        learned = Shape(paths, self._owners)
        return None if any(set(learned.paths) == set(shape.paths) for shape in self._shapes) else learned


class _Referred:
    """The rows that were left to the reference."""

    def __init__(self, payloads: Payloads, rows: Numbers, owners: Mapping[str, Path], census: _Census) -> None:
        self.rows = rows
        self._flat: list[FlatRow] = []
        self._errors: list[tuple[str | None, str | None, int | None]] = []
        for row in rows.tolist():
            text = payloads.text(row)
            try:
                flat = flatten(text, owners)
            except UnreadablePayload as error:
                self._flat.append(FlatRow({}))
                self._errors.append((error.reason_code, str(error), error.position))
            else:
                self._flat.append(flat)
                self._errors.append((None, None, None))
                census.add_flat_row(flat, leaves(parse(text)))

    def column(self, name: str) -> Any:
        return pa.array([flat.columns.get(name) for flat in self._flat], TEXT)

    def extra(self, columns: Collection[str]) -> Any:
        entries = [
            [(name, flat.columns[name]) for name in sorted(flat.columns.keys() - columns)] or None
            for flat in self._flat
        ]
        return pa.array(entries, EXTRA)

    def rescued(self) -> Any:
        return pa.array([flat.rescued_text for flat in self._flat], TEXT)

    def reason(self) -> Any:
        return pa.array([reason for reason, _, _ in self._errors], TEXT)

    def detail(self) -> Any:
        return pa.array([detail for _, detail, _ in self._errors], TEXT)

    def position(self) -> Any:
        return pa.array([position for _, _, position in self._errors], pa.int64())


class _Census:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, Path, Kind]] = Counter()

    def sightings(self) -> dict[str, Sighting]:
        paths: dict[str, Path] = {}
        shapes: dict[str, Counter[str]] = defaultdict(Counter)
        for (name, path, kind), count in self._counts.items():
            paths[name] = min(path, paths.get(name, path))
            shapes[name][kind.name.lower()] += count
        return {name: Sighting(path, dict(shapes[name])) for name, path in paths.items()}

    def add_reading(self, reading: Reading) -> None:
        for name, column in reading.columns.items():
            counts = np.bincount(column.kinds[reading.proven], minlength=len(Kind)).tolist()
            for kind in KIND_BY_TYPE.values():
                if counts[kind]:
                    self._counts[name, reading.path_by_name[name], kind] += counts[kind]

    def add_flat_row(self, flat: FlatRow, found: Iterable[tuple[Path, Any]]) -> None:
        self._counts.update(
            (marked if marked in flat.columns else name, path, KIND_BY_TYPE[type(value)])
            for path, value in found
            for name, marked in [_names(path)]
            if marked in flat.columns or name in flat.columns
        )


@lru_cache(10_000)
def _names(path: Path) -> tuple[str, str]:
    name = column_name(path)
    return name, marked_name(name, path)


def _assembled(
    count: int,
    columns: Sequence[str],
    readings: Sequence[Reading],
    referred: _Referred,
    census: dict[str, Sighting],
) -> Flattened:
    places = np.empty(count, np.int64)
    base = 0
    for reading in readings:
        places[reading.rows[reading.proven]] = base + np.flatnonzero(reading.proven)
        base += len(reading.rows)
    places[referred.rows] = base + np.arange(len(referred.rows))
    places_of_referred = pa.array(places - base, mask=places < base)
    in_order = len(readings) == 1 and not len(referred.rows)

    def merged(parts: list[Any]) -> Any:
        return parts[0] if in_order else pa.concat_arrays(parts).take(pa.array(places))

    def column(name: str) -> Any:
        parts = [reading.columns.get(name) for reading in readings]
        texts = [
            pa.nulls(len(reading.rows), TEXT) if part is None else part.texts
            for reading, part in zip(readings, parts, strict=True)
        ]
        return merged([*texts, referred.column(name)])

    own = frozenset(columns)
    return Flattened(
        columns={name: column(name) for name in columns},
        extra=merged([*(_extra(reading, own) for reading in readings), referred.extra(own)]),
        rescued=referred.rescued().take(places_of_referred),
        reason=referred.reason().take(places_of_referred),
        detail=referred.detail().take(places_of_referred),
        position=referred.position().take(places_of_referred),
        census=census,
    )


def _extra(reading: Reading, columns: Collection[str]) -> Any:
    """Every value outside of the columns as an entry of its row's map, by name."""
    count = len(reading.rows)
    names = sorted(reading.columns.keys() - columns)
    if not names:
        return pa.nulls(count, EXTRA)
    present = np.column_stack([reading.columns[name].present for name in names])
    rows, numbers = np.nonzero(present)
    texts = pa.concat_arrays([reading.columns[name].texts for name in names])
    sizes = np.count_nonzero(present, axis=1)
    offsets = np.zeros(count + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.MapArray.from_arrays(
        pa.array(offsets, mask=np.append(sizes == 0, False)),
        pa.array(names, TEXT).take(pa.array(numbers)),
        texts.take(pa.array(numbers * count + rows)),
    )
