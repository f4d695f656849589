"""AWS Glue. StartJobRun has no client token: a run is found again by its own argument `--run`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow.providers.amazon.aws.hooks.glue import GlueJobHook
from airflow.providers.amazon.aws.triggers.glue import GlueJobCompleteTrigger
from botocore.config import Config

from leanops.airflow.engines.engine import Job, JobFailed
from leanops.airflow.settings import Settings

ALIVE: Final = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})
WORKERS: Final = {"small": 2, "medium": 4, "large": 10}
# Runs are listed newest first; a living one of ours is never this far down.
LISTED: Final = 200
WAIT_SECONDS: Final = 2 * 60 * 60


class Glue:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        region = settings.environment.region
        self._hook = GlueJobHook(aws_conn_id=None, region_name=region)
        # boto3 would repeat a start whose answer got lost, and Glue would start a second run. The task is tried again
        # instead, and then finds the first.
        once = Config(retries={"mode": "standard", "total_max_attempts": 1})
        self._starter = GlueJobHook(aws_conn_id=None, region_name=region, config=once)

    def running(self, job: Job) -> str | None:
        pages = self._hook.conn.get_paginator("get_job_runs").paginate(
            JobName=self._settings.job(job.name), PaginationConfig={"MaxItems": LISTED, "PageSize": 50}
        )
        for run in (run for page in pages for run in page["JobRuns"]):
            if run["JobRunState"] in ALIVE and (run.get("Arguments") or {}).get("--run") == job.mark:
                return str(run["Id"])
        return None

    def start(self, job: Job) -> str:
        arguments = {f"--{key}": value for key, value in job.arguments.items()}
        answer = self._starter.conn.start_job_run(
            JobName=self._settings.job(job.name),
            Arguments=arguments,
            NumberOfWorkers=WORKERS[job.size],
            WorkerType="G.1X",
        )
        return str(answer["JobRunId"])

    def trigger(self, job_name: str, run: str) -> GlueJobCompleteTrigger:
        delay = self._settings.poll_seconds
        return GlueJobCompleteTrigger(
            job_name=self._settings.job(job_name),
            run_id=run,
            waiter_delay=delay,
            waiter_max_attempts=WAIT_SECONDS // delay,
            aws_conn_id=None,
            region_name=self._settings.environment.region,
        )

    def prove(self, job_name: str, run: str, event: Mapping[str, Any] | None) -> None:
        if event is not None and event.get("status") == "success":
            return
        name = self._settings.job(job_name)
        found = self._hook.conn.get_job_run(JobName=name, RunId=run)["JobRun"]
        if found["JobRunState"] == "SUCCEEDED":
            return
        reason = found.get("ErrorMessage") or f"its state is {found['JobRunState']}"
        logs = f"log group {found.get('LogGroupName') or '/aws-glue/jobs'}, stream {run}"
        raise JobFailed(name, run, reason, f"Read {logs}; then clear this task.")
