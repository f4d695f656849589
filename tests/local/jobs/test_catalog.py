"""The emulator behind the service: the catalog by way of it, scripts out of S3."""

from __future__ import annotations

import pytest

from local.jobs import command
from local.jobs.definitions import Definition
from local.jobs.faults import Fault
from tests.emulator import Account
from tests.local.jobs.harness import Jobs, client, eventually, glue_end, output


def test_catalog_calls_reach_the_emulator_unchanged(jobs: Jobs, account: Account) -> None:
    jobs.start(account.aws.endpoint, faults=[Fault("throttle")])
    import boto3

    # With the account's own credentials, which the variables hold.
    glue = boto3.client("glue", endpoint_url=jobs.service.endpoint)
    glue.create_database(DatabaseInput={"Name": "iceberg_raw_db", "Description": "é😀"})
    glue.create_table(DatabaseName="iceberg_raw_db", TableInput={"Name": "events_staging", "Parameters": {"a": "b"}})
    direct = account.client("glue").get_table(DatabaseName="iceberg_raw_db", Name="events_staging")["Table"]
    assert direct["Parameters"] == {"a": "b"}
    assert glue.get_database(Name="iceberg_raw_db")["Database"]["Description"] == "é😀"
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.get_table(DatabaseName="iceberg_raw_db", Name="orders_staging")
    glue.close()
    # Another account sees nothing of it.
    assert client("glue", jobs.service.endpoint).get_databases()["DatabaseList"] == []


def test_catalog_calls_can_be_throttled_by_name(jobs: Jobs, account: Account) -> None:
    jobs.start(account.aws.endpoint, faults=[Fault("throttle", operation="GetTable")])
    glue = jobs.glue
    with pytest.raises(glue.exceptions.ClientError, match="ThrottlingException"):
        glue.get_table(DatabaseName="x", Name="y")
    with pytest.raises(glue.exceptions.EntityNotFoundException):
        glue.get_table(DatabaseName="x", Name="y")


def test_an_emulator_that_is_gone_is_named(jobs: Jobs) -> None:
    jobs.start()
    glue = jobs.glue
    with pytest.raises(glue.exceptions.ClientError, match=r"the emulator at .* does not answer"):
        glue.get_databases()


def test_a_script_is_fetched_from_s3(jobs: Jobs, account: Account) -> None:
    bucket = f"{account.environment.name}-{account.environment.account}-code"
    account.client("s3").create_bucket(
        Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": account.environment.region}
    )
    account.client("s3").upload_file(str(jobs.script), bucket, "spark_jobs/standardize.py")
    jobs.start(
        account.aws.endpoint,
        variables=command.variables(account.aws.endpoint, account.variables),
        definitions={
            "standardize": Definition(f"s3://{bucket}/spark_jobs/standardize.py"),
            "curate": Definition(f"s3://{bucket}/nothing.py"),
        },
    )
    glue = jobs.glue
    run = glue_end(glue, glue.start_job_run(JobName="standardize")["JobRunId"])
    assert run["JobRunState"] == "SUCCEEDED"
    assert output(run)["variables"]["AWS_ENDPOINT_URL"] == account.aws.endpoint
    assert output(run)["variables"]["AWS_ACCESS_KEY_ID"] == account.environment.account
    glue.start_job_run(JobName="curate")
    failed = eventually(
        lambda: next((run for run in jobs.service.runs if run.owner == "curate" and run.is_ended), None)
    )
    assert "S3 does not give it" in (failed.error or "")
