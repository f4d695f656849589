"""Tables by PyIceberg on the Glue catalog of the local AWS."""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from leanops.aws import settings
from leanops.aws.catalog import Catalog, Conflict, TableMoved
from leanops.core import iceberg, layout
from leanops.core.contract import load
from leanops.core.errors import LeanOpsError
from leanops.core.layout import COMMON, Field, Layout, Partition
from leanops.core.naming import Environment
from tests.conftest import ROOT
from tests.core.contract.documents import document
from tests.emulator import Aws

NAMES = Environment("test", "123456789012", "eu-central-1").topic("readings")
LAYOUTS = [*layout.ALL_SHARED, *layout.of_topic(NAMES, load(json.dumps(document())))]


@pytest.fixture(scope="module")
def environment(aws: Aws) -> Iterator[Environment]:
    environment = aws.environment()
    aws.client("s3").create_bucket(
        Bucket=environment.lake_bucket, CreateBucketConfiguration={"LocationConstraint": environment.region}
    )
    settings.reset()
    yield environment
    settings.reset()


@pytest.fixture
def catalog(environment: Environment) -> Catalog:
    return Catalog(environment)


@pytest.fixture
def table() -> Layout:
    """In a database of its own, which is not there yet."""
    fields = (
        Field("topic_name", "STRING", True),
        Field("n", "INT", doc="a count"),
        Field("amount", "DECIMAL(10,2)"),
        Field("seen_at", "TIMESTAMP"),
    )
    return Layout(f"db_{secrets.token_hex(4)}.rows", fields, (Partition("topic_name"),), COMMON, ("n",))


def loaded(catalog: Catalog, table: Layout) -> Any:
    found = catalog._found(table.table)
    assert found is not None
    return found


@pytest.mark.parametrize("wanted", LAYOUTS, ids=lambda each: each.table)
def test_a_new_table_is_as_its_layout_says(catalog: Catalog, environment: Environment, wanted: Layout) -> None:
    """The same JSON that Spark's table is compared with, in tests/spark_jobs/test_layout_agreement.py."""
    mine = replace(wanted, table=f"{wanted.table}_{secrets.token_hex(4)}")
    assert catalog.ensure(mine) == ()
    table = loaded(catalog, mine)
    assert json.loads(table.schema().model_dump_json())["fields"] == iceberg.schema_json(wanted)["fields"]
    assert json.loads(table.spec().model_dump_json()) == iceberg.spec_json(wanted)
    assert json.loads(table.sort_order().model_dump_json()) == iceberg.sort_json(wanted)
    assert table.metadata.format_version == 2
    kept = {key: value for key, value in wanted.properties.items() if key != "format-version"}
    assert dict(table.properties) == kept
    assert table.location() == f"{environment.warehouse}/{mine.table.replace('.', '/')}"


def test_a_database_is_made_where_the_names_say(aws: Aws, catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    database = table.table.split(".")[0]
    found = aws.client("glue").get_database(Name=database)["Database"]
    assert found["LocationUri"].endswith(f"/warehouse/{database}")


def test_a_table_that_is_as_it_should_be_gets_no_commit(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    before = loaded(catalog, table).metadata_location
    catalog.ensure(table)
    assert loaded(catalog, table).metadata_location == before


def test_everything_that_is_missing_comes_in_one_commit(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    wider = (
        Field("topic_name", "STRING", True),
        Field("n", "BIGINT", doc="a larger count"),
        Field("amount", "DECIMAL(12,2)"),
        Field("seen_at", "TIMESTAMP"),
        Field("notes", "ARRAY<STRUCT<a: STRING, b: INT>>"),
        Field("late", "STRING", True, "required, but old rows lack it"),
    )
    new = replace(
        table,
        fields=wider,
        partitions=(Partition("topic_name"), Partition("n", "bucket", 4)),
        properties={**COMMON, "write.target-file-size-bytes": "1048576"},
    )
    assert catalog.ensure(new) == ()
    found = loaded(catalog, new)
    assert {field.name: str(field.field_type) for field in found.schema().fields[:4]} == {
        "topic_name": "string",
        "n": "long",
        "amount": "decimal(12, 2)",
        "seen_at": "timestamptz",
    }
    assert found.schema().find_field("n").doc == "a larger count"
    assert not found.schema().find_field("late").required
    assert found.schema().find_field("notes.element.b").optional
    assert [str(field.transform) for field in found.spec().fields] == ["identity", "bucket[4]"]
    assert found.properties["write.target-file-size-bytes"] == "1048576"
    assert len(found.metadata.metadata_log) == 1


def test_buckets_can_be_changed_there_and_back(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(replace(table, partitions=(Partition("topic_name", "bucket", 16),)))
    catalog.ensure(replace(table, partitions=(Partition("topic_name", "bucket", 32),)))
    (field,) = loaded(catalog, table).spec().fields
    assert (field.name, str(field.transform)) == ("topic_name_bucket_32", "bucket[32]")
    catalog.ensure(replace(table, partitions=(Partition("topic_name", "bucket", 16),)))
    (field,) = loaded(catalog, table).spec().fields
    assert (field.name, str(field.transform), field.field_id) == ("topic_name_bucket", "bucket[16]", 1000)


def test_an_order_is_given_to_a_table_without_one(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(replace(table, sorted_by=()))
    catalog.ensure(table)
    assert json.loads(loaded(catalog, table).sort_order().model_dump_json()) == iceberg.sort_json(table)


def test_what_cannot_be_changed_in_place_is_answered_and_left(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    fields = (Field("n", "STRING"), Field("amount", "DECIMAL(10,3)"), Field("more", "STRING"))
    new = replace(table, fields=(table.fields[0], *fields))
    expected = (
        Conflict(table.table, "n", "int", "string"),
        Conflict(table.table, "amount", "decimal(10, 2)", "decimal(10, 3)"),
    )
    assert catalog.conflicts(new) == expected
    assert loaded(catalog, table).schema().find_field("n")
    assert catalog.ensure(new) == expected
    found = loaded(catalog, table).schema()
    assert (str(found.find_field("n").field_type), found.find_field("more").name) == ("int", "more")


def test_a_wider_column_serves_a_narrower_contract(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(replace(table, fields=(table.fields[0], Field("n", "BIGINT"))))
    assert catalog.ensure(table) == ()
    assert str(loaded(catalog, table).schema().find_field("n").field_type) == "long"


def test_a_table_that_is_not_there_has_no_conflicts(catalog: Catalog, table: Layout) -> None:
    assert catalog.conflicts(table) == ()


def test_makers_of_one_table_do_not_disturb_each_other(environment: Environment, table: Layout) -> None:
    def make(number: int) -> tuple[Conflict, ...]:
        return Catalog(environment).ensure(replace(table, fields=(*table.fields, Field(f"own_{number}", "STRING"))))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(make, range(4))) == [()] * 4
    names = set(loaded(Catalog(environment), table).schema().column_names)
    assert {f"own_{number}" for number in range(4)} <= names


def row(n: int, topic: str = "a", **more: Any) -> dict[str, Any]:
    return {"topic_name": topic, "n": n, "amount": None, "seen_at": None, **more}


def test_a_unit_is_replaced_and_others_stay(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    catalog.replace_unit(table.table, {"topic_name": "b"}, [row(7, "b")])
    seen = datetime(2026, 11, 18, 10, 0, 0, 123456, tzinfo=UTC)
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1), row(2)])
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(3, amount=Decimal("1.50"), seen_at=seen)])
    assert catalog.rows(table.table, {"topic_name": "a"}) == [row(3, amount=Decimal("1.50"), seen_at=seen)]
    assert catalog.rows(table.table, {"topic_name": "b"}) == [row(7, "b")]
    catalog.replace_unit(table.table, {"topic_name": "a"}, [])
    assert catalog.rows(table.table, {"topic_name": "a"}) == []


def test_a_unit_may_be_a_part_of_a_file(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1), row(2)])
    catalog.replace_unit(table.table, {"topic_name": "a", "n": 2}, [row(2, amount=Decimal("9.00"))])
    found = sorted(catalog.rows(table.table, {"topic_name": "a"}), key=lambda each: each["n"])
    assert found == [row(1), row(2, amount=Decimal("9.00"))]


@pytest.mark.filterwarnings("ignore:Merge on read is not yet supported")
def test_tables_that_spark_merges_on_read_take_units_too(catalog: Catalog, table: Layout) -> None:
    merged = replace(table, properties=layout.MERGED)
    catalog.ensure(merged)
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1)])
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(2)])
    assert catalog.rows(table.table, {"topic_name": "a"}) == [row(2)]


def test_the_same_rows_again_are_no_commit(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    seen = datetime(2026, 11, 18, 10, tzinfo=UTC)
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1, seen_at=seen), row(2)])
    before = loaded(catalog, table).metadata_location
    elsewhere = seen.astimezone(timezone(timedelta(hours=2)))
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(2), row(1, seen_at=elsewhere)])
    assert loaded(catalog, table).metadata_location == before


def test_rows_that_only_grow_are_appended(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1)])
    catalog.revise(table.table, {"topic_name": "a"}, lambda rows: [*rows, row(1)])
    assert catalog.rows(table.table, {"topic_name": "a"}) == [row(1), row(1)]
    assert [each.summary.operation.value for each in loaded(catalog, table).snapshots()] == ["append", "append"]


def test_a_value_for_a_column_that_is_not_there_is_a_mistake(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    with pytest.raises(LeanOpsError, match="no such column: odd"):
        catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1, odd=1)])


def test_no_revision_made_side_by_side_is_lost(environment: Environment, table: Layout) -> None:
    Catalog(environment).ensure(table)

    def grow(_: int) -> None:
        mine = Catalog(environment)
        mine.revise(table.table, {"topic_name": "a"}, lambda rows: [row(max((r["n"] for r in rows), default=0) + 1)])

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(grow, range(9)))
    assert Catalog(environment).rows(table.table, {"topic_name": "a"}) == [row(9)]


def test_a_commit_that_always_comes_too_late_is_given_up(
    environment: Environment, table: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leanops.aws.catalog.TRIES", 3)
    catalog, other = Catalog(environment, pause=lambda _: None), Catalog(environment)
    catalog.ensure(table)

    def change(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        other.replace_unit(table.table, {"topic_name": "b"}, [row(len(other.rows(table.table, {})) + 1, "b")])
        other.replace_unit(table.table, {"topic_name": "b"}, [])
        return [*rows, row(1)]

    with pytest.raises(TableMoved):
        catalog.revise(table.table, {"topic_name": "a"}, change)


def test_a_hostile_value_is_only_a_value(catalog: Catalog, table: Layout) -> None:
    catalog.ensure(table)
    odd = "a' OR '1'='1"
    catalog.replace_unit(table.table, {"topic_name": "a"}, [row(1)])
    catalog.replace_unit(table.table, {"topic_name": odd}, [row(2, odd)])
    assert catalog.rows(table.table, {"topic_name": odd}) == [row(2, odd)]
    assert catalog.rows(table.table, {"topic_name": "a"}) == [row(1)]


def test_making_tables_needs_no_arrow(aws: Aws, environment: Environment, table: Layout) -> None:
    """Importing it takes a cold function longer than making a table does."""
    script = f"""
import sys
from leanops.aws.catalog import Catalog
from leanops.core.layout import RAW_FIELDS, COMMON, Layout
from leanops.core.naming import Environment
assert "pyiceberg" not in sys.modules and "boto3" not in sys.modules
catalog = Catalog(Environment({environment.name!r}, {environment.account!r}, {environment.region!r}))
catalog.ensure(Layout({table.table!r}, RAW_FIELDS, (), COMMON))
assert "pyarrow" not in sys.modules
"""
    variables = {**aws.variables, "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}", "LEANOPS_REGION": environment.region}
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
