"""JSON Schema findings in words for the person who wrote the contract."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any, Final

from leanops.core.contract.schema import JSON_SCHEMA
from leanops.core.errors import Fault, shown

TYPE_WORDS: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}


def path_text(path: Iterable[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text or "contract"


def structural_faults(document: Any) -> list[Fault]:
    """Every way in which the document's form is wrong."""
    # Imported late: DAG files import the contract's model while they are parsed, and never validate.
    from jsonschema import Draft202012Validator

    faults: set[Fault] = set()
    for error in Draft202012Validator(JSON_SCHEMA).iter_errors(document):
        faults.update(_faults(error))
    return sorted(faults)


def _faults(error: Any) -> Iterator[Fault]:
    path = list(error.absolute_path)
    phrase = error.schema.get("description", "") if isinstance(error.schema, dict) else ""
    match error.validator:
        case "required":
            for key in error.validator_value:
                if key not in error.instance:
                    allowed = error.schema["properties"][key].get("description", "a value")
                    yield Fault(path_text([*path, key]), "nothing", allowed, f"Add {key!r}.")
        case "additionalProperties":
            yield from _unknown_keys(error, path)
        case "type":
            words = _words(error.validator_value)
            yield Fault(path_text(path), shown(error.instance), words, f"Write {words} here.")
        case "enum":
            choices = ", ".join(map(str, error.validator_value))
            yield Fault(
                path_text(path), shown(error.instance), choices, _nearest(error.instance, error.validator_value)
            )
        case "pattern":
            yield Fault(path_text(path), shown(error.instance), phrase, "Write it in this form.")
        case "minimum" | "maximum":
            limits = f"{error.schema['minimum']} to {error.schema['maximum']}"
            yield Fault(path_text(path), shown(error.instance), limits, "Choose a number in between.")
        case "minLength" | "minItems":
            yield Fault(path_text(path), "nothing", phrase or "at least one entry", "Fill it in, or leave the key out.")
        case _:
            limit = f"at most {error.validator_value}"
            yield Fault(path_text(path), f"{len(error.instance)}", limit, "Make it shorter.")


def _unknown_keys(error: Any, path: list[str | int]) -> Iterator[Fault]:
    known = list(error.schema["properties"])
    for key in error.instance:
        if key not in known:
            yield Fault(path_text(path), f"the key {shown(key)}", ", ".join(known), _nearest(key, known))


def _words(types: str | list[str]) -> str:
    return " or ".join(TYPE_WORDS[name] for name in ([types] if isinstance(types, str) else types))


def _nearest(found: Any, choices: Iterable[Any]) -> str:
    close = difflib.get_close_matches(str(found), [str(choice) for choice in choices], n=1)
    return f"Did you mean {close[0]!r}?" if close else "Choose one of these."
