"""The Scientist view: Standardized's newest row per key under the names that people know, without the making of it."""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from leanops.core.contract import Contract
from leanops.core.layout import VERSION_COLUMNS
from leanops.core.naming import Names, quoted

LEFT_OUT = frozenset({"_batch", "_contract_version", "topic_name", "ingestion_ts"})
Dialect = Literal["spark", "athena"]


def view_query(names: Names, contract: Contract, columns: Collection[str], dialect: Dialect = "athena") -> str:
    """The view's SELECT over Standardized's present columns. A column that the contract declares has its name there."""
    readable = {contract.standardized_column(column): column.name for column in contract.payload_columns or ()}
    taken = set(columns) - readable.keys()
    chosen = []
    for name in columns:
        if name in LEFT_OUT:
            continue
        shown = readable.get(name, name)
        # Another field may have the declared name already; then both keep their own.
        alias = name if shown != name and shown in taken else shown
        chosen.append(f"{_name(name, dialect)} AS {_name(alias, dialect)}")
    order = ", ".join(f"{_name(name, dialect)} DESC" for name in VERSION_COLUMNS)
    key = _name("idempotency_key", dialect)
    database, table = names.standardized_table.split(".")
    source = f"{_name(database, dialect)}.{_name(table, dialect)}"
    return (
        f"SELECT {', '.join(chosen)} FROM (SELECT *, row_number() OVER (PARTITION BY coalesce({key}, "
        f"{_name('message_id', dialect)}) ORDER BY {order}) AS place FROM {source}) AS newest WHERE place = 1"
    )


def _name(name: str, dialect: Dialect) -> str:
    return quoted(name) if dialect == "spark" else '"' + name.replace('"', '""') + '"'
