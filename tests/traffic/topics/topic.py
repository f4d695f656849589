"""What the generator knows of a topic: how its payload looks and where it can be damaged."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import NamedTuple

from tests.traffic import clock
from tests.traffic.document import Path, path, template

KEY = path("_metadata.idempotencyKeyResource")
PERIOD = path("_metadata.periodReference")
UPDATED = path("_metadata.lastUpdatedTs")


class Occasion(NamedTuple):
    """Whose event it is (`identity` names key and ids) and when it was published and updated, in milliseconds."""

    identity: int
    published: int
    updated: int


@dataclass(frozen=True)
class Topic:
    name: str
    paths: tuple[Path, ...]
    tokens: Callable[[Random, Occasion], tuple[str, ...]]
    cdes: tuple[Path, ...]
    optional: tuple[Path, ...]
    numbers: tuple[Path, ...]
    undeclared: tuple[Path, ...]
    timestamps: tuple[Path, ...]
    uncastable: Mapping[Path, tuple[str, ...]]
    violations: tuple[Mapping[Path, str], ...]

    @cached_property
    def template(self) -> str:
        return template(self.paths)

    def text(self, random: Random, occasion: Occasion) -> str:
        return self.template % self.tokens(random, occasion)


def metadata(prefix: str, random: Random, occasion: Occasion) -> tuple[str, str, str, str]:
    """Tokens of `_metadata`; one message in sixteen writes its update time as milliseconds."""
    updated = str(occasion.updated) if random.random() < 0.0625 else f'"{clock.text(occasion.updated)}"'
    return (
        f'"{key(prefix, occasion.identity)}"',
        f'"{clock.period(occasion.published)}"',
        f'"{int(random.random() * 0x1000000000000):012x}"',
        updated,
    )


def key(prefix: str, identity: int) -> str:
    return f"{prefix}-{identity:010d}"
