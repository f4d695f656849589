"""Quoting as Spark itself reads it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from leanops.core.naming import literal, quoted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TEXTS = [
    "plain",
    "it's",
    'say "hi"',
    "back\\slash",
    "end\\",
    "\\'",
    "\\u0041",
    "line\nbreak\ttab",
    "`tick`",
    "${spark.app.name}",
    "${env:HOME}",
    "$${x}",
    "'; DROP TABLE x; --",
    "%_\\%",
    "😀 é",
    "",
    "/* c */ -- c",
]


def test_every_text_comes_back_from_its_literal(spark: SparkSession) -> None:
    query = "SELECT " + ", ".join(literal(text) for text in TEXTS)
    assert list(spark.sql(query).first() or ()) == TEXTS


def test_every_identifier_comes_back_from_its_quotes(spark: SparkSession) -> None:
    names = [text for text in TEXTS if text and "${" not in text and "\n" not in text]
    query = "SELECT " + ", ".join(f"1 AS {quoted(name)}" for name in names)
    assert spark.sql(query).columns == names
