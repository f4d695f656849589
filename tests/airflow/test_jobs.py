"""A topic's jobs on their engines: the provider's hooks and triggers in front of the local job service."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from local.jobs import command
from local.jobs.definitions import Definition
from local.jobs.service import APPLICATION
from tests.emulator import Account
from tests.local.jobs.harness import Jobs

pytest.importorskip("airflow")

SCRIPT = """
import boto3, json, os, sys, time
told = dict(zip(sys.argv[1::2], sys.argv[2::2]))
while told.get("--until") and not os.path.exists(told["--until"]):
    time.sleep(0.01)
bucket, key = told["--result"].removeprefix("s3://").split("/", 1)
outcome = {"ok": True, "results": [{"layer": "standardized", "status": "published", "batch": 7, "counts": {"raw": 1}}]}
if told.get("--fail") == "topic":
    outcome = {"ok": False, "error": {"type": "RejectionSpike", "line": "too many", "next_step": "Look at errors."}}
if told.get("--fail") != "silent":
    boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=json.dumps({"topics": {told["--topics"]: outcome}}))
sys.exit(1 if told.get("--fail") else 0)
"""


class Instance:
    dag_id, task_id, run_id = "topic_events", "standardize", "scheduled__2026-11-18T00:00:00+00:00"

    def __init__(self, try_number: int = 1) -> None:
        self.try_number = try_number


@pytest.fixture
def service(jobs: Jobs, account: Account, monkeypatch: pytest.MonkeyPatch) -> Iterator[Jobs]:
    from leanops.airflow import settings

    environment = account.environment
    account.client("s3").create_bucket(
        Bucket=environment.lake_bucket, CreateBucketConfiguration={"LocationConstraint": environment.region}
    )
    folder = jobs.folder / "spark_jobs"
    folder.mkdir()
    (folder / "standardize.py").write_text(SCRIPT)
    jobs.start(
        emulator=account.aws.endpoint,
        definitions={f"{environment.prefix}-standardize": Definition(str(folder / "standardize.py"), most_runs=5)},
        variables=command.variables(account.aws.endpoint, {"PATH": "/usr/bin:/bin"})
        | {"AWS_ACCESS_KEY_ID": environment.account},
    )
    options = {
        "ENVIRONMENT": environment.name,
        "ACCOUNT": environment.account,
        "REGION": environment.region,
        "POLL_SECONDS": "1",
        "EMR_APPLICATION": APPLICATION,
        "EMR_ROLE": f"arn:aws:iam::{environment.account}:role/emr",
        "EMR_SUBMIT_PARAMETERS": "--conf a=b",
        "CODE": str(jobs.folder),
    }
    for name, value in options.items():
        monkeypatch.setenv(f"AIRFLOW__LEANOPS__{name}", value)
    for name in ("AWS_ENDPOINT_URL_GLUE", "AWS_ENDPOINT_URL_EMR_SERVERLESS"):
        monkeypatch.setenv(name, jobs.service.endpoint)
    settings.settings.cache_clear()
    yield jobs
    settings.settings.cache_clear()


def task(engine: str, **arguments: str) -> Any:
    from leanops.airflow.jobs import TopicJob

    return TopicJob(
        task_id="standardize", job="standardize", topic="events", engine=engine, size="small", arguments=arguments
    )


def started(operator: Any, try_number: int = 1) -> Any:
    """The deferral that the task ends in."""
    from airflow.sdk.exceptions import TaskDeferred

    with pytest.raises(TaskDeferred) as deferred:
        operator.execute({"ti": Instance(try_number)})
    return deferred.value


def ended(operator: Any, deferral: Any) -> Any:
    async def event() -> Any:
        async for each in deferral.trigger.run():
            return each.payload
        raise AssertionError("the trigger never fired")

    return operator.execute_complete({"ti": Instance()}, asyncio.run(event()), **deferral.kwargs)


engines = pytest.mark.parametrize("engine", ["glue", "emr_serverless"])


@engines
def test_a_job_runs_without_a_worker_and_its_answer_is_handed_on_as_data(engine: str, service: Jobs) -> None:
    operator = task(engine)
    (result,) = ended(operator, started(operator))
    assert (result["layer"], result["batch"], result["counts"]) == ("standardized", 7, {"raw": 1})


@engines
def test_a_task_that_is_tried_again_goes_on_with_the_job_that_is_still_at_work(engine: str, service: Jobs) -> None:
    waiting, let_go = service.waiting("signal")
    operator = task(engine, until=waiting["--until"])
    first = started(operator)
    second = started(operator, try_number=2)
    assert first.kwargs["run"] == second.kwargs["run"]
    assert len(service.service.runs) == 1
    let_go()
    assert ended(operator, second)


@engines
def test_a_start_whose_answer_got_lost_is_found_again_and_not_repeated(engine: str, service: Jobs) -> None:
    from botocore.exceptions import BotoCoreError

    service.service.faults.add({"kind": "lose_answer"})
    waiting, let_go = service.waiting("signal")
    operator = task(engine, until=waiting["--until"])
    try:
        started(operator)
    except BotoCoreError:
        started(operator, try_number=2)
    assert len(service.service.runs) == 1
    let_go()


@engines
def test_a_task_that_is_cleared_after_its_end_really_runs_again(engine: str, service: Jobs) -> None:
    operator = task(engine)
    first = started(operator)
    ended(operator, first)
    second = started(operator, try_number=2)
    assert first.kwargs["run"] != second.kwargs["run"]
    ended(operator, second)
    assert len(service.service.runs) == 2


@engines
def test_a_topic_that_failed_says_so_in_the_jobs_own_words(engine: str, service: Jobs) -> None:
    from leanops.airflow.answers import TopicFailed

    operator = task(engine, fail="topic")
    with pytest.raises(TopicFailed, match=r"too many.*Look at errors"):
        ended(operator, started(operator))


@engines
def test_a_job_that_died_without_an_answer_is_not_answered_for_by_an_earlier_one(engine: str, service: Jobs) -> None:
    from leanops.airflow.engines import JobFailed

    good = task(engine)
    ended(good, started(good))
    dumb = task(engine, fail="silent")
    deferral = started(dumb, try_number=2)
    with pytest.raises(JobFailed, match="Cannot finish"):
        ended(dumb, deferral)


def test_settings_that_are_missing_are_named_with_the_way_to_set_them(monkeypatch: pytest.MonkeyPatch) -> None:
    from leanops.airflow import settings

    for name in ("ENVIRONMENT", "ACCOUNT", "REGION"):
        monkeypatch.delenv(f"AIRFLOW__LEANOPS__{name}", raising=False)
    settings.settings.cache_clear()
    with pytest.raises(settings.MissingOption, match="AIRFLOW__LEANOPS__ENVIRONMENT"):
        settings.settings()
