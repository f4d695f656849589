"""EMR Serverless's job runs as boto3 sees them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from local.jobs.scheduler import Limits
from local.jobs.service import APPLICATION
from tests.local.jobs.harness import Jobs, eventually

ROLE = "arn:aws:iam::000000000000:role/emr"


def start(jobs: Jobs, emr: Any, token: str, arguments: list[str] | None = None, **more: Any) -> str:
    driver = {"sparkSubmit": {"entryPoint": str(jobs.script), "entryPointArguments": arguments or []}}
    answer = emr.start_job_run(
        applicationId=APPLICATION, clientToken=token, executionRoleArn=ROLE, jobDriver=driver, **more
    )
    run_id: str = answer["jobRunId"]
    return run_id


def state(emr: Any, run_id: str, *states: str) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        run: dict[str, Any] = emr.get_job_run(applicationId=APPLICATION, jobRunId=run_id)["jobRun"]
        return run if run["state"] in states else None

    found: dict[str, Any] = eventually(look)
    return found


def end(emr: Any, run_id: str) -> dict[str, Any]:
    return state(emr, run_id, "SUCCESS", "FAILED", "CANCELLED")


def test_a_run_gets_its_arguments_and_tells_where_its_log_is(jobs: Jobs) -> None:
    jobs.start()
    emr = jobs.emr
    run = end(emr, start(jobs, emr, "a", ["--topics", "events"], name="a mark"))
    assert (run["state"], run["name"], run["executionRole"]) == ("SUCCESS", "a mark", ROLE)
    assert run["createdAt"] <= run["startedAt"] <= run["endedAt"] == run["updatedAt"]
    log = Path(run["stateDetails"].removeprefix("Log: "))
    assert json.loads((log.parent / "output").read_text())["argv"] == ["--topics", "events"]
    board = emr.get_dashboard_for_job_run(applicationId=APPLICATION, jobRunId=run["jobRunId"])
    assert board["url"] == log.parent.as_uri()


def test_the_same_token_is_the_same_run(jobs: Jobs) -> None:
    jobs.start()
    emr = jobs.emr
    mark = ["--mark", str(jobs.folder / "mark")]
    first = start(jobs, emr, "a", mark)
    assert start(jobs, emr, "a", mark) == first
    end(emr, first)
    assert start(jobs, emr, "a", mark) == first
    with pytest.raises(emr.exceptions.ConflictException, match=first):
        start(jobs, emr, "a", ["--exit", "1"])
    other = start(jobs, emr, "b", mark)
    assert other != first
    end(emr, other)
    assert (jobs.folder / "mark").read_text() == "done\ndone\n"


def test_a_failure_says_why(jobs: Jobs) -> None:
    jobs.start()
    emr = jobs.emr
    run = end(emr, start(jobs, emr, "a", ["--exit", "3", "--say", "Traceback …\nValueError: no\n"]))
    assert run["state"] == "FAILED"
    assert run["stateDetails"].startswith("ValueError: no (exit code 3). Log: /")


def test_a_run_waits_for_a_place_and_can_be_cancelled(jobs: Jobs) -> None:
    jobs.start(limits=Limits(places=1, grace_seconds=0.5, look_seconds=0.02))
    emr = jobs.emr
    wait, _ = jobs.waiting("never")
    first = start(jobs, emr, "a", ["--until", wait["--until"]])
    state(emr, first, "RUNNING")
    second = start(jobs, emr, "b")
    state(emr, second, "PENDING")
    with pytest.raises(emr.exceptions.ValidationException, match="have not ended"):
        emr.stop_application(applicationId=APPLICATION)
    emr.cancel_job_run(applicationId=APPLICATION, jobRunId=first)
    assert end(emr, first)["state"] == "CANCELLED"
    assert end(emr, second)["state"] == "SUCCESS"
    with pytest.raises(emr.exceptions.ValidationException, match="has ended"):
        emr.cancel_job_run(applicationId=APPLICATION, jobRunId=first)


def test_runs_are_listed_by_state_in_pages(jobs: Jobs) -> None:
    jobs.start()
    emr = jobs.emr
    bad = [start(jobs, emr, token, ["--exit", "1"]) for token in ("a", "b", "c")]
    good = start(jobs, emr, "d")
    for run_id in (*bad, good):
        end(emr, run_id)
    pages = emr.get_paginator("list_job_runs").paginate(
        applicationId=APPLICATION, states=["FAILED", "CANCELLED"], PaginationConfig={"PageSize": 2}
    )
    assert [run["id"] for page in pages for run in page["jobRuns"]] == bad[::-1]
    assert [run["id"] for run in emr.list_job_runs(applicationId=APPLICATION)["jobRuns"]] == [good, *bad[::-1]]


def test_applications_are_those_given_and_start_with_a_job(jobs: Jobs) -> None:
    jobs.start()
    emr = jobs.emr

    def of_application() -> str:
        found: str = emr.get_application(applicationId=APPLICATION)["application"]["state"]
        return found

    assert of_application() == "CREATED"
    emr.start_application(applicationId=APPLICATION)
    assert of_application() == "STARTED"
    emr.stop_application(applicationId=APPLICATION)
    assert of_application() == "STOPPED"
    end(emr, start(jobs, emr, "a"))
    assert of_application() == "STARTED"
    with pytest.raises(emr.exceptions.ResourceNotFoundException):
        emr.get_application(applicationId="00other")
    with pytest.raises(emr.exceptions.ResourceNotFoundException):
        emr.get_job_run(applicationId=APPLICATION, jobRunId="000")
