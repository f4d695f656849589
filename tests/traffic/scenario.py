"""A scenario file: how much traffic, of which kinds, when."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from typing import Any

from tests.traffic import kinds
from tests.traffic.topics import TOPICS

FOLDER = Path(__file__).parent / "scenarios"


class ScenarioError(ValueError):
    pass


@dataclass(frozen=True)
class Scenario:
    """`burst_share` of the messages fall into the middle batch, the others share the rest; None: all are even."""

    description: str
    topics: tuple[str, ...]
    messages: int
    batches: int
    start: datetime
    spacing_ms: int
    shares: Mapping[str, float]
    burst_share: float | None = None

    def resized(self, topic: str | None = None, messages: int | None = None, batches: int | None = None) -> "Scenario":
        topics = self.topics if topic is None else (topic,)
        messages = self.messages if messages is None else messages
        batches = self.batches if batches is None else batches
        for key, value in (("topics", list(topics)), ("messages", messages), ("batches", batches)):
            _check("command line", key, value)
        return replace(self, topics=topics, messages=messages, batches=batches)

    def batch_starts(self) -> list[int]:
        """The index of each batch's first message."""
        if self.burst_share is None or self.batches == 1:
            return [-(-number * self.messages // self.batches) for number in range(self.batches)]
        middle = self.batches // 2
        others = (1 - self.burst_share) / (self.batches - 1)
        weights = [self.burst_share if number == middle else others for number in range(self.batches)]
        return [round(end * self.messages) for end in accumulate(weights[:-1], initial=0.0)]


_ALLOWED = tuple(field.name for field in fields(Scenario))
_OPTIONAL = {"burst_share"}


def scenario_names() -> list[str]:
    return sorted(file.stem for file in FOLDER.glob("*.json"))


def load_scenario(name: str) -> Scenario:
    """The scenario of that name."""
    if name not in scenario_names():
        raise ScenarioError(f"Cannot load scenario, no such name: {name!r}; there are {', '.join(scenario_names())}")
    return read_scenario(FOLDER / f"{name}.json")


def read_scenario(file: Path) -> Scenario:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ScenarioError(f"Cannot read scenario, {file.name} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise ScenarioError(f"Cannot read scenario, {file.name} is not an object")
    for key in content:
        if key not in _ALLOWED:
            allowed = ", ".join(_ALLOWED)
            raise ScenarioError(f"Cannot read scenario, unknown key in {file.name}: {key!r}; allowed: {allowed}")
    for key in _ALLOWED:
        if key in content:
            _check(file.name, key, content[key])
        elif key not in _OPTIONAL:
            raise ScenarioError(f"Cannot read scenario, key is missing in {file.name}: {key!r}")
    start = datetime.fromisoformat(content["start"])
    return Scenario(**{**content, "topics": tuple(content["topics"]), "start": start.astimezone(UTC)})


def _check(source: str, key: str, value: Any) -> None:
    remedy = _remedy(key, value)
    if remedy:
        raise ScenarioError(f"Cannot use scenario, bad {key!r} in {source}: {value!r}; {remedy}")


def _remedy(key: str, value: Any) -> str | None:
    """What a value of that key must be, if this one is not."""
    if key == "description":
        return None if isinstance(value, str) and "\n" not in value else "must be one line of text"
    if key == "topics":
        known = isinstance(value, list) and value and all(topic in TOPICS for topic in value)
        return None if known and len(set(value)) == len(value) else f"must be a list out of {', '.join(TOPICS)}"
    if key == "messages":
        return None if _is_count(value, 0) else "must be a whole number, 0 or more"
    if key in ("batches", "spacing_ms"):
        return None if _is_count(value, 1) else "must be a whole number, 1 or more"
    if key == "burst_share":
        return None if _is_share(value) else "must be a number from 0 to 1"
    if key == "start":
        return None if _is_moment(value) else "must be a time with its zone, like 2026-01-15T00:00:00Z"
    return _shares_remedy(value)


def _shares_remedy(value: Any) -> str | None:
    if not isinstance(value, dict):
        return "must be an object of kind and share"
    for kind, share in value.items():
        if kind not in kinds.ALL - {kinds.CLEAN}:
            return f"unknown kind {kind!r}, allowed: {', '.join(sorted(kinds.ALL - {kinds.CLEAN}))}"
        if not _is_share(share):
            return f"the share of {kind!r} must be a number from 0 to 1"
    return None if sum(value.values()) <= 1 + 1e-9 else "shares must not add up to more than 1"


def _is_count(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _is_moment(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value).tzinfo is not None
    except (TypeError, ValueError):
        return False
