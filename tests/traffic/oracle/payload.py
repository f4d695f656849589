"""Strict JSON: one object, digits as written, no guess about twice-named keys."""

import json
import re
from json import JSONDecodeError, JSONDecoder
from typing import Any, NoReturn, TypeAlias

MAX_CHARACTERS = 64 * 1024 * 1024
MAX_LEVELS = 500
_WHITE = " \t\n\r"
_BOM = "\ufeff"
_BRACKET_OR_STRING = re.compile(r'[{}\[\]]|"(?:[^"\\]|\\.)*(?:"|$)', re.DOTALL)
_MAYBE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")

Document: TypeAlias = dict[str, Any]


class ParseError(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Digits(str):
    """A JSON number as it was written."""

    __slots__ = ()


def parse(text: str | None) -> Document:
    """The object that the text is.

    Of several faults the reason names the first of: too_large, empty, too_deep, not_json, not_an_object,
    duplicate_key, lone_surrogate.
    """
    if text is not None and len(text) > MAX_CHARACTERS:
        raise ParseError("too_large")
    text = (text or "").removeprefix(_BOM)
    if not text.strip(_WHITE):
        raise ParseError("empty")
    if _too_deep(text):
        raise ParseError("too_deep")
    twice: list[str] = []

    def members(pairs: list[tuple[str, Any]]) -> Document:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice.append("yes")
        return found

    decoder = JSONDecoder(object_pairs_hook=members, parse_int=Digits, parse_float=Digits, parse_constant=_no_constant)
    try:
        document = decoder.decode(text)
    except JSONDecodeError as error:
        raise ParseError("not_json") from error
    if not isinstance(document, dict):
        raise ParseError("not_an_object")
    if twice:
        raise ParseError("duplicate_key")
    if _MAYBE_SURROGATE.search(text) and _has_lone_surrogate(document):
        raise ParseError("lone_surrogate")
    return document


def _no_constant(name: str) -> NoReturn:
    raise ParseError("not_json")


def _too_deep(text: str) -> bool:
    if text.count("{") + text.count("[") <= MAX_LEVELS:
        return False
    level = 0
    for match in _BRACKET_OR_STRING.finditer(text):
        mark = match.group()
        if mark in "{[":
            level += 1
            if level > MAX_LEVELS:
                return True
        elif mark in "}]":
            level -= 1
    return False


def _has_lone_surrogate(document: Any) -> bool:
    waiting = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend(value)
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        elif isinstance(value, str) and _SURROGATE.search(value):
            return True
    return False


def text_at(document: Document, keys: tuple[str, ...]) -> str | None:
    """The leaf's text at the path; None where there is no leaf. An object with members is no leaf: its members are."""
    value: Any = document
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return None
        value = value[key]
    if isinstance(value, dict) and value:
        return None
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    return str(value) if isinstance(value, str) else compact(value)


def compact(value: Any) -> str:
    # Loops and not comprehensions: 500 levels must fit Python's stack.
    if isinstance(value, Digits):
        return str(value)
    parts: list[str] = []
    if isinstance(value, list):
        for element in value:
            parts.append(compact(element))  # noqa: PERF401
        return "[" + ",".join(parts) + "]"
    if isinstance(value, dict):
        for key, member in value.items():
            parts.append(json.dumps(key, ensure_ascii=False) + ":" + compact(member))
        return "{" + ",".join(parts) + "}"
    return json.dumps(value, ensure_ascii=False)
