"""The shape of a topic's payloads: known paths, compiled into a decoder that reads nothing else."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from statistics import median
from types import NoneType
from typing import Any, Final

import msgspec
import numpy as np

from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import COLUMN_DEPTH, Path, flatten, leaves, parse
from spark_jobs.tokens import ABSENT, Mask, Numbers, TokenColumn, TokenReader, null_column

PATH_LIMIT: Final = 1000
# A path costs each record a little, and a record with an unknown path as much as about a thousand paths.
RARE_SHARE: Final = 0.01
# msgspec takes no such key as the name of a field.
UNKNOWABLE: Final = re.compile(r'["\\\x00-\x1f]')


@dataclass(frozen=True)
class Leaf:
    path: Path
    name: str


@dataclass(frozen=True)
class Branch:
    """An object that the shape looks into. `name` is the column of a null in its place."""

    name: str | None
    struct: Any
    absent: Any
    members: tuple[tuple[Callable[[Any], Any], Leaf | Branch], ...]


@dataclass(frozen=True)
class Reading:
    """What a shape made of `rows`. Where it is not `proven`, the columns mean nothing."""

    rows: Numbers
    proven: Mask
    columns: Mapping[str, TokenColumn]
    path_by_name: Mapping[str, Path]

    @property
    def hits(self) -> int:
        return int(np.count_nonzero(self.proven))


class Shape:
    """Decodes records whose every path is known by the column that the reference gives it whatever else is there.

    Two paths with the same column, and a path that is both an object and a value, can't be known together: the first
    of `paths` is. A record that has the other one too, or instead, is not read.
    """

    def __init__(self, paths: Iterable[Path], owners: Mapping[str, Path]) -> None:
        self.path_by_name = _compatible(paths, owners)
        self.paths = tuple(self.path_by_name.values())
        tree: dict[str, Any] = {}
        for name, path in self.path_by_name.items():
            inner = tree
            for key in path[:-1]:
                inner = inner.setdefault(key, {})
            inner[path[-1]] = name
        self._root = self._branch((), tree, owners)
        self._decode = msgspec.json.Decoder(self._root.struct).decode

    def _branch(self, path: Path, tree: Mapping[str, Any], owners: Mapping[str, Path]) -> Branch:
        fields: list[tuple[str, Any, Any]] = []
        members: list[tuple[Callable[[Any], Any], Leaf | Branch]] = []
        for number, (key, below) in enumerate(tree.items()):
            name = f"f{number}"
            member: Leaf | Branch
            if isinstance(below, str):
                member = Leaf((*path, key), below)
                fields.append((name, msgspec.Raw, ABSENT))
            else:
                member = self._branch((*path, key), below, owners)
                fields.append((name, member.struct | None if member.name else member.struct, member.absent))
            members.append((attrgetter(name), member))
        struct = msgspec.defstruct(
            "Known",
            fields,
            rename={f"f{number}": key for number, key in enumerate(tree)},
            forbid_unknown_fields=True,
            frozen=True,
            gc=False,
        )
        return Branch(self._null_name(path, owners), struct, struct(), tuple(members))

    def _null_name(self, path: Path, owners: Mapping[str, Path]) -> str | None:
        name = lone_name(path, owners) if path else None
        if name is None or name in self.path_by_name:
            return None
        self.path_by_name[name] = path
        return name

    def reading(self, records: Iterable[tuple[int, bytes]], quotes: Numbers, reader: TokenReader) -> Reading:
        """`records` are row numbers and texts, `quotes` the number of quotation marks by row number."""
        rows: list[int] = []
        objects: list[Any] = []
        decode = self._decode
        for row, text in records:
            try:
                objects.append(decode(text))
            except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
                continue
            rows.append(row)
        taken = np.array(rows, np.int64)
        walk = _Walk(reader, len(rows))
        if rows:
            walk.read(self._root, objects)
        # msgspec keeps the last of equal keys and does not tell. Each key that was read and then dropped, and each
        # empty object, has quotation marks in the text that no kept key or token accounts for.
        proven = walk.quotes == quotes[taken]
        proven[walk.doubtful] = False
        return Reading(taken, proven, walk.columns, self.path_by_name)


@dataclass
class _Walk:
    reader: TokenReader
    count: int
    columns: dict[str, TokenColumn] = field(default_factory=dict)
    doubtful: list[int] = field(default_factory=list)
    quotes: Numbers = field(init=False)

    def __post_init__(self) -> None:
        self.quotes = np.zeros(self.count, np.int64)

    def read(self, branch: Branch, objects: list[Any]) -> Mask:
        """Which of the objects have any of the branch's members."""
        found = np.zeros(self.count, np.bool_)
        for get, member in branch.members:
            values = list(map(get, objects))
            present = self._leaf(member, values) if isinstance(member, Leaf) else self._branch(member, values)
            self.quotes += 2 * present
            found |= present
        return found

    def _leaf(self, leaf: Leaf, raws: list[msgspec.Raw]) -> Mask:
        column = self.reader.column(raws, objects_stay=len(leaf.path) >= COLUMN_DEPTH)
        self.columns[leaf.name] = column
        self.quotes += column.quotes
        self.doubtful.extend(column.doubtful)
        return column.present

    def _branch(self, branch: Branch, objects: list[Any]) -> Mask:
        if branch.name is None or NoneType not in set(map(type, objects)):
            return self.read(branch, objects)
        nulls = np.fromiter((item is None for item in objects), np.bool_, self.count)
        self.columns[branch.name] = null_column(nulls)
        return nulls | self.read(branch, [branch.absent if item is None else item for item in objects])


def learned_paths(texts: Iterable[str], known: Collection[Path]) -> list[Path] | None:
    """The paths of these payloads that are not rare, the most frequent first, then the known ones.

    Paths of equal frequency stand in the order of the text, where msgspec finds a field soonest. None if no payload is
    valid.
    """
    records: list[list[tuple[Path, Any]]] = []
    for text in texts:
        try:
            records.append(list(leaves(parse(text))))
        except UnreadablePayload:
            continue
    if not records:
        return None
    values: defaultdict[Path, float] = defaultdict(float)
    nulls: defaultdict[Path, float] = defaultdict(float)
    ordinary = median(map(len, records))
    for record in records:
        # The paths of an unusually wide record count for less, or a few such records would widen the shape for all.
        weight = min(1.0, ordinary / max(1, len(record)))
        for path, value in record:
            (nulls if value is None else values)[path] += weight
    objects = {path[:depth] for path in (*values, *nulls, *known) for depth in range(1, len(path))}
    for path, count in nulls.items():
        if path not in objects:
            values[path] += count
    often = [path for path, count in values.items() if count >= len(records) * RARE_SHARE]
    often.sort(key=lambda path: -values[path])
    return [*often, *known]


def lone_name(path: Path, owners: Mapping[str, Path]) -> str:
    """The path's column in a record that has nothing else."""
    document: Any = None
    for key in reversed(path):
        document = {key: document}
    (name,) = flatten(json.dumps(document), owners).columns
    return name


def _compatible(paths: Iterable[Path], owners: Mapping[str, Path]) -> dict[str, Path]:
    path_by_name: dict[str, Path] = {}
    values: set[Path] = set()
    objects: set[Path] = set()
    for path in paths:
        above = {path[:depth] for depth in range(1, len(path))}
        if path in objects or not above.isdisjoint(values) or any(map(UNKNOWABLE.search, path)):
            continue
        if path_by_name.setdefault(lone_name(path, owners), path) == path:
            values.add(path)
            objects |= above
        if len(path_by_name) == PATH_LIMIT:
            break
    return path_by_name
