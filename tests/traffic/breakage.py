"""Payload texts that are not one JSON object, made from one that was."""

from collections.abc import Callable
from random import Random

from tests.traffic.edits import pick

Break = Callable[[Random, str], str]
_DEEPEST = 500


def _member(token: str) -> Break:
    return lambda random, text: f'{text[:-1]},"extra":{token}}}'


def _truncated(random: Random, text: str) -> str:
    return text[: 1 + int(random.random() * (len(text) - 1))]


_INVALID: tuple[Break, ...] = (
    _truncated,
    _member("NaN"),
    _member("-Infinity"),
    _member("01"),
    _member("1."),
    _member(".5"),
    _member("undefined"),
    _member("'single'"),
    _member('"raw\ncontrol"'),
    _member('"bad \\x escape"'),
    lambda random, text: text[:-1] + ",}",
    lambda random, text: text + text,
    lambda random, text: text + " garbage",
    lambda random, text: "\ufeff\ufeff" + text,
)
_EMPTY = ("", " ", "\n\t \r\n", "\ufeff")
_TWICE: tuple[Break, ...] = (
    _member('1,"extra":1'),
    _member('{"k":1,"\\u006b":2}'),
    _member('[0,{"k":null,"k":null}]'),
)
_LONE: tuple[Break, ...] = (
    _member('"\\ud83d"'),
    _member('"\\ude00\\ud83d"'),
    _member('1,"half \\uD800 name":2'),
    _member('["\\udfff"]'),
)


def _too_deep(random: Random, text: str) -> str:
    if random.random() < 0.5:
        return '{"a":' * _DEEPEST + "{}" + "}" * _DEEPEST
    return _member("[" * _DEEPEST + "]" * _DEEPEST)(random, text)


BREAKS: dict[str, Break] = {
    "empty_payload": lambda random, text: pick(random, _EMPTY),
    "invalid_json": lambda random, text: pick(random, _INVALID)(random, text),
    "not_an_object": lambda random, text: pick(random, ("null", "[]", f"[{text}]", '"text"', "17.50", "true")),
    "duplicate_key": lambda random, text: pick(random, _TWICE)(random, text),
    "lone_surrogate": lambda random, text: pick(random, _LONE)(random, text),
    "too_deep": _too_deep,
}
