"""Glue's job runs. The codes are Glue's; the texts are ours where they can say more."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from local.jobs import settings
from local.jobs.definitions import Definition
from local.jobs.faults import START, Faults
from local.jobs.protocol import Refused
from local.jobs.runs import Run, State, page
from local.jobs.scheduler import Scheduler, TooManyRuns, new_id

TARGET: Final = "AWSGlue."
VERSION: Final = "5.1"
MOST_LISTED: Final = 200
MOST_STOPPED: Final = 25
STATES: Final[Mapping[State, str]] = {
    State.SUBMITTED: "STARTING",
    State.PENDING: "STARTING",
    State.RUNNING: "RUNNING",
    State.STOPPING: "STOPPING",
    State.SUCCEEDED: "SUCCEEDED",
    State.FAILED: "FAILED",
    State.STOPPED: "STOPPED",
    State.TIMED_OUT: "TIMEOUT",
}
# Of a start, repeated by the run.
REPEATED: Final = ("MaxCapacity", "NumberOfWorkers", "WorkerType", "ExecutionClass", "SecurityConfiguration")
# They change what a start means, and this service would do something else.
UNKNOWN: Final = ("JobRunId", "JobRunQueuingEnabled")


class Glue:
    def __init__(self, scheduler: Scheduler, definitions: Mapping[str, Definition], faults: Faults) -> None:
        self._scheduler = scheduler
        self._definitions = definitions
        self._faults = faults
        self._created = time.time()
        self._operations: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            START: self._start,
            "GetJobRun": self._run,
            "GetJobRuns": self._runs,
            "BatchStopJobRun": self._stop,
            "GetJob": self._job,
        }

    def knows(self, operation: str) -> bool:
        return operation in self._operations

    def answer(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        return self._operations[operation](request)

    def _start(self, request: dict[str, Any]) -> dict[str, Any]:
        name, definition = self._definition(request)
        if unknown := [key for key in UNKNOWN if request.get(key)]:
            raise _invalid(f"the local job service does not know {', '.join(unknown)}")
        given = request.get("Arguments") or {}
        if not all(isinstance(word, str) for pair in given.items() for word in pair):
            raise _invalid("Arguments is not a map of texts")
        if self._faults.take("concurrent_runs", START, name):
            raise _too_many(name)
        run_id, now = new_id("glue"), time.time()
        # Glue's own come first, as on Glue.
        arguments = {"--JOB_NAME": name, "--JOB_RUN_ID": run_id, **definition.arguments, **given}
        minutes = request.get("Timeout")
        run = Run(
            id=run_id,
            engine="glue",
            owner=name,
            script=arguments.get("--scriptLocation") or definition.script,
            arguments=tuple(word for pair in arguments.items() for word in pair),
            settings=settings.honoured(settings.of_glue(arguments)),
            request=request,
            timeout_seconds=minutes * 60.0 if minutes else definition.timeout_seconds,
            created=now,
            updated=now,
        )
        try:
            return {"JobRunId": self._scheduler.submit(run, definition.most_runs).id}
        except TooManyRuns as error:
            raise _too_many(name) from error

    def _run(self, request: dict[str, Any]) -> dict[str, Any]:
        name, _ = self._definition(request)
        run = self._scheduler.runs.find("glue", name, str(request.get("RunId")))
        if run is None:
            raise _not_found(f"job {name} has no run {request.get('RunId')}")
        return {"JobRun": self._described(run)}

    def _runs(self, request: dict[str, Any]) -> dict[str, Any]:
        name, _ = self._definition(request)
        most = request.get("MaxResults") or MOST_LISTED
        if not isinstance(most, int) or not 1 <= most <= MOST_LISTED:
            raise _invalid(f"MaxResults is not from 1 to {MOST_LISTED}")
        shown, token = page(self._scheduler.runs.newest("glue", name), request.get("NextToken"), most)
        return {"JobRuns": [self._described(run) for run in shown], **({"NextToken": token} if token else {})}

    def _stop(self, request: dict[str, Any]) -> dict[str, Any]:
        name, ids = str(request.get("JobName")), request.get("JobRunIds") or []
        if not 1 <= len(ids) <= MOST_STOPPED:
            raise _invalid(f"JobRunIds is not a list of 1 to {MOST_STOPPED}")
        stopped, errors = [], []
        for run_id in ids:
            if self._scheduler.runs.find("glue", name, run_id) is None:
                errors.append(_stop_error(name, run_id, "EntityNotFoundException", "there is no such run"))
            elif self._scheduler.stop(run_id):
                stopped.append({"JobName": name, "JobRunId": run_id})
            else:
                code = "JobRunInvalidStateTransitionException"
                errors.append(_stop_error(name, run_id, code, "the run has ended"))
        return {"SuccessfulSubmissions": stopped, "Errors": errors}

    def _job(self, request: dict[str, Any]) -> dict[str, Any]:
        name, definition = self._definition(request)
        return {
            "Job": {
                "Name": name,
                "Role": "arn:aws:iam::000000000000:role/local",
                "CreatedOn": self._created,
                "LastModifiedOn": self._created,
                "ExecutionProperty": {"MaxConcurrentRuns": definition.most_runs},
                "Command": {"Name": "glueetl", "ScriptLocation": definition.script, "PythonVersion": "3"},
                "DefaultArguments": dict(definition.arguments),
                "MaxRetries": 0,
                "Timeout": _minutes(definition.timeout_seconds),
                "GlueVersion": VERSION,
            }
        }

    def _definition(self, request: dict[str, Any]) -> tuple[str, Definition]:
        name = str(request.get("JobName"))
        if name not in self._definitions:
            raise _not_found(f"there is no job {name}; the local job service has {', '.join(self._definitions)}")
        return name, self._definitions[name]

    def _described(self, run: Run) -> dict[str, Any]:
        described: dict[str, Any] = {
            "Id": run.id,
            "Attempt": 0,
            "JobName": run.owner,
            "JobMode": "SCRIPT",
            "StartedOn": run.created,
            "LastModifiedOn": run.updated,
            "JobRunState": STATES[run.state],
            "Arguments": dict(run.request.get("Arguments") or {}),
            "PredecessorRuns": [],
            "ExecutionTime": int((run.ended or time.time()) - run.started) if run.started else 0,
            "Timeout": _minutes(run.timeout_seconds),
            # Clients add /output and /error to it, and so find the files.
            "LogGroupName": str(self._scheduler.attempt(run).folder),
            "GlueVersion": VERSION,
            **{key: run.request[key] for key in REPEATED if key in run.request},
        }
        if run.ended is not None:
            described["CompletedOn"] = run.ended
        if message := _message(run):
            described["ErrorMessage"] = message
        return described


def _message(run: Run) -> str | None:
    return f"Job run timed out after {run.timeout_seconds:.0f} s" if run.state is State.TIMED_OUT else run.error


def _minutes(seconds: float) -> int:
    return max(1, round(seconds / 60))


def _invalid(message: str) -> Refused:
    return Refused("InvalidInputException", message)


def _not_found(message: str) -> Refused:
    return Refused("EntityNotFoundException", message)


def _too_many(name: str) -> Refused:
    return Refused("ConcurrentRunsExceededException", f"Concurrent runs exceeded for {name}")


def _stop_error(name: str, run_id: str, code: str, message: str) -> dict[str, Any]:
    return {"JobName": name, "JobRunId": run_id, "ErrorDetail": {"ErrorCode": code, "ErrorMessage": message}}
