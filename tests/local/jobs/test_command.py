"""What is run and with which settings, definitions and words; no process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from local.jobs import definitions, outcome, settings
from local.jobs.command import SparkSubmit, Submission, variables
from local.jobs.definitions import Definition, InvalidDefinition


def test_spark_submit_gets_master_jars_settings_script_and_arguments() -> None:
    submission = Submission("standardize", Path("/x/standardize.py"), ["--topics", "events"], ["spark.sql.x=1"])
    command = SparkSubmit("local[1]", "1g", {"spark.ui.enabled": "false"})(submission)
    assert command[0].endswith(".venv/spark/bin/spark-submit")
    assert command[1:7] == ["--master", "local[1]", "--driver-memory", "1g", "--name", "standardize"]
    assert command[7] == "--jars"
    assert {name.rpartition("/")[2].partition("-1.")[0] for name in command[8].split(",")} == {
        "iceberg-spark-runtime-3.5_2.12",
        "iceberg-aws-bundle",
    }
    assert command[9:] == [
        "--conf", "spark.sql.x=1", "--conf", "spark.ui.enabled=false", "/x/standardize.py", "--topics", "events"
    ]  # fmt: skip


def test_a_job_never_sees_a_developers_aws() -> None:
    given = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SESSION_TOKEN": "x", "AWS_PROFILE": "prod", "HOME": "/h"}
    found = variables("http://127.0.0.1:1", given)
    assert found["AWS_ACCESS_KEY_ID"] == "000000000000"
    assert found["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    assert found["HOME"] == "/h"
    assert not {"AWS_SESSION_TOKEN", "AWS_PROFILE"} & found.keys()
    assert variables("u", {"AWS_ACCESS_KEY_ID": "123456789012"})["AWS_ACCESS_KEY_ID"] == "123456789012"


def test_settings_come_from_both_engines_and_those_of_awss_machines_are_left_out() -> None:
    assert settings.of_glue({"--conf": "spark.a=1 --conf spark.b=2"}) == ["spark.a=1", "spark.b=2"]
    assert settings.of_glue({"--topics": "events"}) == []
    driver = {
        "sparkSubmitParameters": "--archives s3://b/v.tar.gz#environment --conf spark.jars=/usr/share/x.jar "
        "--conf spark.emr-serverless.driverEnv.PYSPARK_PYTHON=./environment/bin/python --conf=spark.sql.extensions=E "
        "--conf spark.executor.cores=4 --conf spark.openlineage.transport.type=http"
    }
    overrides = {"applicationConfiguration": [{"classification": "spark-defaults", "properties": {"spark.sql.x": "1"}}]}
    assert settings.honoured(settings.of_emr(driver, overrides)) == (
        "spark.sql.x=1",
        "spark.sql.extensions=E",
        "spark.openlineage.transport.type=http",
    )


def test_the_registry_has_the_products_jobs_under_their_names_or_is_read_from_a_file(tmp_path: Path) -> None:
    assert list(definitions.standard()) == ["standardize", "curate", "reprocess", "reconcile"]
    assert definitions.standard("leanops-dev")["leanops-dev-curate"].script == "spark_jobs/curate.py"
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"curate": {"script": "s3://b/c.py", "arguments": {"--threads": "1"}}}))
    assert definitions.read(path) == {"curate": Definition("s3://b/c.py", {"--threads": "1"})}
    path.write_text(json.dumps({"curate": {"script": "s3://b/c.py", "retries": 1}}))
    with pytest.raises(InvalidDefinition, match="unknown retries"):
        definitions.read(path)
    path.write_text(json.dumps({"curate": {}}))
    with pytest.raises(InvalidDefinition, match="it has no script"):
        definitions.read(path)


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ('{"level": "ERROR", "message": "Cannot x"}\n{"level": "INFO", "message": "done"}\n', "Cannot x"),
        ("Traceback …\n  File\nKeyError: 1\n26/11/18 10:00:00 INFO SparkContext: stopping\n", "KeyError: 1"),
        ('{"level": "INFO", "message": "done"}\n{not JSON\n\n', None),
        ("", None),
    ],
)
def test_the_line_that_tells_most_is_found(tmp_path: Path, log: str, line: str | None) -> None:
    path = tmp_path / "error"
    path.write_text(log)
    assert outcome.first_useful_line(path) == line


def test_the_end_of_a_huge_log_is_enough(tmp_path: Path) -> None:
    path = tmp_path / "error"
    path.write_text("x" * 10_000_000 + "\nthe end\n")
    assert outcome.failure(1, path) == f"the end (exit code 1). Log: {path}"
    assert outcome.failure(1, tmp_path / "none") == f"exit code 1. Log: {tmp_path / 'none'}"
