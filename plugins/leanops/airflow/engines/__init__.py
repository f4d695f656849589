"""Where a topic's jobs run: Glue, EMR Serverless, or spark-submit, behind one small interface."""

from __future__ import annotations

from leanops.airflow.engines.engine import Engine, Job, JobFailed
from leanops.airflow.settings import Settings
from leanops.core.contract.model import Engine as EngineName

__all__ = ["Engine", "Job", "JobFailed", "engine_of"]


def engine_of(name: EngineName, settings: Settings) -> Engine:
    """Imported when a task needs it: the providers are heavy, and a DAG file is parsed all the time."""
    match name:
        case "glue":
            from leanops.airflow.engines.glue import Glue

            return Glue(settings)
        case "emr_serverless":
            from leanops.airflow.engines.emr_serverless import EmrServerless

            return EmrServerless(settings)
        case "spark_submit":
            from leanops.airflow.engines.spark_submit import SparkSubmit

            return SparkSubmit(settings)
