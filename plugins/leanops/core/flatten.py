"""A payload's text as one flat row of text. The reference that the Spark code is proven equal to (docs/rules.md)."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from leanops.core.errors import UnreadablePayload

Path = tuple[str, ...]

COLUMN_DEPTH: Final = 16
NESTING_LIMIT: Final = 500
PAYLOAD_CHARACTERS: Final = 64 * 1024 * 1024
NAME_LENGTH: Final = 128
CUT_LENGTH: Final = 110
MARK_LENGTH: Final = 16
MARKED: Final = re.compile(r".*__[0-9a-f]{16}", re.DOTALL)
OUTSIDE: Final = re.compile(r"[^a-z0-9_]")
SURROGATE: Final = re.compile("[\ud800-\udfff]")
STRING_OR_BRACKET: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[\]{}]', re.DOTALL)
LOWER_ASCII: Final = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")

ENVELOPE_COLUMNS: Final = (
    "message_id",
    "topic_name",
    "publish_time",
    "ingestion_ts",
    "idempotency_key",
    "period_reference",
    "correlation_id",
    "last_updated_ts",
)
AUDIT_COLUMNS: Final = (
    "first_seen_ts",
    "first_period_reference",
    "_batch",
    "_message_id",
    "_contract_version",
    "_rescued",
)
RESERVED: Final = frozenset((*ENVELOPE_COLUMNS, *AUDIT_COLUMNS))


class ParseReason(StrEnum):
    """Why a payload is a parse error."""

    EMPTY = "empty"
    NOT_JSON = "not_json"
    NOT_AN_OBJECT = "not_an_object"
    DUPLICATE_KEY = "duplicate_key"
    LONE_SURROGATE = "lone_surrogate"
    TOO_DEEP = "too_deep"
    TOO_LARGE = "too_large"


class Digits(str):
    """A number as it was written."""

    __slots__ = ()


@dataclass(frozen=True)
class FlatRow:
    columns: dict[str, str | None]
    rescued: dict[str, str | None] = field(default_factory=dict)

    def within(self, allowed: Collection[str]) -> FlatRow:
        """The same content, with what has no column of its own moved to the rescue."""
        columns = {name: value for name, value in self.columns.items() if name in allowed}
        return FlatRow(columns, self.rescued | {n: v for n, v in self.columns.items() if n not in allowed})

    @property
    def rescued_text(self) -> str | None:
        return (
            json.dumps(self.rescued, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            if self.rescued
            else None
        )


def flatten(text: str | None, owners: Mapping[str, Path] | None = None) -> FlatRow:
    """Every leaf of the payload by its column. `owners` says which path has which column by the contract."""
    named: dict[str, list[tuple[Path, Any]]] = defaultdict(list)
    for path, value in leaves(parse(text)):
        named[column_name(path)].append((path, value))
    columns: dict[str, str | None] = {}
    rescued: dict[str, str | None] = {}
    marked: dict[str, list[tuple[Path, Any]]] = defaultdict(list)
    for name, claims in named.items():
        keeper = _keeper(name, claims, owners or {})
        for path, value in claims:
            if path == keeper:
                columns[name] = value_text(value)
            else:
                marked[marked_name(name, path)].append((path, value))
    for name, claims in marked.items():
        if len(claims) == 1:
            columns[name] = value_text(claims[0][1])
        else:
            rescued |= {json.dumps(path, ensure_ascii=False): value_text(value) for path, value in claims}
    return FlatRow(columns, rescued)


def _keeper(name: str, claims: list[tuple[Path, Any]], owners: Mapping[str, Path]) -> Path | None:
    if name in RESERVED or MARKED.fullmatch(name):
        return None
    if name in owners:
        return owners[name]
    return min(path for path, _ in claims)


def parse(text: str | None) -> dict[str, Any]:
    """The payload's object, numbers as Digits; or UnreadablePayload with one of ParseReason."""
    if text is None or not (text := text.removeprefix("\ufeff")).strip(" \t\r\n"):
        raise _unreadable(ParseReason.EMPTY, "it has no text", None, "Have the source send a JSON object.")
    if len(text) > PAYLOAD_CHARACTERS:
        raise _unreadable(
            ParseReason.TOO_LARGE, f"it has {len(text)} characters", None, f"Send at most {PAYLOAD_CHARACTERS}."
        )
    if _nesting(text) > NESTING_LIMIT:
        raise _unreadable(
            ParseReason.TOO_DEEP, "it is nested too deeply", None, f"Nest at most {NESTING_LIMIT} levels."
        )
    try:
        value = json.loads(
            text, parse_int=Digits, parse_float=Digits, parse_constant=_no_constant, object_pairs_hook=_unique_keys
        )
    except json.JSONDecodeError as error:
        reason = f"it is not JSON ({error.msg})"
        raise _unreadable(ParseReason.NOT_JSON, reason, error.pos, "Mend the source's JSON.") from error
    if not isinstance(value, dict):
        raise _unreadable(
            ParseReason.NOT_AN_OBJECT, "it is not a JSON object", None, "Have the source send a JSON object."
        )
    if "\\u" in text or SURROGATE.search(text):
        _refuse_surrogates(value)
    return value


def leaves(value: dict[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Paths and values that get a column: scalars, arrays, empty objects, and objects at COLUMN_DEPTH."""
    stack: list[tuple[Path, Any]] = [((key,), inner) for key, inner in reversed(value.items())]
    while stack:
        path, inner = stack.pop()
        if isinstance(inner, dict) and inner and len(path) < COLUMN_DEPTH:
            stack.extend(((*path, key), below) for key, below in reversed(inner.items()))
        else:
            yield path, inner


def column_name(path: Path) -> str:
    """The unmarked column of a path; long names are marked by themselves."""
    name = "_".join(OUTSIDE.sub("_", key.translate(LOWER_ASCII)) or "_" for key in path)
    if name[0].isdigit():
        name = f"_{name}"
    return marked_name(name, path) if len(name) > NAME_LENGTH else name


def marked_name(name: str, path: Path) -> str:
    if len(name) <= NAME_LENGTH and MARKED.fullmatch(name) and name.endswith(_mark(path)):
        return name
    return f"{name[:CUT_LENGTH]}__{_mark(path)}"


def _mark(path: Path) -> str:
    return hashlib.sha256(json.dumps(path).encode()).hexdigest()[:MARK_LENGTH]


def value_text(value: Any) -> str | None:
    """A leaf as text: strings and digits as they are, arrays and objects as compact JSON."""
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    return compact(value)


def compact(value: Any) -> str:
    """JSON text without white space, digits as written. Iterative, so that depth costs no stack."""
    parts: list[str] = []
    stack: list[Any] = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, _Text):
            parts.append(item)
        elif isinstance(item, dict):
            stack.append(_Text("}"))
            for position, (key, inner) in reversed(list(enumerate(item.items()))):
                stack.append(inner)
                stack.append(_Text(f"{',' if position else ''}{json.dumps(key, ensure_ascii=False)}:"))
            stack.append(_Text("{"))
        elif isinstance(item, list):
            stack.append(_Text("]"))
            for position, inner in reversed(list(enumerate(item))):
                stack.append(inner)
                if position:
                    stack.append(_Text(","))
            stack.append(_Text("["))
        else:
            parts.append(str(item) if isinstance(item, Digits) else json.dumps(item, ensure_ascii=False))
    return "".join(parts)


class _Text(str):
    __slots__ = ()


def columns_to_add(existing: Collection[str], seen: Collection[str], budget: int) -> list[str]:
    """New columns that still fit the budget, by name; what is left out is rescued."""
    room = max(0, budget - len(existing))
    return sorted(set(seen) - set(existing))[:room]


def _unreadable(code: ParseReason, reason: str, position: int | None, remedy: str) -> UnreadablePayload:
    return UnreadablePayload(code.value, reason, position, remedy)


def _no_constant(word: str) -> Any:
    raise _unreadable(ParseReason.NOT_JSON, f"{word} is not JSON", None, "Have the source send a number or null.")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        reason = f"key {twice[:80]!a} stands twice in one object"
        raise _unreadable(ParseReason.DUPLICATE_KEY, reason, None, "Send each key once; which one counts is unknown.")
    return result


def _refuse_surrogates(value: Any) -> None:
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            stack.extend(item.keys())
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
        elif isinstance(item, str) and SURROGATE.search(item):
            raise _unreadable(
                ParseReason.LONE_SURROGATE,
                "a text holds half of a surrogate pair",
                None,
                "Have the source send whole Unicode characters.",
            )


def _nesting(text: str) -> int:
    if text.count("{") + text.count("[") <= NESTING_LIMIT:
        return 0
    depth = deepest = 0
    for token in STRING_OR_BRACKET.finditer(text):
        first = token[0][0]
        if first in "{[":
            depth += 1
            deepest = max(deepest, depth)
        elif first in "}]":
            depth -= 1
    return deepest
