"""P2 from the tables themselves: every RAW record has one disposition, every Standardized row one place.

What the jobs counted proves nothing here. RAW's deliveries and the rows of `parse_errors`, Standardized, Curated and
`errors` are laid side by side by message, without payloads; only records that no table holds under their own name
(repeats, overtaken versions) are flattened again, and sought by key and version.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import reduce
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from leanops.core import layout
from leanops.core.contract import Contract
from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import ERRORS_TABLE, PARSE_ERRORS_TABLE, RECONCILIATION_LOG_TABLE, Names
from spark_jobs import evidence, records
from spark_jobs.dispositions import MESSAGE
from spark_jobs.evidence import DELIVERY, DISPOSITIONS, FAULTS, HAS_REST, ROW, SURPLUS
from spark_jobs.expectations import Check, Verdict, judged
from spark_jobs.flat_rows import flat_rows
from spark_jobs.results import Result, Status
from spark_jobs.session import catalog_places
from spark_jobs.snapshots import Batch, UnreadableRange, Watermark
from spark_jobs.tables import Lake
from spark_jobs.units import Unit

LOG = logging.getLogger(__name__)
LAYER: Final = "reconciled"
SCOPE: Final = "batch"
# How many records an error names; the log has more.
NAMED: Final = 20
# So small a batch is one task, without exchanges, and its ids may come to the driver.
SMALL: Final = 10_000


class Unreconciled(LeanOpsError):
    """The tables do not add up. The log has been written by then."""

    def __init__(self, topic: str, batch: int, failed: Sequence[Check]) -> None:
        self.topic = topic
        self.batch = batch
        self.failed = tuple(failed)
        self.records = tuple(dict.fromkeys(name for check in failed for name in check.records))[:NAMED]
        names = f", records {', '.join(map(shown, self.records))}" if self.records else ""
        super().__init__(
            "close batch",
            "; ".join(f"{check.name}: {check.expected} expected, {check.found} found" for check in failed),
            f"topic {topic}, batch {batch}{names}",
            f"Keep the tables' snapshots from expiry and look at {RECONCILIATION_LOG_TABLE}; once the cause is known, "
            f"reprocess --batch {batch} makes the rows again from RAW.",
        )


class UntakenBatch(LeanOpsError):
    def __init__(self, table: str, batch: int | None) -> None:
        which = "any batch" if batch is None else f"batch {batch}"
        super().__init__("reconcile", f"it has not taken {which} in", table, "Run standardize and curate first.")


class Span(NamedTuple):
    """The batches that Curated took in together; a single one where there is no Curated."""

    raw: Batch  # all of them as one range, under the last one's number
    first: int  # from here on, parse errors are of that range
    rows_from: int  # from here on, rows are of those batches
    is_newest: bool  # Standardized has taken nothing in since
    counters: tuple[Mapping[str, int], ...]  # of standardize, for each batch; none if one was done again since
    row_counters: Mapping[str, int] | None  # of curate; none if Standardized or Curated has changed since

    @property
    def number(self) -> int:
        return self.raw.number


class Compared(NamedTuple):
    """The snapshots, so that a comparison can be repeated."""

    raw: int | None
    standardized: int | None
    curated: int | None


def reconcile(lake: Lake, names: Names, contract: Contract, batch: int | None = None) -> Result:
    """Proves the balance of the newest batch, or of `batch`, with those that Curated took in together with it."""
    is_there = lake.exists(names.standardized_table)
    span = span_of(lake, names, contract, batch) if is_there else None
    if span is None:
        return Result(names.topic, LAYER, Status.NOTHING)
    curated = lake.head(names.curated_table).id if contract.is_curated else None
    compared = Compared(span.raw.end, lake.head(names.standardized_table).id, curated)
    counts, checks = _Run(lake, names, contract, span, compared).balance()
    verdict = judged(f"{names.topic}_{span.number}", counts, checks)
    log(lake, names.topic, span.number, verdict, compared)
    if not verdict.ok:
        raise Unreconciled(names.topic, span.number, verdict.failed)
    counts |= {"difference": int(verdict.difference), "expectations": verdict.expectations}
    last = curated or compared.standardized
    return Result(names.topic, LAYER, Status.BALANCED, span.number, span.raw.end, last, counts)


def log(lake: Lake, topic: str, batch: int, verdict: Verdict, compared: Compared) -> None:
    """The log's rows of this batch become these."""
    lake.ensure(layout.RECONCILIATION_LOG)
    now = datetime.now(UTC)
    rows = []
    for check in verdict.checks:
        numbers = (Decimal(check.expected), Decimal(check.found), Decimal(check.difference))
        is_balanced = check not in verdict.failed
        detail = ", ".join(check.records) or None
        rows.append((topic, SCOPE, batch, None, check.name, *numbers, is_balanced, *compared, detail, now))
    unit: Unit = {"topic_name": topic, "scope": SCOPE, "_batch": batch}
    lake.replace_unit(RECONCILIATION_LOG_TABLE, lake.new_rows(RECONCILIATION_LOG_TABLE, rows), unit)


def span_of(lake: Lake, names: Names, contract: Contract, batch: int | None = None) -> Span | None:
    """From the tables' watermarks; None while Standardized has none."""
    table = names.standardized_table
    head = lake.head(table)
    mark = lake.watermark(table, head)
    if mark is None:
        return None
    after, last, taken = _taken_together(lake, names, batch) if contract.is_curated else _single(mark, batch)
    history = [note for each in lake.carriers(table, head, -1 if after is None else after) if (note := each.watermark)]
    # Newest first, and a batch that is done again repeats the newest note: the first of each is what is left here.
    notes = {note.batch: note for note in history}
    is_redone = len(notes) < len(history)
    chosen = [notes[number] for number in sorted(notes) if number <= last]
    if after is None and chosen and chosen[0].result.get("start") is not None:
        # Curated began late, and what lies before is no longer noted; those batches were proven in their own time.
        chosen = chosen[-1:]
    end = chosen[-1].raw_snapshot if chosen else None
    if end is None or chosen[-1].batch != last:
        reason = f"no snapshot of {table} says where batch {last} lies in RAW"
        raise UnreadableRange("reconcile", reason, names.topic, "Give a later batch, or rebuild the topic.")
    start = chosen[0].result.get("start")
    is_newest = last == mark.batch
    return Span(
        Batch(last, start, end),
        0 if start is None else chosen[0].batch if after is None else after + 1,
        0 if after is None else after + 1,
        is_newest,
        () if is_redone else tuple(note.result.get("counts", {}) for note in chosen),
        taken.result.get("counts") if taken and is_newest and not is_redone else None,
    )


def _single(mark: Watermark, batch: int | None) -> tuple[int, int, None]:
    last = mark.batch if batch is None else batch
    return last - 1, last, None


def _taken_together(lake: Lake, names: Names, batch: int | None) -> tuple[int | None, int, Watermark | None]:
    """(the batch that Curated had before, the one it had then, its note of it unless there is a newer one)."""
    table = names.curated_table
    head = lake.head(table) if lake.exists(table) else None
    newest = lake.watermark(table, head) if head else None
    if head is None or newest is None or (batch is not None and batch > newest.batch):
        raise UntakenBatch(table, batch)
    carriers = lake.carriers(table, head, (newest.batch if batch is None else batch) - 1)
    oldest = carriers[-1]
    note = oldest.watermark or newest
    before = None if oldest.parent is None else lake.watermark(table, replace(oldest, id=oldest.parent))
    return before.batch if before else None, note.batch, note if len(carriers) == 1 else None


class _Run:
    """One comparison, at fixed snapshots."""

    def __init__(self, lake: Lake, names: Names, contract: Contract, span: Span, compared: Compared) -> None:
        self._lake = lake
        self._names = names
        self._contract = contract
        self._span = span
        self._compared = compared
        self._added = lake.raw_rows(names.raw_table, span.raw)
        self._is_small = self._added <= SMALL
        self._kept_frames: list[DataFrame] = []

    def balance(self) -> tuple[dict[str, int], list[Check]]:
        """What was counted, and what must hold of it."""
        try:
            return self._balance()
        finally:
            for frame in self._kept_frames:
                self._lake.let_go(frame)

    def _balance(self) -> tuple[dict[str, int], list[Check]]:
        self._lake.plan_for(self._added)
        self._say(f"laying {self._added} records beside what the tables hold of them")
        laid = self._kept(self._evidence())
        found = evidence.summed(laid, self._is_small)
        again: Mapping[str, int] = {}
        missing: tuple[str, ...] = ()
        if found["rest"]:
            self._say(f"{found['rest']} records are in no table under their own name; reading them again")
            again, missing = self._sought(laid, found)
        counts = {
            name: found.get(name, 0) + again.get(name, 0) for name in ("raw", *DISPOSITIONS, "missing", "doubled")
        }
        checks = [
            Check("raw_read", self._added, counts["raw"]),
            Check("raw_sum", counts["raw"], sum(counts[name] for name in DISPOSITIONS)),
            Check("raw_missing", 0, counts["missing"], missing),
            Check("raw_doubled", 0, counts["doubled"], evidence.named(laid, SURPLUS, counts["doubled"])),
        ]
        if self._contract.is_curated:
            faults = FAULTS if self._span.is_newest else FAULTS[:2]
            counts |= {name: found[name] for name in ("standardized", "curated", "rejected", *faults)}
            checks.append(Check("row_sum", counts["standardized"], counts["curated"] + counts["rejected"]))
            checks += [
                Check(f"row_{name}", 0, counts[name], evidence.named(laid, name, counts[name])) for name in faults
            ]
        return counts, [*checks, *_counter_checks(self._span, counts)]

    def _evidence(self) -> DataFrame:
        lake, names, span = self._lake, self._names, self._span
        rows = (span.rows_from, span.number)
        parse_errors: Unit = {"topic_name": names.topic, "_batch": (span.first, span.number)}
        parts = [
            evidence.part("raw", lake.read_batch(names.raw_table, span.raw)),
            evidence.part("parse_error", lake.read_unit(PARSE_ERRORS_TABLE, parse_errors)),
            evidence.part("standardized", self._standardized(), ROW),
        ]
        if self._contract.is_curated:
            curated = lake.read(names.curated_table, self._compared.curated).where(F.col("_batch").between(*rows))
            own = F.lit(None) if self._contract.version_column == "publish_time" else F.col("last_updated_ts")
            standing_in = F.coalesce(own, "publish_time")
            curated = curated.withColumns({"message_id": F.col("_message_id"), "last_updated_ts": standing_in})
            rejected: Unit = {"topic_name": names.topic, "_batch": rows}
            parts += [
                evidence.part("curated", curated, ROW),
                evidence.part("rejected", lake.read_unit(ERRORS_TABLE, rejected), ROW),
            ]
        parted = reduce(DataFrame.unionByName, parts)
        # One exchange serves the groupings and the window.
        return evidence.laid_out(parted.coalesce(1) if self._is_small else parted.repartition(*MESSAGE))

    def _standardized(self) -> DataFrame:
        rows = self._lake.read(self._names.standardized_table, self._compared.standardized)
        return rows.where(F.col("_batch").between(self._span.rows_from, self._span.number))

    def _sought(self, laid: DataFrame, found: Mapping[str, Any]) -> tuple[dict[str, int], tuple[str, ...]]:
        """What became of the records that no table holds under their own name; the names of those without a fate."""
        fates = self._kept(evidence.with_fate(self._read_again(laid, found), self._gathered(self._standardized())))
        told = evidence.fates_counted(fates, found["ids"] is not None)
        lost = fates.where("fate = 'missing'")
        if told["unsettled"]:
            # Their newer version came with other batches: now the whole table is asked.
            unsettled = fates.where("fate = 'unsettled'")
            table = self._lake.read(self._names.standardized_table, self._compared.standardized)
            rows = evidence.matching(
                table.select("idempotency_key", *layout.VERSION_COLUMNS), "idempotency_key", unsettled, told["keys"]
            )
            settled = self._kept(evidence.with_fate(unsettled.drop("fate"), rows))
            rest = evidence.fates_counted(settled, False)
            told = {name: told[name] + rest[name] for name in (*DISPOSITIONS, "missing")}
            told["missing"] += rest["unsettled"]
            lost = lost.unionByName(settled.where("fate = 'unsettled'"))
        return told, evidence.named(lost, "1", told["missing"])

    def _read_again(self, laid: DataFrame, found: Mapping[str, Any]) -> DataFrame:
        """The records in question with key and version, each with `_what`: what is known before the key is asked."""
        rest = laid.where(HAS_REST).select(*DELIVERY, "parse_error", "standardized", "is_held")
        raw = self._lake.read_batch(self._names.raw_table, self._span.raw)
        contract = self._contract
        columns = [
            contract.by_name[name] for name in ("idempotency_key", "last_updated_ts") if name in contract.by_name
        ]
        names = [contract.standardized_column(column) for column in columns]
        raw = self._gathered(evidence.matching(raw, "message_id", rest, found["ids"]))
        flat = records.identified(flat_rows(raw, contract.owners, names, catalog_places(self._lake.spark)), contract)
        again = flat.rows.where("_census IS NULL").select(
            *DELIVERY,
            "_digest",
            "_row",
            F.col("_reason").isNotNull().alias("is_broken"),
            F.col("_key").alias("idempotency_key"),
            F.col("_updated").alias("last_updated_ts"),
        )
        placeless = evidence.placeless(again.join(rest.hint("merge"), [*DELIVERY]))
        return evidence.spoken_for(placeless, self._taken_before(rest, found))

    def _taken_before(self, rest: DataFrame, found: Mapping[str, Any]) -> DataFrame | None:
        """Messages of which an earlier batch has a delivery that was no parse error."""
        lake, raw, start = self._lake, self._names.raw_table, self._span.raw.start
        times = (_moment(found["earliest"]), _moment(found["latest"]))
        if start is None or not lake.may_hold(raw, {"publish_time": times}, start):
            return None
        within = F.col("publish_time").between(*map(F.lit, times))
        earlier = lake.read(raw, start).where(within).select(*DELIVERY)
        earlier = self._gathered(evidence.matching(earlier, "message_id", rest, found["ids"]))
        failed: Unit = {"topic_name": self._names.topic, "_batch": (0, self._span.first - 1), "publish_time": times}
        if lake.may_hold(PARSE_ERRORS_TABLE, failed):
            broken = self._gathered(lake.read_unit(PARSE_ERRORS_TABLE, failed).select(*DELIVERY))
            earlier = earlier.join(broken.hint("merge"), [*DELIVERY], "left_anti")
        return earlier.select(*MESSAGE).distinct()

    def _gathered(self, frame: DataFrame) -> DataFrame:
        return frame.coalesce(1) if self._is_small else frame

    def _kept(self, frame: DataFrame) -> DataFrame:
        self._kept_frames.append(self._lake.kept(frame))
        return self._kept_frames[-1]

    def _say(self, what: str) -> None:
        LOG.info("%s, batch %s: %s", self._names.topic, self._span.number, what)


def _counter_checks(span: Span, counts: Mapping[str, int]) -> Iterator[Check]:
    """The jobs' own counters as a cross-check: no part of the proof, but what dashboards show."""
    pairs: dict[str, tuple[int, int]] = {}
    if span.counters:
        total = {
            name: sum(each.get(name, 0) for each in span.counters)
            for name in {*DISPOSITIONS, "raw", "superseded", "stale"}
        }
        pairs |= {name: (total[name], counts[name]) for name in ("raw", "network_duplicate", "parse_error")}
        # Which of the two a record is changes as later batches come, their sum does not.
        taken = total["accepted"] + total["superseded"] + total["stale"]
        pairs["taken"] = (taken, counts["accepted"] + counts["overtaken"])
        if span.is_newest and len(span.counters) == 1:
            pairs["accepted"] = (total["accepted"], counts["accepted"])
    if span.row_counters is not None:
        pairs |= {
            name: (span.row_counters.get(name, 0), counts[name]) for name in ("standardized", "curated", "rejected")
        }
    for name, (expected, found) in pairs.items():
        yield Check(f"counter_{name}", expected, found)


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
