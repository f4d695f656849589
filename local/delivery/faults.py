"""Misbehaviour on request. All that a real delivery stream may do, at rates that make it happen within a test."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from random import Random
from threading import Lock
from typing import Any, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Faults:
    """Shares from 0 to 1."""

    # Of the records of a batch that are answered with an error code.
    refuse: float = 0.0
    # Records that hold this text are always refused.
    poison: str = ""
    # Of the requests that are refused as a whole.
    throttle: float = 0.0
    # Of the requests that are accepted while the answer is an error: the sender will repeat them.
    lose_answer: float = 0.0
    # Of the accepted records that are delivered twice.
    duplicate: float = 0.0
    # Of the deliveries that fail at the lake and are tried again.
    fail_delivery: float = 0.0
    # Whether records are delivered in another order than they came.
    shuffle: bool = False

    def changed(self, values: dict[str, Any]) -> Faults:
        known = {field.name for field in fields(self)}
        unknown = sorted(values.keys() - known)
        if unknown:
            raise ValueError(
                f"Cannot set faults, no such name: {', '.join(unknown)}. Use some of {', '.join(sorted(known))}."
            )
        return replace(self, **values)


class Dice:
    """One sequence of chances for all threads; the seed makes it repeatable where one thread asks."""

    def __init__(self, faults: Faults, seed: int = 0) -> None:
        self.faults = faults
        self._random = Random(seed)  # nosec B311: chances, no secrets
        self._lock = Lock()

    def falls(self, share: float) -> bool:
        if share <= 0:
            return False
        with self._lock:
            return self._random.random() < share

    def shuffled(self, items: list[Item]) -> list[Item]:
        with self._lock:
            return self._random.sample(items, len(items))
