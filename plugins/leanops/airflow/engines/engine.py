"""The interface of an engine."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from leanops.core.errors import LeanOpsError

if TYPE_CHECKING:
    from airflow.triggers.base import BaseTrigger


class JobFailed(LeanOpsError):
    """A job that ended badly; `topic_error` is what it said of the topic, where it came so far."""

    def __init__(self, job: str, run: str, reason: str, remedy: str) -> None:
        self.job = job
        self.run = run
        super().__init__(f"finish {job}", reason, f"run {run}", remedy)


@dataclass(frozen=True)
class Job:
    """One job of one task. The mark is the same at each try, so that a try finds what an earlier one has started."""

    name: str
    topic: str
    mark: str
    attempt: int
    arguments: Mapping[str, str]
    size: str

    @property
    def token(self) -> str:
        """For services that take a client token: another try is another request."""
        return hashlib.sha256(f"{self.mark}#{self.attempt}".encode()).hexdigest()[:32]

    @property
    def command(self) -> list[str]:
        return [part for key, value in self.arguments.items() for part in (f"--{key}", value)]


class Engine(Protocol):
    def running(self, job: Job) -> str | None:
        """The run of this mark that has not ended: a retried or cleared task goes on with it."""

    def start(self, job: Job) -> str:
        """The id of the new run."""

    def trigger(self, job_name: str, run: str) -> BaseTrigger | None:
        """What waits for the run without a worker; None where the run has ended already."""

    def prove(self, job_name: str, run: str, event: Mapping[str, Any] | None) -> None:
        """JobFailed unless the run ended well."""
