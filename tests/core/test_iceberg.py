"""Layouts in Iceberg's JSON."""

from __future__ import annotations

import json

import pytest

from leanops.core import iceberg, layout
from leanops.core.contract import load
from leanops.core.iceberg import UnknownType, parsed_type, widens_to
from leanops.core.layout import Field, Layout, Partition
from leanops.core.naming import Environment
from tests.conftest import ROOT

NAMES = Environment("test", "123456789012", "eu-central-1").topic("payments")
CONTRACT = load((ROOT / "schemas" / "payments" / "active" / "schema.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("STRING", "string"),
        ("INT", "int"),
        ("BIGINT", "long"),
        ("DOUBLE", "double"),
        ("BOOLEAN", "boolean"),
        ("DATE", "date"),
        ("TIMESTAMP", "timestamptz"),
        ("DECIMAL(20,4)", "decimal(20, 4)"),
        ("ARRAY<STRING>", {"type": "list", "element": "string", "element-required": False}),
        (
            "STRUCT<a: INT, b: ARRAY<DECIMAL(3,1)>>",
            {
                "type": "struct",
                "fields": [
                    {"name": "a", "required": False, "type": "int"},
                    {
                        "name": "b",
                        "required": False,
                        "type": {"type": "list", "element": "decimal(3, 1)", "element-required": False},
                    },
                ],
            },
        ),
    ],
)
def test_every_type_of_a_layout_has_one_of_icebergs(text: str, type_: object) -> None:
    assert parsed_type(text) == type_


@pytest.mark.parametrize(
    "text",
    ["", "string", "MAP<STRING, INT>", "ARRAY", "ARRAY<", "ARRAY<STRING", "STRUCT<>", "STRUCT<a INT>", "STRUCT<a: INT",
     "STRUCT<a: INT,>", "STRING STRING", "DECIMAL(20, 4)", "STRING;"],
)  # fmt: skip
def test_any_other_type_is_refused(text: str) -> None:
    with pytest.raises(UnknownType):
        parsed_type(text)


def test_ids_number_the_columns_first_and_then_what_lies_in_them() -> None:
    table = Layout(
        "db.t",
        (Field("a", "ARRAY<STRUCT<x: INT, y: ARRAY<INT>>>"), Field("b", "STRING", True, "doc")),
        (Partition("b"),),
    )
    a, b = iceberg.schema_json(table)["fields"]
    assert b == {"id": 2, "name": "b", "required": True, "type": "string", "doc": "doc"}
    assert (a["id"], a["type"]["element-id"]) == (1, 3)
    x, y = a["type"]["element"]["fields"]
    assert (x["id"], y["id"], y["type"]["element-id"]) == (4, 5, 6)


def test_partitions_have_the_names_that_spark_gives_them() -> None:
    assert iceberg.spec_json(layout.curated(NAMES, CONTRACT))["fields"] == [
        {"name": "period_reference", "transform": "identity", "source-id": 6, "field-id": 1000},
        {"name": "idempotency_key_bucket", "transform": "bucket[16]", "source-id": 3, "field-id": 1001},
    ]
    assert iceberg.spec_json(layout.raw(NAMES))["fields"][0]["name"] == "publish_time_day"
    assert iceberg.spec_json(layout.RECONCILIATION_LOG)["fields"][0]["transform"] == "month"
    assert iceberg.spec_json(layout.SCHEMA_VERSIONS)["fields"] == []


@pytest.mark.parametrize("table", [*layout.ALL_SHARED, *layout.of_topic(NAMES, CONTRACT)], ids=lambda each: each.table)
def test_partitions_and_order_name_columns_of_the_table(table: Layout) -> None:
    names = [field.name for field in table.fields]
    assert len(names) == len(set(names))
    assert {partition.column for partition in table.partitions} | set(table.sorted_by) <= set(names)
    assert iceberg.schema_json(table)["fields"][-1]["name"] == names[-1]
    assert len(iceberg.sort_json(table)["fields"]) == len(table.sorted_by)


@pytest.mark.parametrize(
    ("old", "new", "is_wider"),
    [
        ("int", "long", True),
        ("long", "int", False),
        ("decimal(10, 2)", "decimal(12, 2)", True),
        ("decimal(12, 2)", "decimal(10, 2)", False),
        ("decimal(10, 2)", "decimal(12, 3)", False),
        ("int", "string", False),
        ({"type": "list"}, "string", False),
    ],
)
def test_only_what_iceberg_promotes_in_place_is_wider(old: object, new: object, is_wider: bool) -> None:
    assert widens_to(old, new) is is_wider


def test_a_description_becomes_a_comment_that_glue_takes() -> None:
    long = {"description": "zeile\n\t zwei " + "ä" * 500}
    text = (ROOT / "schemas" / "payments" / "active" / "schema.json").read_text(encoding="utf-8")
    document = json.loads(text)
    document["payload_columns"][0] |= long
    contract = load(json.dumps(document))
    doc = next(field.doc for field in layout.curated_fields(contract) if field.name == "payment_id")
    assert doc is not None
    assert doc.startswith("zeile zwei ää")
    assert len(doc.encode()) <= 255
    assert "\n" not in doc
