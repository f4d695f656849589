"""The production operators, hooks and triggers of Airflow's amazon provider, in front of the service."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from local.jobs.service import APPLICATION
from tests.local.jobs.harness import Jobs, glue_state

pytest.importorskip("airflow")


class TaskInstance:
    """What the operators ask of theirs."""

    dag_id, task_id, run_id, map_index = "topic_events", "standardize", "scheduled__1", -1

    def __init__(self) -> None:
        self.pushed: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.pushed[key] = value

    def xcom_pull(self, key: str, task_ids: str) -> Any:
        return self.pushed.get(key)


@pytest.fixture(scope="module", autouse=True)
def airflow_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Airflow writes its settings where this points as soon as it is imported."""
    with pytest.MonkeyPatch.context() as patch:
        if "airflow" not in sys.modules:
            patch.setenv("AIRFLOW_HOME", str(tmp_path_factory.mktemp("airflow")))
        yield


@pytest.fixture
def jobs(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> Jobs:
    jobs.start()
    for name in ("AWS_ENDPOINT_URL_GLUE", "AWS_ENDPOINT_URL_EMR_SERVERLESS"):
        monkeypatch.setenv(name, jobs.service.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "000000000000")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    return jobs


def glue_operator(**given: Any) -> Any:
    from airflow.providers.amazon.aws.operators.glue import GlueJobOperator

    return GlueJobOperator(
        task_id="standardize", job_name="standardize", aws_conn_id=None, job_poll_interval=0.05, **given
    )


def emr_operator(jobs: Jobs, arguments: list[str], **given: Any) -> Any:
    from airflow.providers.amazon.aws.operators.emr import EmrServerlessStartJobOperator

    return EmrServerlessStartJobOperator(
        task_id="curate",
        application_id=APPLICATION,
        execution_role_arn="arn:aws:iam::000000000000:role/emr",
        job_driver={"sparkSubmit": {"entryPoint": str(jobs.script), "entryPointArguments": arguments}},
        aws_conn_id=None,
        waiter_delay=1,
        name="a mark",
        **given,
    )


def test_the_glue_operator_runs_a_job_to_its_end(jobs: Jobs) -> None:
    task = TaskInstance()
    mark = jobs.folder / "mark"
    run_id = glue_operator(script_args={"--mark": str(mark)}).execute({"ti": task})
    assert task.pushed["glue_job_run_id"] == run_id == jobs.service.runs[0].id
    assert mark.read_text() == "done\n"


def test_the_glue_operator_raises_for_a_job_that_fails(jobs: Jobs) -> None:
    from airflow.exceptions import AirflowException

    with pytest.raises(AirflowException, match="FAILED"):
        glue_operator(script_args={"--exit": "1"}).execute({"ti": TaskInstance()})


def test_the_glue_operator_of_a_retry_goes_on_with_the_run_that_it_finds(jobs: Jobs) -> None:
    from botocore.exceptions import ConnectionClosedError

    wait, go = jobs.waiting("go")
    jobs.service.faults.add({"kind": "lose_answer"})
    given = {
        "script_args": wait,
        "resume_glue_job_on_retry": True,
        "botocore_config": {"retries": {"total_max_attempts": 1}},
    }
    with pytest.raises(ConnectionClosedError):
        glue_operator(**given).execute({"ti": TaskInstance()})
    (run,) = jobs.service.runs
    assert glue_operator(**given, wait_for_completion=False).execute({"ti": TaskInstance()}) == run.id
    go()
    glue_state(jobs.glue, run.id, "SUCCEEDED")
    # A cleared task really runs again: what has ended is not taken up.
    assert glue_operator(**given).execute({"ti": TaskInstance()}) != run.id


def test_the_glue_hook_waits_out_throttling_and_the_operator_stops_its_run(jobs: Jobs) -> None:
    from airflow.providers.amazon.aws.hooks.glue import GlueJobHook

    hook = GlueJobHook(job_name="standardize", aws_conn_id=None, region_name="eu-central-1", job_poll_interval=0.05)
    wait, _ = jobs.waiting("never")
    run_id = hook.initialize_job(wait)["JobRunId"]
    jobs.service.faults.add({"kind": "throttle", "times": 2, "operation": "GetJobRun"})
    assert hook.get_job_state("standardize", run_id) in ("STARTING", "RUNNING")
    glue_state(jobs.glue, run_id, "RUNNING")
    operator = glue_operator(stop_job_run_on_kill=True)
    operator._job_run_id = run_id
    operator.on_kill()
    assert hook.job_completion("standardize", run_id)["JobRunState"] == "STOPPED"


def test_the_emr_operator_starts_the_application_and_runs_a_job_to_its_end(jobs: Jobs) -> None:
    mark = jobs.folder / "mark"
    jobs.emr.stop_application(applicationId=APPLICATION)
    operator = emr_operator(jobs, ["--mark", str(mark)], config={"clientToken": "a token"})
    run_id = operator.execute({"ti": TaskInstance()})
    assert mark.read_text() == "done\n"
    again = emr_operator(jobs, ["--mark", str(mark)], config={"clientToken": "a token"})
    assert again.execute({"ti": TaskInstance()}) == run_id
    assert mark.read_text() == "done\n"


def test_the_emr_operator_raises_for_a_job_that_fails(jobs: Jobs) -> None:
    from airflow.exceptions import AirflowException

    with pytest.raises(AirflowException, match="Serverless Job failed"):
        emr_operator(jobs, ["--exit", "1"]).execute({"ti": TaskInstance()})


def first_event(trigger: Any) -> dict[str, Any]:
    async def first() -> dict[str, Any]:
        async for event in trigger.run():
            found: dict[str, Any] = event.payload
            return found
        raise AssertionError("no event")

    return asyncio.run(first())


@pytest.mark.parametrize(("code", "status"), [("0", "success"), ("1", "error")])
def test_the_triggers_see_the_end(jobs: Jobs, code: str, status: str) -> None:
    pytest.importorskip("aiobotocore")
    from airflow.providers.amazon.aws.triggers.emr import EmrServerlessStartJobTrigger
    from airflow.providers.amazon.aws.triggers.glue import GlueJobCompleteTrigger

    run_id = jobs.glue.start_job_run(JobName="standardize", Arguments={"--exit": code})["JobRunId"]
    glue = GlueJobCompleteTrigger("standardize", run_id, waiter_delay=1, aws_conn_id=None, region_name="eu-central-1")
    event = first_event(glue)
    assert (event["status"], event["run_id"]) == (status, run_id)
    emr_run = emr_operator(jobs, ["--exit", code], wait_for_completion=False).execute({"ti": TaskInstance()})
    emr = EmrServerlessStartJobTrigger(APPLICATION, emr_run, waiter_delay=1, aws_conn_id=None)
    event = first_event(emr)
    # The provider's own word for it; it names the run only where all went well.
    assert event["status"] == {"error": "failure"}.get(status, status)
