"""Changes to a payload's leaves: one function per kind, which leaves the text valid JSON."""

import json
from collections.abc import Callable, Sequence
from random import Random
from typing import TypeVar

from tests.traffic import hostility
from tests.traffic.document import Fields
from tests.traffic.topics.topic import KEY, PERIOD, UPDATED, Topic

_T = TypeVar("_T")
Edit = Callable[[Random, Topic, Fields, int], None]

_MALFORMED_TIMESTAMPS = (
    '"2026-02-30T10:00:00Z"',
    '"2026-01-15T25:00:00Z"',
    '"15/01/2026"',
    '"yesterday"',
    '"2026-01-15T10:00:00.1234567890Z"',
    '" 2026-01-15T10:00:00Z"',
    "1700000000",
    '""',
    "false",
)
_MALFORMED_PERIODS = ('"2026-13"', '"2026-00"', '"202601"', '"2026-1"', '"January"', '""', '"1969-12"', "2026")
_ADDED = (("promo", '"spring"'), ("sdk.version", '"7.0.1"'), ("flags", "[true, null]"), ("score", "1.50"))
_RARE = (("debug.trace", '"on"'), ("legacyCode", "17.0"), ("experiment.arm", '"b"'))
_BLANKS = ("null", '""', '"  "')


def pick(random: Random, options: Sequence[_T]) -> _T:
    # `choice` may consume the generator differently in another Python; `random()` may not.
    return options[int(random.random() * len(options))]


def _missing_cde(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    where = pick(random, topic.cdes)
    if random.random() < 0.5:
        del fields[where]
    else:
        fields[where] = pick(random, _BLANKS)


def uncastable_value(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    where = pick(random, tuple(topic.uncastable))
    fields[where] = pick(random, topic.uncastable[where])


def _malformed_timestamp(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    fields[pick(random, topic.timestamps)] = pick(random, _MALFORMED_TIMESTAMPS)


def _malformed_period(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    fields[PERIOD] = pick(random, _MALFORMED_PERIODS)


def _rule_violation(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    fields.update(pick(random, topic.violations))


def _field_added(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    name, token = pick(random, _ADDED)
    fields[tuple(name.split("."))] = token


def _rare_field(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    name, token = pick(random, _RARE)
    fields[tuple(name.split("."))] = token


def _field_removed(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    del fields[pick(random, (*topic.optional, PERIOD, UPDATED))]


def _type_changed(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    """A number becomes a string of the same digits, or an undeclared scalar an array, an object or a boolean."""
    if random.random() < 0.5:
        where = pick(random, topic.numbers)
        fields[where] = '"0"' if fields[where] == "null" else f'"{fields[where]}"'
        return
    where = pick(random, topic.undeclared)
    fields[where] = pick(random, ("[1, 2.50]", '{"code": 7, "text": "seven"}', "{}", "true", "0.10"))


def _hostile_name(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    for _ in range(1 + int(random.random() * 4)):
        fields.update(pick(random, hostility.NAMES))


def _hostile_key(random: Random, topic: Topic, fields: Fields, index: int) -> None:
    value = pick(random, hostility.KEYS)
    fields[KEY] = f"{index}.10" if value is None else json.dumps(f"{value}{index}")


EDITS: dict[str, Edit] = {
    "missing_cde": _missing_cde,
    "uncastable_value": uncastable_value,
    "malformed_timestamp": _malformed_timestamp,
    "malformed_period": _malformed_period,
    "rule_violation": _rule_violation,
    "field_added": _field_added,
    "rare_field": _rare_field,
    "field_removed": _field_removed,
    "type_changed": _type_changed,
    "hostile_name": _hostile_name,
    "hostile_key": _hostile_key,
    "rejected_correction": uncastable_value,
}
