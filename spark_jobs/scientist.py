"""The Scientist view: Standardized's newest row per key under the names that people know, without the making of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from leanops.core.contract import Contract
from leanops.core.naming import Names, quoted

LEFT_OUT = frozenset({"_batch", "_contract_version", "topic_name", "ingestion_ts"})
Dialect = Literal["spark", "athena"]


def view_query(names: Names, contract: Contract, columns: Sequence[str], dialect: Dialect = "athena") -> str:
    """The view's SELECT over Standardized's present columns. The table itself has one row per key, the newest."""
    shown = readable_names(contract, [name for name in columns if name not in LEFT_OUT])
    chosen = ", ".join(f"{_name(name, dialect)} AS {_name(alias, dialect)}" for name, alias in shown.items())
    source = ".".join(_name(part, dialect) for part in names.standardized_table.split("."))
    return f"SELECT {chosen} FROM {source}"


def readable_names(contract: Contract, columns: Sequence[str]) -> dict[str, str]:
    """Each column's name for people: the contract's, unless another column would then have the same."""
    declared = {contract.standardized_column(column): column.name for column in contract.payload_columns or ()}
    shown = {name: declared.get(name, name) for name in columns}
    while clashes := {alias for alias, count in Counter(shown.values()).items() if count > 1}:
        shown = {name: name if alias in clashes else alias for name, alias in shown.items()}
    return shown


def _name(name: str, dialect: Dialect) -> str:
    return quoted(name) if dialect == "spark" else '"' + name.replace('"', '""') + '"'
