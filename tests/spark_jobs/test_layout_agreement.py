"""A table that Spark makes from a layout is the one that PyIceberg makes from it.

Both are compared with Iceberg's JSON of the layout: this file from Spark's side, tests/aws/test_catalog.py from the
other, since the two never share an environment.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leanops.core import iceberg, layout
from leanops.core.contract import load
from leanops.core.layout import Layout
from leanops.core.naming import Environment
from tests.core.contract.documents import document

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

NAMES = Environment("test", "123456789012", "eu-central-1").topic("readings")
LAYOUTS = [*layout.ALL_SHARED, *layout.of_topic(NAMES, load(json.dumps(document())))]


@pytest.mark.parametrize("wanted", LAYOUTS, ids=lambda each: each.table)
def test_sparks_table_is_as_its_layout_says(spark: SparkSession, wanted: Layout) -> None:
    from spark_jobs.tables import Lake

    mine = replace(wanted, table=f"{wanted.table}_agreement")
    lake = Lake(spark)
    lake.ensure(mine)
    table = lake._fresh(mine.table)
    parsers: Any = spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    assert json.loads(parsers.SchemaParser.toJson(table.schema()))["fields"] == iceberg.schema_json(wanted)["fields"]
    assert json.loads(parsers.PartitionSpecParser.toJson(table.spec())) == iceberg.spec_json(wanted)
    assert json.loads(parsers.SortOrderParser.toJson(table.sortOrder())) == iceberg.sort_json(wanted)
    assert table.operations().current().formatVersion() == 2
    kept = {key: value for key, value in wanted.properties.items() if key != "format-version"}
    found = {key: table.properties().get(key) for key in kept}
    assert found == kept
