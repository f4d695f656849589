"""The one module that reads or commits Iceberg tables.

Every write to a topic's table goes through `Publication`: a branch made from the very head whose watermark was read,
data and watermark on it, then a fast-forward of main that Iceberg refuses if main has moved.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from leanops.core.layout import Field, Layout
from leanops.core.naming import literal, quoted_table
from spark_jobs.ddl import column_sql, create_sql, sort_sql
from spark_jobs.session import CATALOG
from spark_jobs.snapshots import Batch, MainMoved, Snapshot, UnreadableRange, Watermark, ancestors
from spark_jobs.units import Unit, unit_column, unit_expression, unit_sql

LOG = logging.getLogger(__name__)
T = TypeVar("T")
TRIES = 20
SMALLEST_SPLIT, LARGEST_SPLIT = 1 << 20, 1 << 27
STARTS = 10
MOST_WRITERS = 4
ROWS_A_PARTITION = 100_000
READ_OPERATIONS = frozenset({"append", "replace"})


class Lake:
    """The tables as one Spark session sees them."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._jvm: Any = spark._jvm
        self._handles: dict[str, Any] = {}

    # Layout

    def ensure(self, layout: Layout) -> None:
        """Creates the table, or adds the columns that it lacks. Nothing is dropped or narrowed here."""
        if not self.exists(layout.table):
            self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted_table(_path(layout.table.split('.')[0]))}")
            try:
                _changed(f"create {layout.table}", lambda: self.spark.sql(create_sql(_path(layout.table), layout)))
            except Exception:
                # Another run may have made it meanwhile.
                if not self.exists(layout.table):
                    raise
        self.add_columns(layout.table, layout.fields)
        table = self._fresh(layout.table)
        if layout.sorted_by and table.sortOrder().isUnsorted():
            _changed(
                f"sort {layout.table}", lambda: _retried(lambda: self.spark.sql(sort_sql(_path(layout.table), layout)))
            )
        if table.currentSnapshot() is None:
            # Without a first snapshot there is no main that a fast-forward could be refused on.
            _changed(f"start {layout.table}", lambda: table.newFastAppend().commit())

    def exists(self, table: str) -> bool:
        return bool(self.spark.catalog.tableExists(_path(table)))

    def columns(self, table: str) -> list[str]:
        # One call for the whole schema: asking each column by itself costs a trip to the JVM each.
        text = self._jvm.org.apache.iceberg.SchemaParser.toJson(self._fresh(table).schema())
        return [field["name"] for field in json.loads(text)["fields"]]

    def add_columns(self, table: str, fields: Iterable[Field]) -> list[str]:
        """Adds what is missing in one ALTER. Another run may add some of them at the same moment: look again then."""
        for _ in range(TRIES):
            known = set(self.columns(table))
            missing = [field for field in fields if field.name not in known]
            if not missing:
                return []
            columns = ", ".join(column_sql(field) for field in missing)
            sql = f"ALTER TABLE {quoted_table(_path(table))} ADD COLUMNS ({columns})"
            try:
                _changed(f"alter {table}", lambda sql=sql: self.spark.sql(sql))  # type: ignore[misc]
            except Exception as error:
                if not _is_race(error) and set(self.columns(table)) == known:
                    raise
                time.sleep(0.1)
                continue
            return [field.name for field in missing]
        raise MainMoved(table, "add columns")

    # Reading

    def read(self, table: str, snapshot: int | None = None) -> DataFrame:
        reader = self.spark.read.format("iceberg")
        if snapshot is not None:
            reader = reader.option("snapshot-id", str(snapshot))
        return reader.load(_path(table))

    def read_unit(self, table: str, unit: Unit) -> DataFrame:
        return self.read(table).where(unit_column(unit))

    def new_rows(self, table: str, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
        """A few rows made by the driver, in the table's own columns."""
        plain = [tuple(str(value) if isinstance(value, StrEnum) else value for value in row) for row in rows]
        return self.spark.createDataFrame(plain, self.read(table).schema).coalesce(1)

    def fitted(self, rows: DataFrame, table: str) -> DataFrame:
        """The rows in the table's own columns; what somebody else has added to it stays empty."""
        own = set(rows.columns)
        wanted = self.read(table).schema
        return rows.select(
            *(F.col(f.name) if f.name in own else F.lit(None).cast(f.dataType).alias(f.name) for f in wanted)
        )

    def plan_for(self, rows: int) -> None:
        """Shuffles get as many partitions as the batch has work for: adaptive planning is off."""
        most = self.spark.sparkContext.defaultParallelism * 4
        self.spark.conf.set("spark.sql.shuffle.partitions", str(min(most, rows // ROWS_A_PARTITION + 1)))

    def kept(self, frame: DataFrame) -> DataFrame:
        """The frame, computed at its first use and once. Plans built on it begin here and stay small."""
        return frame.localCheckpoint(eager=False)

    def let_go(self, frame: DataFrame) -> None:
        frame._jdf.queryExecution().logical().rdd().unpersist(False)

    def head(self, table: str) -> Snapshot:
        return Snapshot.of(self._fresh(table).currentSnapshot())

    def watermark(self, table: str, head: Snapshot) -> Watermark | None:
        """Of the newest ancestor that carries one: compaction's snapshots do not."""
        history = ancestors(self._table(table), head.id)
        return next((found for snapshot in history if (found := snapshot.watermark) is not None), None)

    def next_batch(
        self, raw: str, after: int | None, upto: int | None = None, most_rows: int | None = None
    ) -> Batch | None:
        """What RAW holds after that snapshot, in whole snapshots and (but for the first) not above `most_rows`."""
        table = self._fresh(raw)
        current = table.currentSnapshot()
        end = upto if upto is not None else None if current is None else current.snapshotId()
        if end is None or end == after:
            return None
        fresh = self._between(raw, after, end)
        if not any(snapshot.added_records for snapshot in fresh if snapshot.operation == "append"):
            return None
        rows, chosen = 0, None
        for snapshot in reversed(fresh):
            rows += snapshot.added_records if snapshot.operation == "append" else 0
            if chosen is not None and most_rows is not None and rows > most_rows:
                break
            chosen = snapshot
        return None if chosen is None else Batch(chosen.sequence, after, chosen.id)

    def sequence(self, table: str, snapshot: int) -> int:
        found = self._fresh(table).snapshot(snapshot)
        if found is None:
            raise UnreadableRange("read RAW", f"there is no snapshot {snapshot}", table, "Give one that it has.")
        number: int = found.sequenceNumber()
        return number

    def raw_rows(self, raw: str, batch: Batch) -> int:
        """How many records the batch has, from the snapshots' own summaries."""
        if batch.start is None:
            # Snapshots before it may be expired, their records are not.
            return Snapshot.of(self._table(raw).snapshot(batch.end)).total_records
        return sum(s.added_records for s in self._between(raw, batch.start, batch.end) if s.operation == "append")

    def read_batch(self, raw: str, batch: Batch) -> DataFrame:
        """The batch's records. Overwrites would be skipped silently by an incremental read, so they are refused."""
        size = sum(int(s.get("added-files-size") or 0) for s in self._between(raw, batch.start, batch.end))
        # A task for each core: flattening is work for the processor, not for the disk.
        split = str(min(max(size // self.spark.sparkContext.defaultParallelism + 1, SMALLEST_SPLIT), LARGEST_SPLIT))
        if batch.start is None:
            reader = self.spark.read.format("iceberg").option("snapshot-id", str(batch.end))
            return reader.option("split-size", split).load(_path(raw))
        reader = self.spark.read.format("iceberg").option("start-snapshot-id", str(batch.start))
        return reader.option("end-snapshot-id", str(batch.end)).option("split-size", split).load(_path(raw))

    def may_hold(self, table: str, unit: Unit, snapshot: int | None = None) -> bool:
        """Whether a file may hold such rows, by partitions and statistics alone: no Spark job."""
        scan = self._fresh(table).newScan().filter(unit_expression(self._jvm, unit))
        files = (scan if snapshot is None else scan.useSnapshot(snapshot)).planFiles()
        try:
            return bool(files.iterator().hasNext())
        finally:
            files.close()

    def carriers(self, table: str, head: Snapshot, after_batch: int) -> list[Snapshot]:
        """The snapshots with a watermark above `after_batch`, newest first."""
        found = []
        for snapshot in ancestors(self._table(table), head.id):
            mark = snapshot.watermark
            if mark is not None and mark.batch <= after_batch:
                break
            if mark is not None:
                found.append(snapshot)
        return found

    def _between(self, raw: str, start: int | None, end: int) -> list[Snapshot]:
        found: list[Snapshot] = []
        reached = None
        for snapshot in ancestors(self._table(raw), end):
            if snapshot.id == start:
                reached = start
                break
            if snapshot.operation not in READ_OPERATIONS:
                raise UnreadableRange(
                    "read RAW",
                    f"snapshot {snapshot.id} is a {snapshot.operation}",
                    raw,
                    "RAW takes appends and compaction only; rebuild the topic from RAW.",
                )
            found.append(snapshot)
        oldest_parent = found[-1].parent if found else None
        if start not in (reached, oldest_parent):
            raise UnreadableRange(
                "read RAW", f"snapshot {start} is expired or on no path to {end}", raw, "Rebuild the topic from RAW."
            )
        return found

    # Units of shared tables

    def replace_unit(self, table: str, rows: DataFrame | None, unit: Unit) -> None:
        """The unit's rows become these and no others. None: the unit is to be empty."""
        if rows is None and not self.may_hold(table, unit):
            return
        rows = self.read(table).limit(0) if rows is None else rows
        try:
            writer = rows.writeTo(_path(table))
            _changed(f"replace unit of {table}", lambda: writer.overwrite(unit_column(unit)))
        except Exception as error:
            # Compaction has put other units into the same file.
            if "some, but not all" not in str(error):
                raise
            for _ in range(TRIES):
                try:
                    with self.publication(table, self.head(table), f"unit_{uuid4().hex}") as publication:
                        publication.delete(unit_sql(unit))
                        publication.append(rows)
                        publication.publish()
                    return
                except MainMoved:
                    continue
            raise

    # Commits

    def published(self, table: str, attempt: Callable[[], T]) -> T:
        """What the attempt answers; it starts over from the table's new head whenever somebody else was faster."""
        for _ in range(STARTS):
            try:
                return attempt()
            except MainMoved as moved:
                LOG.warning("starting over: %s", moved)
        raise MainMoved(table, f"{STARTS} starts")

    def publication(self, table: str, head: Snapshot, branch: str) -> Publication:
        return Publication(self, table, head, branch)

    def _table(self, table: str) -> Any:
        if table not in self._handles:
            spark3 = self._jvm.org.apache.iceberg.spark.Spark3Util
            self._handles[table] = spark3.loadIcebergTable(self.spark._jsparkSession, _path(table))
        return self._handles[table]

    def _fresh(self, table: str) -> Any:
        handle = self._table(table)
        handle.refresh()
        return handle


class Publication:
    """One try to move a table from the head that was read to a new one. Without `publish` it leaves no trace."""

    def __init__(self, lake: Lake, table: str, head: Snapshot, branch: str) -> None:
        self._lake = lake
        self._table = table
        self._head = head
        self._branch = branch
        self._commits = 0

    def __enter__(self) -> Publication:
        create = lambda: self._handle().manageSnapshots().createBranch(self._branch, self._head.id).commit()  # noqa: E731
        _changed(f"branch {self._table}", lambda: _retried(create))
        return self

    def __exit__(self, *_: object) -> None:
        drop = lambda: self._handle().manageSnapshots().removeBranch(self._branch).commit()  # noqa: E731
        try:
            _changed(f"drop branch of {self._table}", lambda: _retried(drop))
        except Exception as error:  # the branch is rubbish by now, and maintenance sweeps up
            LOG.warning("branch %s of %s stays: %s", self._branch, self._table, error)

    @property
    def name(self) -> str:
        return f"{_path(self._table)}.branch_{self._branch}"

    def delete(self, condition: str) -> None:
        before = self._tip().id
        sql = f"DELETE FROM {quoted_table(self.name)} WHERE {condition}"
        _changed(f"delete on {self._table}", lambda: self._lake.spark.sql(sql))
        # A DELETE that finds nothing makes no snapshot.
        self._commits += self._tip().id != before

    def delete_keys(self, keys: DataFrame, periods: Sequence[str] | None) -> None:
        """Deletes the rows of these keys, which are broadcast. Their periods, where known, limit the scan."""
        view = f"keys_{uuid4().hex}"
        F.broadcast(keys.select("idempotency_key")).createOrReplaceTempView(view)
        try:
            self.delete(f"{_periods_sql(periods)} AND idempotency_key IN (SELECT idempotency_key FROM {view})")
        finally:
            self._lake.spark.catalog.dropTempView(view)

    def append(self, rows: DataFrame, properties: Mapping[str, str] | None = None) -> None:
        cores = self._lake.spark.sparkContext.defaultParallelism
        # Each task writes a file into each partition that it meets: many tasks must share the partitions out.
        writer = rows.coalesce(cores).writeTo(self.name)
        if cores > MOST_WRITERS:
            writer = writer.option("distribution-mode", "hash")
        for key, value in (properties or {}).items():
            writer = writer.option(f"snapshot-property.{key}", value)
        _changed(f"append to {self._table}", writer.append)
        self._commits += 1

    def mark(self, properties: Mapping[str, str]) -> None:
        """A snapshot without data that carries the properties."""

        def append() -> None:
            commit = self._handle().newFastAppend().toBranch(self._branch)
            for key, value in properties.items():
                commit = commit.set(key, value)
            commit.commit()

        _changed(f"mark {self._table}", append)
        self._commits += 1

    def publish(self) -> Snapshot:
        """Main becomes the branch, or MainMoved."""
        tip = self._verified_tip()

        def forward() -> None:
            self._handle().manageSnapshots().fastForwardBranch("main", self._branch).commit()

        try:
            _changed(f"publish {self._table}", lambda: _retried(forward))
        except Exception as error:
            if "not an ancestor" in str(error):
                raise MainMoved(self._table, self._branch) from error
            raise
        return tip

    def _tip(self) -> Snapshot:
        handle = self._handle()
        ref = handle.refs().get(self._branch)
        if ref is None:
            raise MainMoved(self._table, self._branch)
        return Snapshot.of(handle.snapshot(ref.snapshotId()))

    def _verified_tip(self) -> Snapshot:
        """Were the branch dropped under us, Iceberg would make it again from main as it is then, with whatever a twin
        has published: so the way from the tip to the head must be our commits and nothing else."""
        tip = self._tip()
        lineage = ancestors(self._handle(), tip.id)
        below = next((snapshot for step, snapshot in enumerate(lineage) if step == self._commits), None)
        if below is None or below.id != self._head.id:
            raise MainMoved(self._table, self._branch)
        return tip

    def _handle(self) -> Any:
        return self._lake._fresh(self._table)


def _changed(what: str, call: Callable[[], T]) -> T:
    """Every call that changes state passes here: it is logged, and tests let it fail here."""
    LOG.debug("%s …", what)
    return call()


def _retried(call: Callable[[], T]) -> T:
    """For changes of references, which any other change of the table's metadata makes fail."""
    for attempt in range(TRIES):
        try:
            return call()
        except Exception as error:
            if not _is_race(error) or attempt == TRIES - 1:
                raise
            time.sleep(min(0.05 * 2**attempt, 2.0))
    raise AssertionError("unreachable")


def _is_race(error: Exception) -> bool:
    text = str(error)
    return "CommitFailedException" in text or "Table metadata refresh is required" in text


def _path(table: str) -> str:
    return f"{CATALOG}.{table}"


def _periods_sql(periods: Sequence[str] | None) -> str:
    if periods is None:
        return "true"
    return f"period_reference IN ({', '.join(literal(period) for period in sorted(periods))})"
