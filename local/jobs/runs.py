"""Runs and where they are kept: one folder each, whose run.json is replaced whole at every change."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from threading import Lock
from typing import Any, Final, Literal

Engine = Literal["glue", "emr-serverless"]
DOCUMENT: Final = "run.json"


class State(StrEnum):
    """The run's own state; each protocol has its words for it."""

    SUBMITTED = "submitted"
    # All places are taken.
    PENDING = "pending"
    RUNNING = "running"
    STOPPING = "stopping"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    STOPPED = "stopped"
    TIMED_OUT = "timed_out"


QUEUED: Final = frozenset({State.SUBMITTED, State.PENDING})
ENDED: Final = frozenset({State.SUCCEEDED, State.FAILED, State.STOPPED, State.TIMED_OUT})


@dataclass(frozen=True)
class Run:
    id: str
    engine: Engine
    # Glue's job or EMR's application.
    owner: str
    script: str
    arguments: tuple[str, ...]
    # Spark's, as `key=value`.
    settings: tuple[str, ...]
    # As it came, for the answers that repeat it.
    request: Mapping[str, Any]
    timeout_seconds: float
    created: float
    updated: float
    token: str | None = None
    state: State = State.SUBMITTED
    started: float | None = None
    ended: float | None = None
    pid: int | None = None
    exit_code: int | None = None
    error: str | None = None
    # What the run will be when its process is gone, since when it is being ended.
    ends_as: State | None = None
    ending_since: float | None = None
    # Seconds from the start until its processes are frozen or killed, on request.
    freeze_after: float | None = None
    kill_after: float | None = None

    @property
    def is_ended(self) -> bool:
        return self.state in ENDED


@dataclass
class Runs:
    """Readers get whole runs without a lock, since a run is never changed but replaced."""

    folder: Path
    _known: dict[str, Run] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def load(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        found = [_read(path) for path in self.folder.glob(f"*/{DOCUMENT}")]
        self._known = {run.id: run for run in sorted(found, key=lambda run: (run.created, run.id))}

    def place(self, run_id: str) -> Path:
        return self.folder / run_id

    def save(self, run: Run) -> Run:
        with self._lock:
            folder = self.place(run.id)
            folder.mkdir(exist_ok=True)
            part = folder / f"{DOCUMENT}.part"
            part.write_text(json.dumps(asdict(run), indent=1), encoding="utf-8")
            part.replace(folder / DOCUMENT)
            self._known[run.id] = run
        return run

    def change(self, run_id: str, now: float, **changed: Any) -> Run:
        return self.save(replace(self._known[run_id], updated=now, **changed))

    def find(self, engine: Engine, owner: str, run_id: str) -> Run | None:
        run = self._known.get(run_id)
        return run if run and (run.engine, run.owner) == (engine, owner) else None

    def __getitem__(self, run_id: str) -> Run:
        return self._known[run_id]

    def __iter__(self) -> Iterator[Run]:
        """Oldest first."""
        with self._lock:
            return iter(list(self._known.values()))

    def newest(self, engine: Engine, owner: str) -> list[Run]:
        return [run for run in self if (run.engine, run.owner) == (engine, owner)][::-1]

    def living(self, engine: Engine, owner: str) -> int:
        return sum(not run.is_ended for run in self.newest(engine, owner))

    def with_token(self, owner: str, token: str) -> Run | None:
        return next((run for run in self if (run.owner, run.token) == (owner, token)), None)


def _read(path: Path) -> Run:
    values = json.loads(path.read_text(encoding="utf-8"))
    for name in ("state", "ends_as"):
        values[name] = State(values[name]) if values[name] is not None else None
    for name in ("arguments", "settings"):
        values[name] = tuple(values[name])
    return Run(**values)


def page(runs: list[Run], token: str | None, most: int) -> tuple[list[Run], str | None]:
    """A page after the run that the token names; runs that came meanwhile are before it and shift nothing."""
    ids = [run.id for run in runs]
    start = ids.index(token) + 1 if token in ids else 0
    shown = runs[start : start + most]
    return shown, shown[-1].id if start + most < len(runs) else None
