"""Payloads that lie beside RAW, in S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.emulator import Aws
from tests.traffic import load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_payload_in_s3_is_read_from_there_and_the_others_are_left_alone(aws: Aws) -> None:
    import pyarrow as pa

    from spark_jobs.oversize import whole_payloads
    from spark_jobs.places import Places

    bucket = aws.environment().archive_bucket
    aws.client("s3").create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
    text = '{"note": "' + "ü" * 600_000 + '"}'
    aws.client("s3").put_object(Bucket=bucket, Key="oversize/x", Body=text.encode())
    payloads = pa.array(["{}", None, None], pa.string())
    references = pa.array([None, f"s3://{bucket}/oversize/x", None], pa.string())
    found = whole_payloads(payloads, references, Places("eu-central-1", aws.endpoint))
    assert found.to_pylist() == ["{}", text, None]


@pytest.mark.parametrize("place", ["/etc/hostname", "file:///etc/hostname", "http://127.0.0.1/x", "s3://only-a-bucket"])
def test_a_reference_that_is_no_object_in_s3_is_refused(place: str) -> None:
    import pyarrow as pa

    from spark_jobs.oversize import whole_payloads
    from spark_jobs.places import Places, UnreachablePlace

    with pytest.raises(UnreachablePlace, match="Cannot "):
        whole_payloads(pa.array([None], pa.string()), pa.array([place], pa.string()), Places())


def test_a_payload_out_of_reach_stops_the_batch_and_nothing_is_taken(spark: SparkSession) -> None:
    from pyspark.errors import PythonException
    from pyspark.sql import functions as F

    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "events")
    topic.land(messages(load_scenario("clean").resized(topic="events", messages=3, batches=1), 1))
    landed = topic.lake.read(topic.names.raw_table)
    lost = landed.limit(1).withColumns(
        {"message_id": F.lit("large"), "json_payload": F.lit(None).cast("string"), "payload_ref": F.lit("/no/object")}
    )
    lost.writeTo(f"lake.{topic.names.raw_table}").append()
    with pytest.raises(PythonException, match="Cannot fetch payload"):
        topic.standardize()
    assert topic.standardized() == []
    assert topic.shared("iceberg_standardized_db.parse_errors") == []
