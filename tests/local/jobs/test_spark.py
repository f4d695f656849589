"""The product's own job by the real spark-submit."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from local.jobs import command, definitions
from local.jobs.command import SparkSubmit
from tests.conftest import ROOT
from tests.local.jobs.harness import NOWHERE, Jobs, glue_end

pytestmark = pytest.mark.spark


def test_spark_submit_runs_standardize_on_an_empty_raw(jobs: Jobs, tmp_path: Path) -> None:
    jobs.start(
        command=SparkSubmit("local[1]", "1g"),
        definitions=definitions.standard(),
        variables=command.variables(NOWHERE, os.environ),
    )
    glue = jobs.glue
    arguments = {
        "--topics": "events",
        "--environment": "test",
        "--account": "000000000000",
        "--region": "eu-central-1",
        "--schemas": str(ROOT / "schemas"),
        "--warehouse": str(tmp_path / "warehouse"),
        "--catalog": "hadoop",
        "--result": str(tmp_path / "result.json"),
        "--conf": "spark.sql.shuffle.partitions=1 --conf spark.executor.memory=64g",
    }
    run = glue_end(glue, glue.start_job_run(JobName="standardize", Arguments=arguments)["JobRunId"])
    log = Path(run["LogGroupName"]) / "error"
    assert run["JobRunState"] == "SUCCEEDED", f"{run.get('ErrorMessage')}\n{log.read_text()[-3000:]}"
    result: dict[str, Any] = json.loads((tmp_path / "result.json").read_text())
    assert result["topics"]["events"]["results"][0]["status"] == "nothing"
