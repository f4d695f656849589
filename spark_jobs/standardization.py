"""RAW → Standardized: one batch of RAW snapshots, each record with exactly one disposition."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from leanops.core import flatten, layout
from leanops.core.accounting import RawBalance, RawDisposition
from leanops.core.contract import Contract
from leanops.core.errors import UnbalancedBatch
from leanops.core.layout import STANDARDIZED_FIELDS, Field
from leanops.core.naming import DRIFT_LOG_TABLE, PARSE_ERRORS_TABLE, Names
from spark_jobs import dispositions, drift, records, snapshots
from spark_jobs.flat_rows import Census, FlatRows, census, flat_rows, sample_columns
from spark_jobs.results import Result, Status
from spark_jobs.session import catalog_places
from spark_jobs.snapshots import ANY_PERIOD, Batch, Snapshot, Watermark
from spark_jobs.tables import Lake
from spark_jobs.units import Unit

LOG = logging.getLogger(__name__)
LAYER = "standardized"
# So few keys are cheaper to look up one by one, by partition and statistics, than to join.
FEW = 500
SAMPLE = 200
MOST_PERIODS = 200
_REPLACED = "(disposition = 'accepted' AND old_period_reference IS NOT NULL)"
_TOLD = "(disposition <> 'accepted' OR _seen_before)"
_TOUCHED = f"({_REPLACED} OR _lowers)"
PLATFORM_COLUMNS = frozenset(field.name for field in STANDARDIZED_FIELDS)


def standardize(
    lake: Lake, names: Names, contract: Contract, upto: int | None = None, most_rows: int | None = None
) -> Result:
    """Takes in what RAW holds after the table's watermark, up to RAW's snapshot `upto` or to about `most_rows`."""
    _ensure(lake, names, contract)

    def attempt() -> Result:
        head = lake.head(names.standardized_table)
        mark = lake.watermark(names.standardized_table, head)
        if mark and upto is not None and lake.sequence(names.raw_table, upto) <= mark.batch:
            return _covered(names, head, mark)
        batch = lake.next_batch(names.raw_table, mark.raw_snapshot if mark else None, upto, most_rows)
        if batch is None:
            return _covered(names, head, mark) if mark else Result(names.topic, LAYER, Status.NOTHING)
        return _Run(lake, names, contract, head, mark, batch).published()

    return lake.published(names.standardized_table, attempt)


def restandardize(lake: Lake, names: Names, contract: Contract, batch: Batch) -> Result:
    """Does a batch again with today's code and contract; rows of an equal version are replaced, the watermark stays."""
    _ensure(lake, names, contract)

    def attempt() -> Result:
        head = lake.head(names.standardized_table)
        mark = lake.watermark(names.standardized_table, head)
        return _Run(lake, names, contract, head, mark, batch).published()

    return lake.published(names.standardized_table, attempt)


def _ensure(lake: Lake, names: Names, contract: Contract) -> None:
    for each in (layout.raw(names), layout.standardized(names, contract), layout.PARSE_ERRORS, layout.DRIFT_LOG):
        lake.ensure(each)


def _covered(names: Names, head: Snapshot, mark: Watermark) -> Result:
    counts: Mapping[str, int] = mark.result.get("counts", {})
    return Result(names.topic, LAYER, Status.COVERED, mark.batch, mark.raw_snapshot, head.id, counts)


@dataclass(frozen=True)
class _Summary:
    counts: Mapping[str, int]
    replaced: int
    lowered: int
    told: int
    old_periods: tuple[str, ...] | None

    @property
    def touches_old_rows(self) -> bool:
        return self.replaced + self.lowered > 0


class _Run:
    """One try at one batch, from the head that was read."""

    def __init__(
        self, lake: Lake, names: Names, contract: Contract, head: Snapshot, mark: Watermark | None, batch: Batch
    ) -> None:
        self._lake = lake
        self._names = names
        self._contract = contract
        self._head = head
        self._mark = mark
        self._batch = batch
        self._table = names.standardized_table
        self._token = uuid4().hex
        self._expected = lake.raw_rows(names.raw_table, batch)
        self._kept_frames: list[DataFrame] = []

    def published(self) -> Result:
        try:
            return self._published()
        finally:
            for frame in self._kept_frames:
                self._lake.let_go(frame)

    def _published(self) -> Result:
        self._lake.plan_for(self._expected)
        self._say(f"reading {self._expected} records from RAW and flattening")
        raw = self._lake.read_batch(self._names.raw_table, self._batch)
        known = [name for name in self._lake.columns(self._table) if name not in PLATFORM_COLUMNS]
        foreseen = self._foreseen(raw, known)
        flat = flat_rows(raw, self._contract.owners, [*known, *foreseen], catalog_places(self._lake.spark))
        flat = records.identified(flat, self._contract)
        flat = FlatRows(self._kept(flat.rows), flat.columns)
        found = census(flat)
        self._prove_raw(found)
        self._say(f"{found.records} records, {found.parse_errors.total()} parse errors; writing those")
        self._write_parse_errors(flat, found)
        added = self._evolve(found, known, foreseen)
        self._say("ordering by message and by version")
        fates = self._kept(self._fates(flat, found))
        summary = _summary(fates)
        counts = self._counts(found, summary)
        self._say(f"{json.dumps(counts)}; writing the branch")
        tip = self._commit(flat, fates, summary, found, {"counts": counts, "start": self._batch.start, "added": added})
        self._say(f"published snapshot {tip.id}; next: curate")
        return Result(
            self._names.topic,
            LAYER,
            Status.PUBLISHED,
            self._batch.number,
            self._batch.end,
            tip.id,
            counts,
            tuple(added),
            int(tip.get("added-data-files") or 0),
            int(tip.get("added-files-size") or 0),
        )

    def _foreseen(self, raw: DataFrame, known: Collection[str]) -> list[str]:
        """Columns that the first records of a new topic show: what has a column needs no look-up in `_extra`."""
        if self._mark is not None:
            return []
        sample = [row[0] for row in raw.select("json_payload").limit(SAMPLE).collect()]
        return flatten.columns_to_add(
            known, sample_columns(sample, self._contract.owners), self._contract.column_budget
        )

    def _prove_raw(self, found: Census) -> None:
        """What was flattened is what RAW's own snapshots say they added."""
        expected = self._expected
        if expected != found.records:
            raise UnbalancedBatch("raw = what the batch's snapshots added", expected, found.records)

    def _counts(self, found: Census, summary: _Summary) -> dict[str, int]:
        counts = {each.value: summary.counts.get(each.value, 0) for each in RawDisposition}
        counts[RawDisposition.PARSE_ERROR.value] = found.parse_errors.total()
        RawBalance(found.records, {RawDisposition(name): count for name, count in counts.items()}).prove()
        return {"raw": found.records} | counts

    def _write_parse_errors(self, flat: FlatRows, found: Census) -> None:
        rows = None
        if found.parse_errors:
            rows = flat.parse_errors.select(
                F.lit(self._names.topic).alias("topic_name"),
                F.lit(self._batch.number).cast("bigint").alias("_batch"),
                "message_id",
                "publish_time",
                "ingestion_ts",
                F.col("_reason").alias("reason"),
                F.col("_detail").alias("detail"),
                F.col("_position").alias("position"),
                "json_payload",
            )
        self._lake.replace_unit(PARSE_ERRORS_TABLE, rows, self._unit())

    def _unit(self) -> dict[str, str | int]:
        return {"topic_name": self._names.topic, "_batch": self._batch.number}

    def _evolve(self, found: Census, known: Sequence[str], foreseen: Sequence[str]) -> list[str]:
        """Logs the drift, then adds the columns that still fit the budget, in one ALTER.

        What was foreseen comes first: its values are no longer in `_extra`, from where the rescue takes the rest.
        """
        budget = self._contract.column_budget
        wanted = [*foreseen, *flatten.columns_to_add([*known, *foreseen], found.columns.keys(), budget)]
        changes = self._log_drift(found, {*known, *wanted})
        self._lake.add_columns(self._table, [Field(name, "STRING") for name in wanted])
        # Not what the ALTER added: a run that died after it has added all of them already.
        return [change.column_name for change in changes if change.action == drift.Action.ADDED]

    def _log_drift(self, found: Census, kept: Collection[str]) -> list[drift.Change]:
        changes = list(drift.changes(found, drift.states(self._drift_entries()), kept)) if found.valid else []
        rows = None
        if changes:
            fixed = (self._names.topic, self._batch.number, LAYER, found.times[0] if found.times else None)
            rows = self._lake.new_rows(DRIFT_LOG_TABLE, [(*fixed, *change) for change in changes])
        self._lake.replace_unit(DRIFT_LOG_TABLE, rows, {**self._unit(), "source_layer": LAYER})
        return changes

    def _drift_entries(self) -> list[drift.Entry]:
        before = (0, self._batch.number - 1)
        log = self._lake.read_unit(
            DRIFT_LOG_TABLE, {"topic_name": self._names.topic, "source_layer": LAYER, "_batch": before}
        )
        rows = log.select("_batch", "column_name", "action", "new_value", "details").collect()
        return [drift.Entry(*row) for row in rows]

    def _fates(self, flat: FlatRows, found: Census) -> DataFrame:
        identities = records.identities(flat)
        few = identities.select("message_id", "idempotency_key").collect() if found.valid <= FEW else None
        ids = None if few is None else {row[0] for row in few}
        keys = None if few is None else {row[1] for row in few if row[1] is not None}
        repeats = dispositions.with_repeats(identities, self._taken(identities, found, ids))
        return dispositions.disposed(repeats, self._existing(identities, keys))

    def _taken(self, identities: DataFrame, found: Census, ids: Collection[str] | None) -> DataFrame | None:
        """Messages of the batch of which an earlier batch has a delivery that was no parse error."""
        if self._batch.start is None:
            return None
        raw, start = self._names.raw_table, self._batch.start
        if found.times is None:
            return None
        times = found.times
        if not self._lake.may_hold(raw, {"publish_time": times}, start):
            return None
        within = F.col("publish_time").between(*map(F.lit, times))
        same_delivery = [*dispositions.MESSAGE, "ingestion_ts"]
        earlier = _matching(
            self._lake.read(raw, start).where(within).select(same_delivery), "message_id", identities, ids
        )
        failures: Unit = {"topic_name": self._names.topic, "_batch": (0, self._batch.number - 1), "publish_time": times}
        if not self._lake.may_hold(PARSE_ERRORS_TABLE, failures):
            return earlier
        failed = self._lake.read_unit(PARSE_ERRORS_TABLE, failures).select(same_delivery)
        return earlier.join(F.broadcast(failed), same_delivery, "left_anti")

    def _existing(self, identities: DataFrame, keys: Collection[str] | None) -> DataFrame | None:
        """The table's rows of the batch's keys, without their payload."""
        if self._head.total_records == 0:
            return None
        columns = ("idempotency_key", *layout.VERSION_COLUMNS, "period_reference")
        rows = self._lake.read(self._table, self._head.id).select(*columns, "first_seen_ts", "first_period_reference")
        return _matching(rows, "idempotency_key", identities, keys)

    def _commit(
        self, flat: FlatRows, fates: DataFrame, summary: _Summary, found: Census, result: Mapping[str, Any]
    ) -> Snapshot:
        columns = self._lake.columns(self._table)
        properties = self._properties(summary, result)
        branch = self._names.run_branch(self._batch.number, self._token)
        with self._lake.publication(self._table, self._head, branch) as publication:
            if summary.touches_old_rows:
                publication.delete_keys(fates.where(_TOUCHED), summary.old_periods)
            if summary.counts.get("accepted") or summary.lowered:
                told = fates.where(_TOLD) if summary.told else None
                rows = _accepted(flat, told, self._contract, self._batch.number, columns, found)
                if summary.lowered:
                    lowered = self._lowered(fates, summary.old_periods)
                    rows = rows.unionByName(self._lake.fitted(lowered, self._table))
                publication.append(rows, properties)
            else:
                publication.mark(properties)
            return publication.publish()

    def _properties(self, summary: _Summary, result: Mapping[str, Any]) -> dict[str, str]:
        """A batch that is done again leaves the watermark where it is."""
        mark = self._mark
        is_redone = mark is not None and mark.batch >= self._batch.number
        batch, end = (mark.batch, mark.raw_snapshot) if mark and is_redone else (self._batch.number, self._batch.end)
        periods = ANY_PERIOD if summary.old_periods is None else ",".join(summary.old_periods)
        return {
            snapshots.BATCH: str(batch),
            snapshots.RAW_SNAPSHOT: str(end),
            snapshots.CONTRACT_VERSION: self._contract.schema_version,
            snapshots.RUN: self._token,
            snapshots.RESULT: json.dumps(mark.result if mark and is_redone else result),
            snapshots.REPLACED_PERIODS: periods,
        }

    def _lowered(self, fates: DataFrame, periods: Sequence[str] | None) -> DataFrame:
        """Rows that stay as they are, but for an earlier first sight that came late."""
        first = ("first_seen_ts", "first_period_reference")
        lowered = fates.where("_lowers").select("idempotency_key", *first)
        rows = self._lake.read(self._table, self._head.id).drop(*first, "_batch")
        if periods is not None:
            rows = rows.where(F.col("period_reference").isin(list(periods)))
        batch = F.lit(self._batch.number).cast("bigint").alias("_batch")
        return rows.join(F.broadcast(lowered), "idempotency_key").select("*", batch)

    def _kept(self, frame: DataFrame) -> DataFrame:
        self._kept_frames.append(self._lake.kept(frame))
        return self._kept_frames[-1]

    def _say(self, what: str) -> None:
        LOG.info("%s, batch %s: %s", self._names.topic, self._batch.number, what)


def _matching(rows: DataFrame, column: str, identities: DataFrame, few: Collection[str] | None) -> DataFrame:
    if few is not None:
        return rows.where(F.col(column).isin(sorted(few)))
    wanted = identities.select(column).where(F.col(column).isNotNull())
    return rows.join(F.broadcast(wanted), column, "left_semi")


def _summary(fates: DataFrame) -> _Summary:
    touched = F.when(F.expr(_TOUCHED), F.col("old_period_reference"))
    names = [each.value for each in RawDisposition]
    row = fates.agg(
        *(F.count_if(F.col("disposition") == name).alias(name) for name in names),
        F.count_if(F.expr(_REPLACED)).alias("replaced"),
        F.count_if(F.col("_lowers")).alias("lowered"),
        F.count_if(F.expr(_TOLD)).alias("told"),
        F.sort_array(F.collect_set(touched)).alias("periods"),
    ).collect()[0]
    periods = tuple(row["periods"]) if len(row["periods"]) <= MOST_PERIODS else None
    return _Summary({name: row[name] for name in names}, row["replaced"], row["lowered"], row["told"], periods)


def _accepted(
    flat: FlatRows, told: DataFrame | None, contract: Contract, batch: int, columns: Sequence[str], found: Census
) -> DataFrame:
    """The rows that Standardized takes, with all its columns. Only the records that something is told of are joined."""
    first = ("first_seen_ts", "first_period_reference")
    if told is None:
        rows = flat.valid.withColumns(
            {"first_seen_ts": F.expr("CAST(NULL AS TIMESTAMP)"), first[1]: F.expr("CAST(NULL AS STRING)")}
        )
    else:
        small = F.broadcast(told.select("_row", "disposition", *first))
        rows = flat.valid.join(small, "_row", "left").where("coalesce(disposition, 'accepted') = 'accepted'")
    platform = _platform_columns(flat, contract, batch, columns, found)
    chosen = [platform[name] if name in platform else flat.text(name) for name in columns]
    return rows.select(*(column.alias(name) for column, name in zip(chosen, columns, strict=True)))


def _platform_columns(
    flat: FlatRows, contract: Contract, batch: int, columns: Sequence[str], found: Census
) -> dict[str, Column]:
    return {
        "message_id": F.col("message_id"),
        "topic_name": F.col("topic_name"),
        "publish_time": F.col("publish_time"),
        "ingestion_ts": F.col("ingestion_ts"),
        "idempotency_key": F.col("_key"),
        "period_reference": F.col("_period"),
        "correlation_id": records.correlation_id(flat, contract),
        "last_updated_ts": F.col("_updated"),
        "first_seen_ts": F.coalesce("first_seen_ts", "publish_time"),
        "first_period_reference": F.coalesce("first_period_reference", "_period"),
        "_rescued": _rescued(columns, found),
        "_batch": F.lit(batch).cast("bigint"),
        "_contract_version": F.lit(contract.schema_version),
    }


def _rescued(columns: Sequence[str], found: Census) -> Column:
    """Python runs only where the column budget leaves something out."""
    kept = frozenset(columns)
    if found.columns.keys() <= kept:
        return F.col("_rescued")

    @F.udf("string")
    def rescued(extra: dict[str, str | None] | None, collided: str | None) -> str | None:
        left_out = {name: value for name, value in (extra or {}).items() if name not in kept}
        return flatten.FlatRow({}, json.loads(collided or "{}") | left_out).rescued_text

    return F.when(F.col("_extra").isNull(), F.col("_rescued")).otherwise(rescued("_extra", "_rescued"))
