"""Metadata files of tables in the local catalog, and what an idle topic costs."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leanops.aws import moments
from leanops.aws.catalog import Catalog
from leanops.aws.raw_metadata import Metadata, Pointer, RawMetadata, UnusableTable
from leanops.core import layout
from leanops.core.batches import Batch, Nothing, pending
from tests.aws.state import State, state_of
from tests.emulator import Aws

ROOT = Path(__file__).parents[2]
HEAVY = ("pyiceberg", "pyarrow", "pandas", "numpy", "airflow", "pyspark", "jsonschema", "great_expectations", "msgspec")


@pytest.fixture(scope="module")
def shared(aws: Aws) -> Iterator[State]:
    with state_of(aws) as found:
        found.client("s3").create_bucket(
            Bucket=found.environment.lake_bucket,
            CreateBucketConfiguration={"LocationConstraint": found.environment.region},
        )
        yield found


@pytest.fixture
def state(shared: State) -> State:
    return shared.fresh()


def put_file(state: State, name: str, content: bytes) -> str:
    key = f"warehouse/{state.names.raw_table.replace('.', '/')}/metadata/{name}"
    state.client("s3").put_object(Bucket=state.environment.lake_bucket, Key=key, Body=content)
    return f"s3://{state.environment.lake_bucket}/{key}"


def make_table(state: State, location: str | None) -> None:
    parameters = {"table_type": "ICEBERG"} | ({} if location is None else {"metadata_location": location})
    database, name = state.names.raw_table.split(".")
    table = {"Name": name, "TableType": "EXTERNAL_TABLE", "Parameters": parameters}
    try:
        state.client("glue").create_table(DatabaseName=database, TableInput=table)
    except state.client("glue").exceptions.AlreadyExistsException:
        state.client("glue").update_table(DatabaseName=database, TableInput=table)


def pointer(state: State) -> Pointer:
    found = RawMetadata().pointer(state.names.raw_table)
    assert found is not None
    return found


def append(state: State, rows: int) -> None:
    """By PyIceberg, which is what the local delivery writes with."""
    import pyarrow

    table = Catalog(state.environment)._glue.load_table(state.names.raw_table)
    row: dict[str, Any] = {
        "message_id": "1",
        "topic_name": state.topic,
        "publish_time": moments.now(),
        "ingestion_ts": 1,
    }
    row |= {"json_payload": "{}"}
    table.append(pyarrow.Table.from_pylist([row] * rows, schema=table.schema().as_arrow()))


def test_a_real_table_is_read_as_it_grows(state: State) -> None:
    pytest.importorskip("pyiceberg_core", reason="PyIceberg can't write into partitions by day without it")
    Catalog(state.environment).ensure(layout.raw(state.names))
    empty = pointer(state)
    assert pending(RawMetadata().read(empty).document, None) == Nothing(None)
    append(state, 3)
    append(state, 4)
    grown = pointer(state)
    assert grown != empty
    document = RawMetadata().read(grown).document
    found = pending(document, None, 5)
    assert isinstance(found, Batch)
    assert (found.number, found.start, found.rows, found.rows_left) == (1, None, 3, 4)
    rest = pending(document, found.end)
    assert isinstance(rest, Batch)
    assert (rest.number, rest.start, rest.rows, rest.rows_left) == (2, found.end, 4, 0)
    assert pending(document, rest.end) == Nothing(rest.end)


def test_a_table_that_is_not_there_yet_is_none(state: State) -> None:
    assert RawMetadata().pointer(state.names.raw_table) is None
    assert RawMetadata().pointer(f"no_such_db.{state.topic}") is None


def test_a_table_of_another_kind_is_refused(state: State) -> None:
    make_table(state, None)
    with pytest.raises(UnusableTable, match="Cannot read table, the catalog has it, but not as an Iceberg table: ice"):
        RawMetadata().pointer(state.names.raw_table)


@pytest.mark.parametrize("name", ["00001-a.metadata.json", "00001-a.gz.metadata.json", "00001-a.metadata.json.gz"])
def test_a_file_is_read_zipped_or_not_whatever_its_name(state: State, name: str) -> None:
    document = {"format-version": 2, "note": "ä"}
    text = json.dumps(document).encode()
    make_table(state, put_file(state, name, gzip.compress(text) if "gz" in name else text))
    found = RawMetadata().read(pointer(state))
    assert found == Metadata(pointer(state), document)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1]", b"\xff\xfe", gzip.compress(b"{}")[:-6], b"\x1f\x8bnonsense", gzip.compress(b"{")],
)
def test_a_file_that_is_no_metadata_is_refused_with_its_place(state: State, content: bytes) -> None:
    location = put_file(state, "00001-a.metadata.json", content)
    make_table(state, location)
    with pytest.raises(UnusableTable, match=r"Cannot read table, its metadata file s3://.*00001-a.metadata.json is no"):
        RawMetadata().read(pointer(state))


@pytest.mark.parametrize("location", ["file:///tmp/x.json", "nonsense", "s3:///x"])
def test_a_place_that_is_not_in_s3_is_refused(state: State, location: str) -> None:
    make_table(state, location)
    with pytest.raises(UnusableTable, match="is no place in S3"):
        RawMetadata().read(pointer(state))


def test_a_file_that_was_swept_away_meanwhile_gives_way_to_its_successor(state: State) -> None:
    make_table(state, put_file(state, "1.metadata.json", b"{}"))
    former = Pointer(state.names.raw_table, f"s3://{state.environment.lake_bucket}/gone.metadata.json")
    reader = RawMetadata()
    assert reader.read(former) == Metadata(pointer(state), {})
    assert reader.calls == 3


def test_a_file_that_is_missing_is_told(state: State) -> None:
    make_table(state, f"s3://{state.environment.lake_bucket}/missing.metadata.json")
    with pytest.raises(UnusableTable, match=r"missing.metadata.json is not there"):
        RawMetadata().read(pointer(state))


# What the gate costs

IDLE = """
import sys
from concurrent.futures import ThreadPoolExecutor

from leanops.aws import settings
from leanops.aws.alerts import Alerts
from leanops.aws.checkpoints import Checkpoints
from leanops.aws.leases import Leases
from leanops.aws.raw_metadata import RawMetadata
from leanops.core.batches import pending

environment = settings.environment()
names = environment.topic(sys.argv[1])
checkpoints, tables = Checkpoints(environment), RawMetadata()
with ThreadPoolExecutor(2) as pool:
    state = pool.submit(checkpoints.look_up, names, "run-1", ("no_contract",))
    pointer = pool.submit(tables.pointer, names.raw_table)
assert state.result().standardized.raw_metadata_location == pointer.result().location
assert checkpoints.calls + tables.calls == 2
print("\\n".join(sys.modules))
"""


def test_an_idle_topic_costs_two_calls_and_no_heavy_import(state: State) -> None:
    from leanops.aws.checkpoints import Checkpoint, Checkpoints

    location = put_file(state, "1.metadata.json", b"{}")
    make_table(state, location)
    Checkpoints(state.environment).write(
        state.names, Checkpoint("standardized", 1, 5, raw_metadata_location=location), by="run-0", fencing=1
    )
    state.proxy.heal()
    answer = subprocess.run(
        [sys.executable, "-c", IDLE, state.topic],
        env={**os.environ, "PYTHONPATH": str(ROOT / "plugins")},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert sorted(state.proxy.calls) == ["AWSGlue.GetTable", "DynamoDB.BatchGetItem"]
    loaded = {name.split(".")[0] for name in answer.stdout.split()}
    assert "boto3" in loaded
    assert not loaded & set(HEAVY)


def test_throttling_and_outages_are_boto3s_to_wait_for(state: State) -> None:
    make_table(state, put_file(state, "1.metadata.json", b"{}"))
    state.proxy.way = "cut"
    state.proxy.spoil_once("GetTable", "refuse")
    found: Any = pointer(state)
    assert state.proxy.calls.count("AWSGlue.GetTable") == 2
    state.proxy.spoil_once("GET /", "refuse")
    assert RawMetadata().read(found).document == {}
