"""Starts runs as places come free, watches them, ends them. One thread changes what the calls only ask for."""

from __future__ import annotations

import logging
import secrets
import shutil
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from leanops.core.errors import LeanOpsError
from local.jobs import outcome, scripts
from local.jobs.attempt import Attempt
from local.jobs.command import Command, Submission
from local.jobs.faults import START, Faults
from local.jobs.runs import QUEUED, Engine, Run, Runs, State

LOG: Final = logging.getLogger(__name__)
PREFIXES: Final[Mapping[Engine, str]] = {"glue": "jr_", "emr-serverless": "00"}


class TooManyRuns(Exception):
    """The job has as many unfinished runs as it may have."""


@dataclass(frozen=True)
class Limits:
    # Jobs at a time, of both engines together.
    places: int = 2
    # From the polite signal to the other one.
    grace_seconds: float = 10.0
    look_seconds: float = 0.1


def new_id(engine: Engine) -> str:
    return PREFIXES[engine] + secrets.token_hex(32 if engine == "glue" else 7)


class Scheduler:
    def __init__(
        self, folder: Path, command: Command, variables: Mapping[str, str], limits: Limits, faults: Faults
    ) -> None:
        self.runs = Runs(folder)
        self._command = command
        self._variables = variables
        self._limits = limits
        self._faults = faults
        self._lock = threading.RLock()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._work, name="scheduler", daemon=True)
        # Runs whose freeze or kill has been done.
        self._struck: set[str] = set()

    def start(self) -> None:
        self.runs.load()
        for run in self.runs:
            # The former service may have died between starting the process and noting it.
            if run.state in QUEUED and (attempt := self.attempt(run)).was_started():
                now = time.time()
                self.runs.change(run.id, now, state=State.RUNNING, started=now, pid=attempt.pid())
        self._thread.start()

    def close(self, *, end_jobs: bool) -> None:
        """Jobs that are left running are found by the next service on this folder."""
        self._closing.set()
        self._wake.set()
        self._thread.join()
        if not end_jobs:
            return
        for run in self.runs:
            if not run.is_ended:
                self.attempt(run).send(signal.SIGKILL, run.pid)
                self._end(run, State.FAILED, None, "the local job service was stopped, and the job with it")

    def attempt(self, run: Run) -> Attempt:
        return Attempt(self.runs.place(run.id))

    def submit(self, run: Run, most: int | None = None) -> Run:
        """The run, or the former one of its token. It is on disk before anyone is told."""
        with self._lock:
            if run.token is not None and (former := self.runs.with_token(run.owner, run.token)):
                return former
            if most is not None and self.runs.living(run.engine, run.owner) >= most:
                raise TooManyRuns
            self.runs.save(self._afflicted(run))
        self._wake.set()
        return run

    def stop(self, run_id: str, ends_as: State = State.STOPPED) -> bool:
        """False where there is nothing left to stop."""
        with self._lock:
            run, now = self.runs[run_id], time.time()
            if run.is_ended or self.attempt(run).exit_code() is not None:
                return False
            if run.state in QUEUED:
                self._end(run, ends_as, None, None)
            elif run.state is State.RUNNING:
                self.runs.change(run.id, now, state=State.STOPPING, ends_as=ends_as, ending_since=now)
                self.attempt(run).send(signal.SIGTERM, run.pid)
        self._wake.set()
        return True

    def _afflicted(self, run: Run) -> Run:
        """Here and not at the call, so that a start that is refused uses no fault up."""
        frozen = self._faults.take("stuck", START, run.owner)
        killed = self._faults.take("kill", START, run.owner)
        return replace(run, freeze_after=frozen.after if frozen else None, kill_after=killed.after if killed else None)

    def _work(self) -> None:
        while not self._closing.is_set():
            for run in self.runs:
                if run.is_ended:
                    continue
                try:
                    # As it is by now: a run before it may have taken its time.
                    self._attend(self.runs[run.id])
                except Exception as error:
                    # One run must not stop the others.
                    LOG.exception("run %s failed in the service", run.id)
                    self._end(run, State.FAILED, None, f"{type(error).__name__}: {error}")
            self._wake.wait(self._limits.look_seconds)
            self._wake.clear()

    def _attend(self, run: Run) -> None:
        if run.is_ended:
            return
        if run.state in QUEUED:
            if self._taken() < self._limits.places:
                self._launch(run)
            elif run.state is State.SUBMITTED:
                with self._lock:
                    if self.runs[run.id].state is State.SUBMITTED:
                        self.runs.change(run.id, time.time(), state=State.PENDING)
            return
        attempt = self.attempt(run)
        is_alive = attempt.is_alive()
        # Asked in this order, a code that is written meanwhile is seen.
        if (code := attempt.exit_code()) is not None or not is_alive:
            self._collect(run, code)
        elif run.state is State.STOPPING:
            if run.ending_since is not None and time.time() - run.ending_since > self._limits.grace_seconds:
                attempt.send(signal.SIGKILL, run.pid)
        else:
            self._watch(run, attempt)

    def _taken(self) -> int:
        return sum(run.state in (State.RUNNING, State.STOPPING) for run in self.runs)

    def _launch(self, run: Run) -> None:
        attempt = self.attempt(run)
        try:
            script = scripts.fetched(run.script, attempt.folder, self._variables)
            command = self._command(Submission(run.owner, script, run.arguments, run.settings))
        except LeanOpsError as error:
            self._end(run, State.FAILED, None, str(error))
            return
        with self._lock:
            # It may have been stopped while its script was fetched.
            if self.runs[run.id].state in QUEUED:
                pid = attempt.start(command, self._variables)
                now = time.time()
                self.runs.change(run.id, now, state=State.RUNNING, started=now, pid=pid)
                LOG.info("run %s of %s started, process group %s, log %s", run.id, run.owner, pid, attempt.error)

    def _watch(self, run: Run, attempt: Attempt) -> None:
        age = time.time() - (run.started or run.created)
        if age > run.timeout_seconds:
            self.stop(run.id, State.TIMED_OUT)
        elif run.id not in self._struck:
            for after, number in ((run.kill_after, signal.SIGKILL), (run.freeze_after, signal.SIGSTOP)):
                if after is not None and age >= after:
                    attempt.send(number, run.pid)
                    self._struck.add(run.id)

    def _collect(self, run: Run, code: int | None) -> None:
        attempt = self.attempt(run)
        # What the job has left behind.
        attempt.send(signal.SIGKILL, run.pid)
        with self._lock:
            # A stop notes itself before it sends its signal.
            run = self.runs[run.id]
        if code == 0:
            self._end(run, State.SUCCEEDED, code, None)
        elif run.ends_as is not None:
            self._end(run, run.ends_as, code, None)
        else:
            self._end(run, State.FAILED, code, outcome.failure(code, attempt.error))

    def _end(self, run: Run, state: State, code: int | None, error: str | None) -> None:
        now = time.time()
        with self._lock:
            if self.runs[run.id].is_ended:
                return
            self.runs.change(run.id, now, state=state, ended=now, exit_code=code, error=error)
        shutil.rmtree(self.attempt(run).scratch, ignore_errors=True)
        LOG.info("run %s of %s ended: %s %s", run.id, run.owner, state, error or "")
