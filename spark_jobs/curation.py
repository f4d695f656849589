"""Standardized → Curated: rows by `_batch`, judged by the contract, audited before readers see them."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from leanops.core import layout
from leanops.core.accounting import RowBalance
from leanops.core.contract import Contract
from leanops.core.errors import LeanOpsError
from leanops.core.naming import DRIFT_LOG_TABLE, ERRORS_TABLE, Names
from leanops.core.period import Period
from spark_jobs import drift, snapshots
from spark_jobs.judgement import RECORD, VIOLATIONS, judged
from spark_jobs.results import Result, Status
from spark_jobs.snapshots import ANY_PERIOD, Snapshot, Watermark
from spark_jobs.tables import Lake, Publication
from spark_jobs.units import Unit

LOG = logging.getLogger(__name__)
LAYER = "curated"
ROW = "$row"


class RejectionSpike(LeanOpsError):
    """Curated stays as it was; the rejected rows are in the errors table."""

    def __init__(self, topic: str, batch: int, balance: RowBalance, limit: Decimal) -> None:
        self.topic = topic
        self.batch = batch
        self.balance = balance
        super().__init__(
            "publish Curated",
            f"{balance.rejected} of {balance.standardized} rows are rejected, more than {limit:.0%}",
            f"topic {topic}, batch {batch}",
            f"Look at {ERRORS_TABLE}; mend the source or the contract, then clear the run.",
        )


def curate(lake: Lake, names: Names, contract: Contract, pii_key: bytes) -> Result:
    """Takes over what Standardized has taken in since Curated's watermark."""
    _ensure(lake, names, contract)

    def attempt() -> Result:
        head = lake.head(names.curated_table)
        mark = lake.watermark(names.curated_table, head)
        source = lake.head(names.standardized_table)
        source_mark = lake.watermark(names.standardized_table, source)
        if source_mark is None:
            return Result(names.topic, LAYER, Status.NOTHING)
        after = mark.batch if mark else -1
        if source_mark.batch <= after:
            counts: Mapping[str, int] = mark.result.get("counts", {}) if mark else {}
            return Result(names.topic, LAYER, Status.COVERED, after, source.id, head.id, counts)
        span = (after + 1, source_mark.batch)
        return _Run(lake, names, contract, pii_key, head, mark, source, span).published()

    return lake.published(names.curated_table, attempt)


def recurate(lake: Lake, names: Names, contract: Contract, pii_key: bytes, batches: Collection[int]) -> Result:
    """Does batches again with today's code and contract, in one publication; the watermark stays."""
    _ensure(lake, names, contract)

    def attempt() -> Result:
        head = lake.head(names.curated_table)
        mark = lake.watermark(names.curated_table, head)
        source = lake.head(names.standardized_table)
        return _Run(lake, names, contract, pii_key, head, mark, source, frozenset(batches)).published()

    return lake.published(names.curated_table, attempt)


def batches_of(lake: Lake, names: Names, period: Period) -> frozenset[int]:
    """The batches that wrote what a period holds."""
    if not lake.exists(names.standardized_table):
        return frozenset()
    rows = lake.read_unit(names.standardized_table, {"period_reference": str(period)})
    return frozenset(row[0] for row in rows.select("_batch").distinct().collect())


def _ensure(lake: Lake, names: Names, contract: Contract) -> None:
    for each in (
        layout.standardized(names, contract),
        layout.curated(names, contract),
        layout.ERRORS,
        layout.DRIFT_LOG,
    ):
        lake.ensure(each)


class _Run:
    """One try at the batches from … to, or at those of a set, from the heads that were read."""

    def __init__(
        self,
        lake: Lake,
        names: Names,
        contract: Contract,
        pii_key: bytes,
        head: Snapshot,
        mark: Watermark | None,
        source: Snapshot,
        batches: tuple[int, int] | frozenset[int],
    ) -> None:
        self._lake = lake
        self._names = names
        self._contract = contract
        self._pii_key = pii_key
        self._head = head
        self._mark = mark
        self._source = source
        self._batches = batches
        self._number = max(batches)
        self._token = uuid4().hex
        # What Standardized says of the batches in question.
        self._carriers = lake.carriers(names.standardized_table, source, min(batches) - 1)

    def published(self) -> Result:
        self._say("judging the rows")
        rows = self._lake.read(self._names.standardized_table, self._source.id)
        chosen = self._batches
        is_chosen = (
            F.col("_batch").between(*chosen) if isinstance(chosen, tuple) else F.col("_batch").isin(sorted(chosen))
        )
        rows = rows.where(is_chosen)
        verdicts = self._lake.kept(_verdicts(judged(rows, self._contract, self._pii_key), rows.columns))
        try:
            return self._published(verdicts)
        finally:
            self._lake.let_go(verdicts)

    def _published(self, verdicts: DataFrame) -> Result:
        balance = _balance(verdicts)
        balance.prove()
        self._say(f"{balance.standardized} rows, {balance.rejected} rejected; writing those")
        self._write_errors(verdicts, balance)
        if isinstance(self._batches, tuple):
            self._log_unknown_columns()
        limit = self._contract.quality.max_rejected_ratio
        if balance.is_spike(float(limit)):
            raise RejectionSpike(self._names.topic, self._number, balance, limit)
        counts = {"standardized": balance.standardized, "curated": balance.curated, "rejected": balance.rejected}
        branch = self._names.run_branch(self._number, self._token)
        with self._lake.publication(self._names.curated_table, self._head, branch) as publication:
            self._write(publication, verdicts, balance, counts)
            tip = publication.publish()
        self._say(f"published snapshot {tip.id}; next: reconcile")
        return Result(
            self._names.topic,
            LAYER,
            Status.PUBLISHED,
            self._number,
            self._source.id,
            tip.id,
            counts,
            (),
            int(tip.get("added-data-files") or 0),
            int(tip.get("added-files-size") or 0),
        )

    def _write(
        self, publication: Publication, verdicts: DataFrame, balance: RowBalance, counts: Mapping[str, int]
    ) -> None:
        periods = self._old_periods()
        if periods != () and balance.standardized and self._head.total_records:
            # The rejected keys too: Curated never shows a version that Standardized has left behind.
            publication.delete_keys(verdicts.where("idempotency_key IS NOT NULL"), periods)
        properties = self._properties(counts)
        if balance.curated:
            valid = verdicts.where(_is_valid()).select(f"`{RECORD}`.*")
            publication.append(self._lake.fitted(valid, self._names.curated_table), properties)
        else:
            publication.mark(properties)

    def _old_periods(self) -> tuple[str, ...] | None:
        """Where Curated may hold older rows of these keys: where Standardized replaced any. None: anywhere."""
        mark = self._mark
        if mark is not None and mark.batch >= self._number:
            return None
        periods: set[str] = set()
        for snapshot in self._carriers:
            replaced = snapshot.get(snapshots.REPLACED_PERIODS)
            if replaced is None or replaced == ANY_PERIOD:
                return None
            periods.update(filter(None, replaced.split(",")))
        return tuple(sorted(periods))

    def _properties(self, counts: Mapping[str, int]) -> dict[str, str]:
        mark = self._mark
        is_redone = mark is not None and mark.batch >= self._number
        batch = mark.batch if mark and is_redone else self._number
        result = mark.result if mark and is_redone else {"counts": counts}
        return {
            snapshots.BATCH: str(batch),
            snapshots.CONTRACT_VERSION: self._contract.schema_version,
            snapshots.RUN: self._token,
            snapshots.RESULT: json.dumps(result),
        }

    def _write_errors(self, verdicts: DataFrame, balance: RowBalance) -> None:
        rows = None
        if balance.rejected:
            rows = verdicts.where(~_is_valid()).select(
                F.lit(self._names.topic).alias("topic_name"),
                "_batch",
                "idempotency_key",
                *layout.VERSION_COLUMNS,
                "period_reference",
                F.col(VIOLATIONS).alias("violations"),
                F.col(ROW).alias("row_json"),
                F.lit(self._contract.schema_version).alias("_contract_version"),
            )
        self._lake.replace_unit(ERRORS_TABLE, rows, {"topic_name": self._names.topic, "_batch": self._batches})

    def _log_unknown_columns(self) -> None:
        """Strict schema: what the contract does not name stays in Standardized, and is said when it comes."""
        declared = {self._contract.standardized_column(column) for column in self._contract.columns}
        added = {name for carrier in self._carriers for name in carrier.added_columns}
        details = f"not in contract {self._contract.schema_version}; stays in Standardized"
        fixed = (self._names.topic, self._number, LAYER, None)
        change = (None, drift.Action.UNKNOWN, None, None, details)
        unknown = [(*fixed, name, *change) for name in sorted(added - declared)]
        rows = self._lake.new_rows(DRIFT_LOG_TABLE, unknown) if unknown else None
        unit: Unit = {"topic_name": self._names.topic, "_batch": self._number, "source_layer": LAYER}
        self._lake.replace_unit(DRIFT_LOG_TABLE, rows, unit)

    def _say(self, what: str) -> None:
        LOG.info("%s, batch %s: %s", self._names.topic, self._number, what)


def _verdicts(rows: DataFrame, columns: Sequence[str]) -> DataFrame:
    """What is needed of a judged row: its record if it is valid, else the whole row for the errors table."""
    whole = F.to_json(F.struct(*(F.col(name) for name in columns)))
    return rows.select(
        "idempotency_key",
        *layout.VERSION_COLUMNS,
        "period_reference",
        "_batch",
        VIOLATIONS,
        F.when(_is_valid(), F.col(RECORD)).alias(RECORD),
        F.when(~_is_valid(), whole).alias(ROW),
    )


def _is_valid() -> Column:
    return F.size(VIOLATIONS) == 0


def _balance(verdicts: DataFrame) -> RowBalance:
    row = verdicts.agg(F.count(F.lit(1)), F.count_if(_is_valid()), F.count_if(~_is_valid())).collect()[0]
    return RowBalance(row[0], row[1], row[2])
