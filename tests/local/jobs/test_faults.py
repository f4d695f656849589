"""Misbehaviour on request."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import pytest

from local.jobs.faults import Fault, Faults, InvalidFault
from local.jobs.service import APPLICATION
from tests.local.jobs.harness import Jobs, eventually, glue_end, glue_state


def administer(jobs: Jobs, method: str, document: Any = None) -> list[dict[str, Any]]:
    data = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(f"{jobs.service.endpoint}/_faults", data, method=method)
    with urllib.request.urlopen(request) as answer:
        pending: list[dict[str, Any]] = json.load(answer)["faults"]
    return pending


def start(glue: Any, **arguments: str) -> str:
    given = {f"--{name}": value for name, value in arguments.items()}
    run_id: str = glue.start_job_run(JobName="standardize", Arguments=given)["JobRunId"]
    return run_id


def test_the_next_calls_are_throttled_and_a_client_that_retries_gets_through(jobs: Jobs) -> None:
    jobs.start(faults=[Fault("throttle", times=2)])
    glue, emr = jobs.glue, jobs.emr
    with pytest.raises(glue.exceptions.ClientError, match=r"ThrottlingException.*Rate exceeded"):
        start(glue)
    with pytest.raises(emr.exceptions.ClientError, match="ThrottlingException"):
        emr.get_application(applicationId=APPLICATION)
    administer(jobs, "POST", {"kind": "throttle", "operation": "StartJobRun"})
    assert glue.get_job_runs(JobName="standardize")["JobRuns"] == []
    patient = jobs.client("glue", attempts=3)
    glue_end(glue, start(patient))
    assert administer(jobs, "GET") == []
    assert len(jobs.service.runs) == 1


def test_an_answer_is_lost_while_the_run_has_started(jobs: Jobs) -> None:
    from botocore.exceptions import ConnectionClosedError

    jobs.start()
    glue, emr = jobs.glue, jobs.emr
    administer(jobs, "POST", [{"kind": "lose_answer", "owner": owner} for owner in ("standardize", APPLICATION)])
    with pytest.raises(ConnectionClosedError):
        start(glue, run="a mark")
    (run,) = glue.get_job_runs(JobName="standardize")["JobRuns"]
    assert run["Arguments"] == {"--run": "a mark"}
    assert glue_end(glue, run["Id"])["JobRunState"] == "SUCCEEDED"
    request = {
        "applicationId": APPLICATION,
        "clientToken": "token",
        "executionRoleArn": "arn:aws:iam::000000000000:role/emr",
        "jobDriver": {"sparkSubmit": {"entryPoint": str(jobs.script)}},
    }
    with pytest.raises(ConnectionClosedError):
        emr.start_job_run(**request)
    (lost,) = emr.list_job_runs(applicationId=APPLICATION)["jobRuns"]
    assert emr.start_job_run(**request)["jobRunId"] == lost["id"]


def test_a_client_that_repeats_a_start_whose_answer_was_lost_has_two_runs_on_glue(jobs: Jobs) -> None:
    jobs.start(faults=[Fault("lose_answer")])
    kept = start(jobs.client("glue", attempts=2))
    assert [run.id == kept for run in jobs.service.runs] == [False, True]


def test_a_stuck_run_stays_running_until_it_is_stopped(jobs: Jobs) -> None:
    jobs.start(faults=[Fault("stuck")])
    glue = jobs.glue
    stuck, other = start(glue), start(glue)
    assert glue_end(glue, other)["JobRunState"] == "SUCCEEDED"
    assert glue_state(glue, stuck, "RUNNING")
    glue.batch_stop_job_run(JobName="standardize", JobRunIds=[stuck])
    # Frozen, it does not hear the polite signal.
    assert glue_end(glue, stuck)["JobRunState"] == "STOPPED"


def test_a_killed_run_fails_and_the_next_does_not(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    administer(jobs, "POST", {"kind": "kill", "after": 0.2, "owner": "standardize"})
    wait, go = jobs.waiting("go")
    killed = start(glue, until=wait["--until"])
    run = glue_end(glue, killed)
    assert run["JobRunState"] == "FAILED"
    assert "left no exit code" in run["ErrorMessage"]
    assert run["LogGroupName"] in run["ErrorMessage"]
    go()
    assert glue_end(glue, start(glue, until=wait["--until"]))["JobRunState"] == "SUCCEEDED"


def test_the_limit_of_concurrent_runs_is_met_on_request(jobs: Jobs) -> None:
    jobs.start(faults=[Fault("concurrent_runs", times=2)])
    glue = jobs.glue
    for _ in range(2):
        with pytest.raises(glue.exceptions.ConcurrentRunsExceededException):
            start(glue)
    assert glue_end(glue, start(glue))["JobRunState"] == "SUCCEEDED"
    assert len(jobs.service.runs) == 1


def test_a_start_that_is_refused_uses_no_fault_of_a_run_up(jobs: Jobs) -> None:
    jobs.start(faults=[Fault("concurrent_runs"), Fault("stuck")])
    glue = jobs.glue
    with pytest.raises(glue.exceptions.ConcurrentRunsExceededException):
        start(glue)
    assert [each["kind"] for each in administer(jobs, "GET")] == ["stuck"]


def test_faults_can_be_seen_and_cleared_and_wrong_ones_are_explained(jobs: Jobs) -> None:
    jobs.start()
    assert administer(jobs, "POST", {"kind": "stuck", "times": 3, "after": 1})[0]["times"] == 3
    with pytest.raises(urllib.error.HTTPError) as refused:
        administer(jobs, "POST", {"kind": "stucked"})
    with refused.value as answer:
        assert json.load(answer)["message"].startswith("Cannot set fault, no such kind: 'stucked'. Use one of throttle")
    assert eventually(lambda: administer(jobs, "DELETE") == [])


@pytest.mark.parametrize(
    "document", [{"kind": "kill", "soon": 1}, {"kind": "kill", "times": 0}, {"kind": "kill", "after": "1"}, 7]
)
def test_a_fault_that_is_not_understood_is_refused(document: Any) -> None:
    with pytest.raises(InvalidFault):
        Faults().add(document)
