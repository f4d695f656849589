"""Reads the members of a JSON object without judging their values: NaN, half surrogate pairs and any depth pass.

The slow way, for texts that the strict parser refuses or that need every member. A value stays the text that it was.
"""

from __future__ import annotations

import json
import re
from typing import Final

BLANK: Final = re.compile(r"[ \t\r\n]*+")
STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
STRING_OR_BRACKET: Final = re.compile(STRING.pattern + r"|[\[\]{}]", re.DOTALL)
SCALAR: Final = re.compile(r"[^\s,:\[\]{}\"]++")


def members(text: str) -> list[tuple[str, str]] | None:
    """(name, text of the value) in order, repeated names too; None where the text is not one object."""
    at = _past(BLANK, text, 0)
    if not text.startswith("{", at):
        return None
    found: list[tuple[str, str]] = []
    at = _past(BLANK, text, at + 1)
    if text.startswith("}", at):
        return found if _past(BLANK, text, at + 1) == len(text) else None
    while True:
        name = STRING.match(text, at)
        if name is None:
            return None
        at = _past(BLANK, text, name.end())
        if not text.startswith(":", at):
            return None
        start = _past(BLANK, text, at + 1)
        end = _end(text, start)
        if end is None:
            return None
        found.append((unquoted(name[0]), text[start:end]))
        at = _past(BLANK, text, end)
        if text.startswith("}", at):
            return found if _past(BLANK, text, at + 1) == len(text) else None
        if not text.startswith(",", at):
            return None
        at = _past(BLANK, text, at + 1)


def unquoted(literal: str) -> str:
    """What a string literal stands for; the literal itself where its escapes are broken."""
    try:
        return str(json.loads(literal, strict=False))
    except ValueError:
        return literal


def scalar_text(value: str | None) -> str | None:
    """A string's content or a number's digits; None for everything else."""
    if value is None:
        return None
    if value[0] == '"':
        return unquoted(value)
    return value if value[0] in "-0123456789" else None


def storable(text: str) -> str:
    """Half of a surrogate pair cannot be written as UTF-8: it becomes its JSON escape, which says the same."""
    return text.encode("utf-8", "backslashreplace").decode()


def _end(text: str, start: int) -> int | None:
    """Where the value that begins here ends. Not recursive: nesting may be as deep as the text is long."""
    first = text[start : start + 1]
    if first == '"':
        string = STRING.match(text, start)
        return string.end() if string else None
    if first not in ("{", "["):
        scalar = SCALAR.match(text, start)
        return scalar.end() if scalar else None
    depth = 0
    for token in STRING_OR_BRACKET.finditer(text, start):
        first = token[0][0]
        if first in "{[":
            depth += 1
        elif first in "}]":
            depth -= 1
            if depth == 0:
                return token.end()
    return None


def _past(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at
