"""EMR Serverless: applications that are given at the start, and their job runs."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from local.jobs import settings
from local.jobs.faults import START
from local.jobs.protocol import Refused
from local.jobs.runs import Run, State, page
from local.jobs.scheduler import Scheduler, new_id

RELEASE: Final = "emr-7.12.0"
# EMR's own default, 12 hours.
TIMEOUT_MINUTES: Final = 720
MOST_LISTED: Final = 50
STATES: Final[Mapping[State, str]] = {
    State.SUBMITTED: "SUBMITTED",
    State.PENDING: "PENDING",
    State.RUNNING: "RUNNING",
    State.STOPPING: "CANCELLING",
    State.SUCCEEDED: "SUCCESS",
    State.FAILED: "FAILED",
    State.STOPPED: "CANCELLED",
    # EMR has no word of its own for it.
    State.TIMED_OUT: "CANCELLED",
}
ROUTES: Final = (
    ("GET", re.compile(r"/applications/([^/]+)"), "GetApplication"),
    ("POST", re.compile(r"/applications/([^/]+)/start"), "StartApplication"),
    ("POST", re.compile(r"/applications/([^/]+)/stop"), "StopApplication"),
    ("POST", re.compile(r"/applications/([^/]+)/jobruns"), START),
    ("GET", re.compile(r"/applications/([^/]+)/jobruns"), "ListJobRuns"),
    ("GET", re.compile(r"/applications/([^/]+)/jobruns/([^/]+)"), "GetJobRun"),
    ("DELETE", re.compile(r"/applications/([^/]+)/jobruns/([^/]+)"), "CancelJobRun"),
    ("GET", re.compile(r"/applications/([^/]+)/jobruns/([^/]+)/dashboard"), "GetDashboardForJobRun"),
)


class Call:
    """One request, matched to its operation."""

    def __init__(self, method: str, url: str) -> None:
        parts = urlsplit(url)
        for route, pattern, operation in ROUTES:
            if route == method and (match := pattern.fullmatch(parts.path)):
                self.operation = operation
                self.application, *rest = (unquote(each) for each in match.groups())
                self.run_id = rest[0] if rest else ""
                self.query = parse_qs(parts.query)
                return
        raise Refused("UnknownOperationException", f"the local job service does not know {method} {parts.path}", 404)

    def asked(self, name: str) -> str | None:
        return self.query[name][-1] if name in self.query else None


class EmrServerless:
    def __init__(self, scheduler: Scheduler, applications: Iterable[str], region: str, account: str) -> None:
        self._scheduler = scheduler
        self._states = dict.fromkeys(applications, "CREATED")
        self._scope = f"arn:aws:emr-serverless:{region}:{account}:"
        self._user = f"arn:aws:iam::{account}:user/local"
        self._created = time.time()

    def answer(self, call: Call, request: dict[str, Any]) -> dict[str, Any]:
        if call.application not in self._states:
            known = ", ".join(self._states)
            raise _not_found(f"there is no application {call.application}; the local job service has {known}")
        match call.operation:
            case "GetApplication":
                return {"application": self._application(call.application)}
            case "StartApplication":
                self._states[call.application] = "STARTED"
                return {}
            case "StopApplication":
                return self._stop_application(call.application)
            case "StartJobRun":
                return self._start(call.application, request)
            case "ListJobRuns":
                return self._list(call)
        run = self._scheduler.runs.find("emr-serverless", call.application, call.run_id)
        if run is None:
            raise _not_found(f"application {call.application} has no job run {call.run_id}")
        match call.operation:
            case "GetJobRun":
                return {"jobRun": self._described(run)}
            case "CancelJobRun":
                if not self._scheduler.stop(run.id):
                    raise _invalid(f"job run {run.id} has ended")
                return {"applicationId": run.owner, "jobRunId": run.id}
            case _:
                return {"url": self._scheduler.attempt(run).folder.as_uri()}

    def _start(self, application: str, request: dict[str, Any]) -> dict[str, Any]:
        driver = (request.get("jobDriver") or {}).get("sparkSubmit") or {}
        if not driver.get("entryPoint"):
            raise _invalid("the local job service runs sparkSubmit with an entryPoint only")
        token = request.get("clientToken")
        if not token or not request.get("executionRoleArn"):
            raise _invalid("clientToken and executionRoleArn are needed")
        now, minutes = time.time(), request.get("executionTimeoutMinutes")
        run = self._scheduler.submit(
            Run(
                id=new_id("emr-serverless"),
                engine="emr-serverless",
                owner=application,
                script=driver["entryPoint"],
                arguments=tuple(driver.get("entryPointArguments") or ()),
                settings=settings.honoured(settings.of_emr(driver, request.get("configurationOverrides") or {})),
                request=request,
                # 0 is EMR's way to say «for ever».
                timeout_seconds=60.0 * (TIMEOUT_MINUTES if minutes is None else minutes) or float("inf"),
                created=now,
                updated=now,
                token=token,
            )
        )
        if run.request != request:
            raise Refused("ConflictException", f"another request has used the client token: run {run.id}", 409)
        # Applications start by themselves when a job comes.
        self._states[application] = "STARTED"
        return {"applicationId": application, "jobRunId": run.id, "arn": self._arn(run)}

    def _list(self, call: Call) -> dict[str, Any]:
        if unknown := sorted(call.query.keys() & {"createdAtAfter", "createdAtBefore"}):
            raise _invalid(f"the local job service does not know {', '.join(unknown)}")
        states = call.query.get("states", [])
        runs = self._scheduler.runs.newest("emr-serverless", call.application)
        wanted = [run for run in runs if not states or STATES[run.state] in states]
        most = int(call.asked("maxResults") or MOST_LISTED)
        if not 1 <= most <= MOST_LISTED:
            raise _invalid(f"maxResults is not from 1 to {MOST_LISTED}")
        shown, token = page(wanted, call.asked("nextToken"), most)
        summaries = [{**self._summary(run), "id": run.id, "type": "Spark"} for run in shown]
        return {"jobRuns": summaries, **({"nextToken": token} if token else {})}

    def _stop_application(self, application: str) -> dict[str, Any]:
        if self._scheduler.runs.living("emr-serverless", application):
            raise _invalid(f"application {application} has job runs that have not ended")
        self._states[application] = "STOPPED"
        return {}

    def _application(self, application: str) -> dict[str, Any]:
        return {
            "applicationId": application,
            "name": application,
            "arn": f"{self._scope}/applications/{application}",
            "releaseLabel": RELEASE,
            "type": "Spark",
            "state": self._states[application],
            "stateDetails": "",
            "createdAt": self._created,
            "updatedAt": self._created,
            "autoStartConfiguration": {"enabled": True},
        }

    def _described(self, run: Run) -> dict[str, Any]:
        repeated = ("configurationOverrides", "tags", "executionTimeoutMinutes")
        times = {"startedAt": run.started, "endedAt": run.ended}
        return {
            **self._summary(run),
            "jobRunId": run.id,
            "jobDriver": run.request["jobDriver"],
            "totalExecutionDurationSeconds": int((run.ended or time.time()) - run.started) if run.started else 0,
            **{key: run.request[key] for key in repeated if key in run.request},
            **{key: value for key, value in times.items() if value is not None},
        }

    def _summary(self, run: Run) -> dict[str, Any]:
        return {
            "applicationId": run.owner,
            "name": run.request.get("name") or run.id,
            "mode": "BATCH",
            "arn": self._arn(run),
            "createdBy": self._user,
            "createdAt": run.created,
            "updatedAt": run.updated,
            "executionRole": run.request["executionRoleArn"],
            "state": STATES[run.state],
            "stateDetails": self._details(run),
            "releaseLabel": RELEASE,
            "attempt": 1,
        }

    def _details(self, run: Run) -> str:
        if run.state is State.TIMED_OUT:
            return f"Job run timed out after {run.timeout_seconds:.0f} s"
        return run.error or f"Log: {self._scheduler.attempt(run).error}"

    def _arn(self, run: Run) -> str:
        return f"{self._scope}/applications/{run.owner}/jobruns/{run.id}"


def _invalid(message: str) -> Refused:
    return Refused("ValidationException", message)


def _not_found(message: str) -> Refused:
    return Refused("ResourceNotFoundException", message, 404)
