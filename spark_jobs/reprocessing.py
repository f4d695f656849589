"""Batches and periods done again with today's code and contract, through the code that did them first."""

from __future__ import annotations

from leanops.core.contract import Contract
from leanops.core.naming import Names
from leanops.core.period import Period
from spark_jobs.curation import batches_of, recurate
from spark_jobs.results import Result, Status
from spark_jobs.snapshots import Batch, UnreadableRange
from spark_jobs.standardization import restandardize
from spark_jobs.tables import Lake


def redo_batch(lake: Lake, names: Names, contract: Contract, pii_key: bytes, number: int) -> list[Result]:
    """A batch from RAW on. An equal version is replaced by the row that is made now; newer rows stay."""
    results = [restandardize(lake, names, contract, taken_batch(lake, names, number))]
    if contract.is_curated:
        results.append(recurate(lake, names, contract, pii_key, {number}))
    return results


def redo_period(lake: Lake, names: Names, contract: Contract, pii_key: bytes, period: Period) -> Result:
    """Curated's content of a period, replaced in one step; what today's contract moves or refuses follows it."""
    batches = batches_of(lake, names, period) if contract.is_curated else frozenset()
    if not batches:
        return Result(names.topic, "curated", Status.NOTHING)
    return recurate(lake, names, contract, pii_key, batches)


def taken_batch(lake: Lake, names: Names, number: int) -> Batch:
    """Where in RAW a batch began and ended, from the table that took it in."""
    table = names.standardized_table
    for snapshot in lake.carriers(table, lake.head(table), number - 1) if lake.exists(table) else ():
        mark = snapshot.watermark
        if mark is not None and mark.batch == number and mark.raw_snapshot is not None:
            return Batch(number, mark.result.get("start"), mark.raw_snapshot)
    raise UnreadableRange(
        "redo batch", f"no snapshot of {table} says where batch {number} lies in RAW", names.topic, "Rebuild the topic."
    )
