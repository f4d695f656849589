"""spark-submit from the worker itself: for a laptop, or a cluster that the worker can reach. It holds the worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

from leanops.airflow.engines.engine import Job
from leanops.airflow.settings import Settings


class SparkSubmit:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def running(self, job: Job) -> None:
        """A worker that is gone has taken its job along; were it not so, both would leave the same rows."""

    def start(self, job: Job) -> str:
        hook = SparkSubmitHook(
            conn_id=self._settings.optional("spark_connection") or "spark_default",
            name=job.mark,
            jars=self._settings.optional("spark_jars"),
            driver_memory=self._settings.optional("spark_driver_memory"),
            application_args=job.command,
        )
        hook.submit(f"{self._settings.option('code')}/spark_jobs/{job.name}.py")
        return job.mark

    def trigger(self, job_name: str, run: str) -> None:
        """The submission has waited for the end."""

    def prove(self, job_name: str, run: str, event: Mapping[str, Any] | None) -> None:
        """The submission has raised where it failed."""
