"""Spark SQL that makes tables and columns from their layout."""

from __future__ import annotations

from leanops.core.layout import Field, Layout, Partition
from leanops.core.naming import literal, quoted, quoted_table


def create_sql(path: str, layout: Layout) -> str:
    columns = ", ".join(column_sql(field) for field in layout.fields)
    partitions = ", ".join(_partition_sql(partition) for partition in layout.partitions)
    cut = f"PARTITIONED BY ({partitions}) " if partitions else ""
    properties = ", ".join(f"{literal(key)} = {literal(value)}" for key, value in layout.properties.items())
    return (
        f"CREATE TABLE IF NOT EXISTS {quoted_table(path)} ({columns}) USING iceberg {cut}TBLPROPERTIES ({properties})"
    )


def sort_sql(path: str, layout: Layout) -> str:
    return f"ALTER TABLE {quoted_table(path)} WRITE LOCALLY ORDERED BY {', '.join(map(quoted, layout.sorted_by))}"


def column_sql(field: Field) -> str:
    required = " NOT NULL" if field.required else ""
    doc = f" COMMENT {literal(field.doc)}" if field.doc else ""
    return f"{quoted(field.name)} {field.type}{required}{doc}"


def _partition_sql(partition: Partition) -> str:
    column = quoted(partition.column)
    if partition.transform == "identity":
        return column
    if partition.transform == "bucket":
        return f"bucket({partition.buckets}, {column})"
    return f"{partition.transform}({column})"
