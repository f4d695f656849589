"""Glue's job runs as boto3 sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from local.jobs.definitions import Definition
from local.jobs.scheduler import Limits
from tests.local.jobs.harness import NOWHERE, Jobs, eventually, glue_end, glue_state, is_running, output


def start(glue: Any, arguments: dict[str, str] | None = None, **more: Any) -> str:
    run_id: str = glue.start_job_run(JobName="standardize", Arguments=arguments or {}, **more)["JobRunId"]
    return run_id


def test_a_run_gets_its_arguments_in_glues_form_and_the_environment_of_the_emulator(jobs: Jobs) -> None:
    script = str(jobs.script)
    jobs.start(definitions={"standardize": Definition(script, {"--topics": "events", "--threads": "2"})})
    glue = jobs.glue
    run_id = start(glue, {"--topics": "orders", "--run": "a mark"}, NumberOfWorkers=2, WorkerType="G.1X")
    run = glue_end(glue, run_id)
    assert (run["JobRunState"], run["Attempt"], run["JobName"]) == ("SUCCEEDED", 0, "standardize")
    assert run["Arguments"] == {"--topics": "orders", "--run": "a mark"}
    assert (run["NumberOfWorkers"], run["WorkerType"], run["Timeout"]) == (2, "G.1X", 480)
    assert run["StartedOn"] <= run["LastModifiedOn"] == run["CompletedOn"]
    assert "ErrorMessage" not in run
    told = output(run)
    assert told["argv"] == [
        "--JOB_NAME", "standardize", "--JOB_RUN_ID", run_id, "--topics", "orders", "--threads", "2", "--run", "a mark"
    ]  # fmt: skip
    assert told["variables"]["AWS_ENDPOINT_URL"] == NOWHERE
    assert told["variables"]["AWS_ENDPOINT_URL_GLUE"] is None
    assert told["variables"]["LEANOPS_PII_KEY"] == "local"
    assert told["variables"]["PYTHONPATH"].split(":")[0].endswith("plugins")


def test_a_failure_says_its_useful_line_its_code_and_where_the_log_is(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    said = (
        '{"level": "ERROR", "message": "Cannot publish Curated, …"}\n26/11/18 10:00:00 INFO ShutdownHookManager: bye\n'
    )
    run = glue_end(glue, start(glue, {"--exit": "1", "--say": said}))
    assert run["JobRunState"] == "FAILED"
    log = Path(run["LogGroupName"]) / "error"
    assert run["ErrorMessage"] == f"Cannot publish Curated, … (exit code 1). Log: {log}"
    assert log.read_text() == said


def test_a_script_that_is_missing_fails_the_run_and_not_the_start(jobs: Jobs) -> None:
    jobs.start(definitions={"standardize": Definition("spark_jobs/nowhere.py")})
    glue = jobs.glue
    run = glue_end(glue, start(glue))
    assert run["JobRunState"] == "FAILED"
    assert "there is no such file: 'spark_jobs/nowhere.py'" in run["ErrorMessage"]


def test_what_does_not_exist_is_not_found(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    with pytest.raises(glue.exceptions.EntityNotFoundException, match="the local job service has standardize"):
        glue.start_job_run(JobName="standardise")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.get_job(JobName="standardise")
    with pytest.raises(glue.exceptions.EntityNotFoundException, match="has no run jr_0"):
        glue.get_job_run(JobName="standardize", RunId="jr_0")
    with pytest.raises(glue.exceptions.InvalidInputException, match="JobRunQueuingEnabled"):
        start(glue, JobRunQueuingEnabled=True)
    job = glue.get_job(JobName="standardize")["Job"]
    assert job["Command"]["ScriptLocation"] == str(jobs.script)
    assert job["ExecutionProperty"] == {"MaxConcurrentRuns": 5}


def test_a_run_beyond_the_jobs_limit_is_refused_until_one_ends(jobs: Jobs) -> None:
    jobs.start(definitions={"standardize": Definition(str(jobs.script), most_runs=1)})
    glue = jobs.glue
    wait, go = jobs.waiting("go")
    first = start(glue, wait)
    with pytest.raises(glue.exceptions.ConcurrentRunsExceededException):
        start(glue)
    go()
    glue_end(glue, first)
    assert glue_end(glue, start(glue))["JobRunState"] == "SUCCEEDED"
    assert len(jobs.service.runs) == 2


def test_runs_beyond_the_places_wait_and_are_started_in_their_order(jobs: Jobs) -> None:
    jobs.start(limits=Limits(places=1, look_seconds=0.02))
    glue = jobs.glue
    wait, go = jobs.waiting("go")
    mark = jobs.folder / "mark"
    first, second, third = (start(glue, {**wait, "--mark": str(mark)}) for _ in range(3))
    glue_state(glue, first, "RUNNING")
    assert glue_state(glue, second, "STARTING")["ExecutionTime"] == 0
    # Stopped before it had begun: it never runs.
    assert glue.batch_stop_job_run(JobName="standardize", JobRunIds=[third])["SuccessfulSubmissions"]
    assert glue_end(glue, third)["JobRunState"] == "STOPPED"
    go()
    ends = [glue_end(glue, run_id) for run_id in (first, second)]
    assert [run["JobRunState"] for run in ends] == ["SUCCEEDED", "SUCCEEDED"]
    by_id = {run.id: run for run in jobs.service.runs}
    assert (by_id[second].started or 0) >= (by_id[first].ended or 0)
    assert mark.read_text() == "done\ndone\n"


def test_a_stop_ends_the_whole_process_group(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    child = jobs.folder / "child"
    wait, _ = jobs.waiting("never")
    run_id = start(glue, {**wait, "--child": str(child)})
    pid = int(eventually(lambda: child.exists() and child.read_text()))
    answer = glue.batch_stop_job_run(JobName="standardize", JobRunIds=[run_id, "jr_0"])
    assert answer["SuccessfulSubmissions"] == [{"JobName": "standardize", "JobRunId": run_id}]
    assert [each["ErrorDetail"]["ErrorCode"] for each in answer["Errors"]] == ["EntityNotFoundException"]
    assert glue_end(glue, run_id)["JobRunState"] == "STOPPED"
    eventually(lambda: not is_running(pid))
    again = glue.batch_stop_job_run(JobName="standardize", JobRunIds=[run_id])
    assert [each["ErrorDetail"]["ErrorCode"] for each in again["Errors"]] == ["JobRunInvalidStateTransitionException"]


def test_a_run_that_takes_too_long_times_out(jobs: Jobs) -> None:
    jobs.start(definitions={"standardize": Definition(str(jobs.script), timeout_seconds=0.2)})
    glue = jobs.glue
    wait, _ = jobs.waiting("never")
    run = glue_end(glue, start(glue, wait))
    assert run["JobRunState"] == "TIMEOUT"
    assert "timed out" in run["ErrorMessage"]


def test_runs_are_listed_newest_first_in_pages(jobs: Jobs) -> None:
    jobs.start(definitions={"standardize": Definition(str(jobs.script), most_runs=5), "curate": Definition("x")})
    glue = jobs.glue
    started = [start(glue, {"--run": str(number)}) for number in range(5)]
    first = glue.get_job_runs(JobName="standardize", MaxResults=3)
    second = glue.get_job_runs(JobName="standardize", MaxResults=3, NextToken=first["NextToken"])
    assert [run["Id"] for run in first["JobRuns"] + second["JobRuns"]] == started[::-1]
    assert [run["Arguments"]["--run"] for run in second["JobRuns"]] == ["1", "0"]
    assert "NextToken" not in second
    assert glue.get_job_runs(JobName="curate")["JobRuns"] == []
