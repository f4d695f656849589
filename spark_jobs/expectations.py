"""Counts of one comparison, held against what must be true of them by Great Expectations.

Spark aggregates to one row before: on that row an expectation costs nothing, on the tables each would be an action.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from threading import Lock
from typing import Any, Final

Number = int | Decimal
DIFFERENCE: Final = "difference"
EXPECTED, FOUND = "{}_expected", "{}_found"
# Great Expectations keeps its current context for the whole process; topics are threads of one.
_ONE_AT_A_TIME: Final = Lock()


@dataclass(frozen=True)
class Check:
    """Two numbers that must be the same; `records` names what stands between them."""

    name: str
    expected: Number
    found: Number
    records: tuple[str, ...] = ()

    @property
    def difference(self) -> Number:
        return self.found - self.expected


@dataclass(frozen=True)
class Verdict:
    """`document` is Great Expectations' own validation result, as JSON would hold it."""

    checks: tuple[Check, ...]
    failed: tuple[Check, ...]
    ok: bool
    document: Mapping[str, Any]

    @property
    def expectations(self) -> int:
        return len(self.document["results"])

    @property
    def difference(self) -> Decimal:
        return _total(self.checks)


def judged(name: str, counts: Mapping[str, Number], checks: Sequence[Check]) -> Verdict:
    """No count is negative, the two sides of each check are equal, all differences together are 0."""
    row: dict[str, Number] = {**counts, DIFFERENCE: _total(checks)}
    for check in checks:
        row |= {EXPECTED.format(check.name): check.expected, FOUND.format(check.name): check.found}
    with _ONE_AT_A_TIME:
        document = _validated(name, row, tuple(counts), checks)
    unequal = {_check_of(result) for result in document["results"] if not result["success"]}
    failed = tuple(check for check in checks if check.name in unequal)
    return Verdict(tuple(checks), failed, bool(document["success"]), document)


def _validated(
    name: str, row: Mapping[str, Number], counts: Sequence[str], checks: Sequence[Check]
) -> Mapping[str, Any]:
    frames = _frames()
    # Only in here, since it takes seconds and 300 MB.
    import great_expectations as gx
    import pandas as pd  # type: ignore[import-untyped]

    expect: Any = gx.expectations
    expectations = [
        *(expect.ExpectColumnValuesToBeBetween(column=count, min_value=0) for count in counts),
        *(
            expect.ExpectColumnPairValuesToBeEqual(
                column_A=EXPECTED.format(check.name), column_B=FOUND.format(check.name), meta={"check": check.name}
            )
            for check in checks
        ),
        expect.ExpectColumnValuesToBeInSet(column=DIFFERENCE, value_set=[0]),
    ]
    batch = frames.get_batch({"dataframe": pd.DataFrame([dict(row)])})
    found: Any = batch.validate(gx.ExpectationSuite(name=name, expectations=expectations))
    document: Mapping[str, Any] = found.to_json_dict()
    return document


@cache
def _frames() -> Any:
    """Where Great Expectations takes frames from. Once per process: every context leaves a temporary folder behind."""
    # It would report its use to its makers.
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    import great_expectations as gx
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return (
        context.data_sources.add_pandas("counts").add_dataframe_asset("row").add_batch_definition_whole_dataframe("row")
    )


def _total(checks: Sequence[Check]) -> Decimal:
    return Decimal(sum(Decimal(check.difference).copy_abs() for check in checks))


def _check_of(result: Mapping[str, Any]) -> str | None:
    name: str | None = (result["expectation_config"].get("meta") or {}).get("check")
    return name
