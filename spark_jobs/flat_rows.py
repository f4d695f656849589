"""RAW records as flat rows: the flattening of `flattening` run by Spark's workers, one pass over the payloads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, MapType, StringType, StructField, StructType, TimestampType

from leanops.core.flatten import Path
from spark_jobs.flattening import Flattener
from spark_jobs.oversize import whole_payloads
from spark_jobs.places import Places

CARRIED = ("message_id", "topic_name", "publish_time", "ingestion_ts", "_digest")


@dataclass
class Sighted:
    """How often a column was seen in a batch, by the shape of its JSON values."""

    path: Path
    shapes: Counter[str] = field(default_factory=Counter)

    @property
    def records(self) -> int:
        return self.shapes.total()

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(shape for shape, count in self.shapes.items() if count and shape != "null")


@dataclass
class Census:
    """What a batch holds, counted while it was flattened."""

    valid: int = 0
    parse_errors: Counter[str] = field(default_factory=Counter)
    times: tuple[datetime, datetime] | None = None
    columns: dict[str, Sighted] = field(default_factory=dict)

    @property
    def records(self) -> int:
        return self.valid + self.parse_errors.total()


@dataclass(frozen=True)
class FlatRows:
    """One row per record: its envelope, what makes it a parse error, the known columns, the rest in `_extra`.

    Known columns go by number, since a payload may use any name. Among the rows are some that carry nothing but
    `_census`, a part of the batch's count: so no second pass is needed for it.
    """

    rows: DataFrame
    columns: tuple[str, ...]

    def text(self, name: str) -> Column:
        """The flat column of that name."""
        if name in self.columns:
            return F.col(f"c_{self.columns.index(name)}")
        return F.col("_extra").getItem(name)

    @property
    def valid(self) -> DataFrame:
        return self.rows.where("_reason IS NULL AND _census IS NULL")

    @property
    def parse_errors(self) -> DataFrame:
        return self.rows.where("_reason IS NOT NULL")


def flat_rows(raw: DataFrame, owners: Mapping[str, Path], columns: Sequence[str], places: Places) -> FlatRows:
    source = raw.select(
        "message_id",
        "topic_name",
        "publish_time",
        "ingestion_ts",
        F.md5(F.coalesce("json_payload", "payload_ref")).alias("_digest"),
        "json_payload",
        "payload_ref",
    )
    flat = source.mapInArrow(_worker(dict(owners), list(columns), places), _schema(columns))
    return FlatRows(flat.withColumn("_row", F.monotonically_increasing_id()), tuple(columns))


def sample_columns(payloads: Sequence[str | None], owners: Mapping[str, Path]) -> set[str]:
    """The names of all flat columns in a few payloads."""
    return set(Flattener(owners, []).flattened(pa.array(payloads, pa.string())).census)


def _schema(columns: Sequence[str]) -> StructType:
    text = StringType()
    return StructType(
        [
            StructField("message_id", text),
            StructField("topic_name", text),
            StructField("publish_time", TimestampType()),
            StructField("ingestion_ts", LongType()),
            StructField("_digest", text),
            StructField("json_payload", text),
            StructField("_reason", text),
            StructField("_detail", text),
            StructField("_position", LongType()),
            StructField("_extra", MapType(text, text)),
            StructField("_rescued", text),
            StructField("_census", text),
            *(StructField(f"c_{number}", text) for number in range(len(columns))),
        ]
    )


class _worker:  # noqa: N801  (a function with settings, pickled to the workers)
    def __init__(self, owners: Mapping[str, Path], columns: Sequence[str], places: Places) -> None:
        self._owners = owners
        self._columns = columns
        self._places = places

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        flattener = Flattener(self._owners, self._columns)
        for batch in batches:
            if batch.num_rows:
                yield from self._flat(batch, flattener)

    def _flat(self, batch: pa.RecordBatch, flattener: Flattener) -> Iterator[pa.RecordBatch]:
        payloads = whole_payloads(batch.column("json_payload"), batch.column("payload_ref"), self._places)
        flat = flattener.flattened(payloads)
        failed = pc.is_valid(flat.reason)
        count = batch.num_rows
        arrays = {name: batch.column(name) for name in CARRIED} | {
            "json_payload": pc.if_else(failed, payloads, pa.scalar(None, pa.string())),
            "_reason": flat.reason,
            "_detail": flat.detail,
            "_position": flat.position,
            "_extra": flat.extra,
            "_rescued": flat.rescued,
            "_census": pa.nulls(count, pa.string()),
            **{f"c_{number}": flat.columns[name] for number, name in enumerate(self._columns)},
        }
        rows = pa.RecordBatch.from_pydict(arrays)
        yield rows
        census = json.dumps(_counted(batch, flat))
        single = {f.name: pa.nulls(1, f.type) for f in rows.schema} | {"_census": pa.array([census], pa.string())}
        yield pa.RecordBatch.from_pydict(single)


def _counted(batch: pa.RecordBatch, flat: Any) -> dict[str, Any]:
    reasons = Counter(reason for reason in flat.reason.drop_null().to_pylist())
    times = pc.min_max(pc.cast(batch.column("publish_time"), pa.int64())).as_py()
    return {
        "valid": batch.num_rows - reasons.total(),
        "parse_errors": reasons,
        "times": [times["min"], times["max"]],
        "columns": {name: [list(seen.path), dict(seen.shapes)] for name, seen in flat.census.items()},
    }


def census(flat: FlatRows) -> Census:
    """Runs the flattening (persist its rows before) and gathers the counts that it left behind."""
    result = Census()
    times: list[int] = []
    for row in flat.rows.where("_census IS NOT NULL").select("_census").collect():
        part = json.loads(row[0])
        result.valid += part["valid"]
        result.parse_errors.update(part["parse_errors"])
        times += part["times"]
        for name, (path, shapes) in part["columns"].items():
            known = result.columns.setdefault(name, Sighted(tuple(path)))
            known.path = min(known.path, tuple(path))
            known.shapes.update(shapes)
    if times:
        result.times = (_moment(min(times)), _moment(max(times)))
    return result


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)
