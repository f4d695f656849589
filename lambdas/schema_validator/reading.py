"""From uploaded bytes, which may be anything, to a contract: or every fault, in words for the topic's owner."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from leanops.aws.contracts import MOST_BYTES, Stored
from leanops.core.contract import Contract, load
from leanops.core.errors import Fault, InvalidContract, shown
from leanops.core.naming import Names

# A contract's own form is five levels deep; no list in it may have more members, no object half as many keys.
# More would only be more faults, and finding them all takes time by the square of their number.
MOST_LEVELS: Final = 32
MOST_PARTS: Final = 25_000
MOST_MEMBERS: Final = 1000
MOST_KEYS: Final = 50
# Beyond this no number fits any column; one with a great exponent would take gigabytes to write out.
MOST_DIGITS: Final = 400
EXPONENT: Final = re.compile(r"[eE]([+-]?[0-9]+)$")
SURROGATE: Final = re.compile("[\ud800-\udfff]")


def readable(stored: Stored, names: Names) -> Contract:
    """The contract of this topic, or InvalidContract."""
    source = stored.key
    text = _text(stored)
    document = _document(text, source)
    others = [*_topic_faults(document, names)]
    try:
        contract = load(text, source)
    except InvalidContract as error:
        # The form's own fault about the name says it already.
        told = {fault.path for fault in error.faults}
        raise InvalidContract(source, sorted({*error.faults, *(f for f in others if f.path not in told)})) from error
    except (RecursionError, ValueError, ArithmeticError) as error:
        fault = Fault("contract", shown(str(error)), "a contract", "Mend it, or ask the platform's team.")
        raise InvalidContract(source, [fault]) from error
    if others:
        raise InvalidContract(source, others)
    return contract


def _text(stored: Stored) -> str:
    if stored.is_too_large:
        found, remedy = f"more than {MOST_BYTES} bytes", "Shorten descriptions, or split the topic."
        raise InvalidContract(stored.key, [Fault("contract", found, f"up to {MOST_BYTES} bytes", remedy)])
    try:
        return stored.content.decode("utf-8")
    except UnicodeDecodeError as error:
        found = f"bytes that are not UTF-8 (byte {error.start + 1})"
        raise InvalidContract(
            stored.key, [Fault("contract", found, "UTF-8 text", "Save the file as UTF-8.")]
        ) from error


def _document(text: str, source: str) -> Any:
    """The parsed text where it is safe to go on with it. What is merely wrong is left to `load`."""
    try:
        document = json.loads(text.removeprefix("\ufeff"), parse_int=_number, parse_float=_number)
    except _Unfit as error:
        raise InvalidContract(source, [error.fault]) from error
    except RecursionError as error:
        raise InvalidContract(source, [_deep()]) from error
    except ValueError:
        return None
    faults = list(_form_faults(document))
    if faults:
        raise InvalidContract(source, faults)
    return document


class _Unfit(Exception):
    def __init__(self, fault: Fault) -> None:
        self.fault = fault


def _number(text: str) -> int:
    power = EXPONENT.search(text)
    if len(text) > MOST_DIGITS or (power and (len(power[1]) > 5 or abs(int(power[1])) > MOST_DIGITS)):
        raise _Unfit(Fault("contract", f"the number {shown(text)}", "a number that fits a column", "Mend it."))
    return 0


def _form_faults(document: Any) -> Iterator[Fault]:
    parts = 0
    level = [document]
    for depth in range(MOST_LEVELS + 1):
        parts += len(level)
        if parts > MOST_PARTS:
            yield Fault("contract", f"more than {MOST_PARTS} parts", "up to 1000 columns", "Drop what is not needed.")
            return
        if any(_is_long(value) for value in level):
            found = f"a list of more than {MOST_MEMBERS} members or an object of more than {MOST_KEYS} keys"
            yield Fault("contract", found, "up to 1000 columns", "Drop what is not needed.")
            return
        if odd := next((text for text in _texts(level) if SURROGATE.search(text)), None):
            found = f"half of a surrogate pair in {shown(odd)}"
            yield Fault("contract", found, "whole characters", "Write the character itself, in UTF-8.")
            return
        level = [child for value in level for child in _children(value)]
        if not level:
            return
        if depth == MOST_LEVELS:
            yield _deep()


def _is_long(value: Any) -> bool:
    return (isinstance(value, list) and len(value) > MOST_MEMBERS) or (
        isinstance(value, dict) and len(value) > MOST_KEYS
    )


def _deep() -> Fault:
    return Fault("contract", "deep nesting", f"up to {MOST_LEVELS} levels", "Mend the JSON.")


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _texts(level: list[Any]) -> Iterator[str]:
    for value in level:
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from value


def _topic_faults(document: Any, names: Names) -> Iterator[Fault]:
    name = document.get("table_name") if isinstance(document, dict) else None
    if isinstance(name, str) and name != names.topic:
        remedy = f"Write {names.topic!r}, or upload it to the folder of its own topic."
        yield Fault("table_name", shown(name), f"{names.topic!r}, the topic of the folder", remedy)
