"""What a job answers: data for the next step, never something to be read out of a log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum


class Status(StrEnum):
    PUBLISHED = "published"
    COVERED = "covered"  # the table had taken the batch in before; the counts are those of that time
    NOTHING = "nothing"  # there is no batch
    BALANCED = "balanced"  # reconcile found every record of the batch


@dataclass(frozen=True)
class Result:
    topic: str
    layer: str
    status: Status
    batch: int | None = None
    source_snapshot: int | None = None
    snapshot: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    columns_added: tuple[str, ...] = ()
    files: int = 0
    bytes: int = 0

    def as_json(self) -> str:
        return json.dumps(asdict(self))
