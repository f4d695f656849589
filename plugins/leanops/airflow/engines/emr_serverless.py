"""EMR Serverless. A client token guards one request; a run of an earlier try is found by its name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow.providers.amazon.aws.hooks.emr import EmrServerlessHook
from airflow.providers.amazon.aws.triggers.emr import EmrServerlessStartJobTrigger

from leanops.airflow.engines.engine import Job, JobFailed
from leanops.airflow.settings import Settings

ALIVE: Final = ("SUBMITTED", "PENDING", "SCHEDULED", "RUNNING", "QUEUED")
CORES: Final = {"small": (2, 1), "medium": (4, 2), "large": (4, 8)}
WAIT_SECONDS: Final = 2 * 60 * 60


class EmrServerless:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._hook = EmrServerlessHook(aws_conn_id=None, region_name=settings.environment.region)
        self._application = settings.option("emr_application")

    def running(self, job: Job) -> str | None:
        pages = self._hook.conn.get_paginator("list_job_runs").paginate(
            applicationId=self._application, states=list(ALIVE)
        )
        runs = (run for page in pages for run in page["jobRuns"])
        return next((str(run["id"]) for run in runs if run.get("name") == job.mark), None)

    def start(self, job: Job) -> str:
        cores, executors = CORES[job.size]
        parameters = [
            self._settings.option("emr_submit_parameters"),
            f"--conf spark.executor.cores={cores}",
            f"--conf spark.executor.instances={executors}",
        ]
        answer = self._hook.conn.start_job_run(
            applicationId=self._application,
            clientToken=job.token,
            executionRoleArn=self._settings.option("emr_role"),
            name=job.mark,
            jobDriver={
                "sparkSubmit": {
                    "entryPoint": f"{self._settings.option('code')}/spark_jobs/{job.name}.py",
                    "entryPointArguments": job.command,
                    "sparkSubmitParameters": " ".join(parameters),
                }
            },
        )
        return str(answer["jobRunId"])

    def trigger(self, job_name: str, run: str) -> EmrServerlessStartJobTrigger:
        delay = self._settings.poll_seconds
        return EmrServerlessStartJobTrigger(
            application_id=self._application,
            job_id=run,
            waiter_delay=delay,
            waiter_max_attempts=WAIT_SECONDS // delay,
            aws_conn_id=None,
            # A run that is cleared while its job lives goes on with that job.
            cancel_on_kill=False,
        )

    def prove(self, job_name: str, run: str, event: Mapping[str, Any] | None) -> None:
        if event is not None and event.get("status") == "success":
            return
        found = self._hook.conn.get_job_run(applicationId=self._application, jobRunId=run)["jobRun"]
        if found["state"] == "SUCCESS":
            return
        reason = found.get("stateDetails") or f"its state is {found['state']}"
        remedy = f"Read the driver's log in the application's {self._application} UI; then clear this task."
        raise JobFailed(job_name, run, reason, remedy)
