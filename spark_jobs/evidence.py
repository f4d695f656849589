"""What the tables hold of a batch, laid side by side: narrow frames for `reconciliation`, no payloads, no I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs import records
from spark_jobs.dispositions import MESSAGE

# How many records are named at most.
NAMED: Final = 100
# So few ids are literals of a plan; more are broadcast, which is a Spark job of its own.
FEW: Final = 500
DELIVERY: Final = (*MESSAGE, "ingestion_ts")
ROW: Final = ("idempotency_key", "last_updated_ts", "_batch")
DISPOSITIONS: Final = ("accepted", "network_duplicate", "overtaken", "parse_error")
FAULTS: Final = ("unplaced", "twice", "unfounded")
# Of a delivery: the records that no table holds under its name, and the rows that are too many.
REST: Final = "(raw - parse_error - least(standardized, 1))"
SURPLUS: Final = f"(greatest(standardized - 1, 0) + IF(raw > 0, greatest(-{REST}, 0), parse_error))"
HAS_REST: Final = f"raw > 0 AND {REST} > 0"


def part(kind: str, rows: DataFrame, row: Sequence[str] = ()) -> DataFrame:
    types = dict(zip(ROW, ("string", "timestamp", "bigint"), strict=True))
    own = (F.col(name) if row else F.lit(None).cast(types[name]).alias(name) for name in ROW)
    return rows.select(*DELIVERY, *own, F.lit(kind).alias("kind"))


def laid_out(parts: DataFrame) -> DataFrame:
    """A row per delivery: how often each table has it, whether its row has its place, whether its message has a row."""
    kinds = ("raw", "parse_error", "standardized", "curated", "rejected")
    versions = (
        parts.groupBy(*DELIVERY, *ROW)
        .agg(*(F.count_if(F.col("kind") == kind).alias(kind) for kind in kinds))
        .withColumns(
            {
                "unplaced": F.expr("IF(curated + rejected = 0, standardized, 0)"),
                "twice": F.expr("IF(standardized > 0, greatest(curated + rejected - 1, 0), 0)"),
                "unfounded": F.expr("IF(standardized = 0, curated, 0)"),
                "curated": F.expr("IF(standardized > 0, curated, 0)"),
                # What was rejected in an earlier batch stays in `errors` when the key moves on.
                "rejected": F.expr("IF(standardized > 0, rejected, 0)"),
            }
        )
    )
    deliveries = versions.groupBy(*DELIVERY).agg(*(F.sum(name).alias(name) for name in (*kinds, *FAULTS)))
    has_row = F.max("standardized").over(Window.partitionBy(*MESSAGE)) > 0
    return deliveries.withColumn("is_held", has_row)


def summed(evidence: DataFrame, with_ids: bool) -> dict[str, Any]:
    rest = F.expr(f"greatest(IF(raw > 0, {REST}, 0), 0)")
    has_rest = rest > 0
    named = F.collect_set(F.when(has_rest, F.col("message_id"))) if with_ids else F.lit(None)
    row = evidence.agg(
        *(F.sum(name).alias(name) for name in ("raw", "parse_error", "standardized", "curated", "rejected", *FAULTS)),
        F.sum(F.expr("IF(raw > 0, standardized, 0)")).alias("accepted"),
        F.sum(F.expr(SURPLUS)).alias("doubled"),
        F.sum(rest).alias("rest"),
        F.min(F.when(has_rest, F.unix_micros("publish_time"))).alias("earliest"),
        F.max(F.when(has_rest, F.unix_micros("publish_time"))).alias("latest"),
        named.alias("ids"),
    ).collect()[0]
    ids = row["ids"] if with_ids and len(row["ids"]) <= FEW else None
    return {name: value or 0 for name, value in row.asDict().items()} | {"ids": ids}


def placeless(again: DataFrame) -> DataFrame:
    """Without the records that the tables do hold: of two deliveries under one name, one may have its place."""
    delivery = Window.partitionBy(*DELIVERY)
    alike = Window.partitionBy(*DELIVERY, "is_broken").orderBy("_digest", "_row")
    taken_as_broken = F.greatest(F.col("parse_error") - F.col("_broken"), F.lit(0))
    places = F.when(F.col("is_broken"), F.col("parse_error")).otherwise(
        taken_as_broken + F.least(F.col("standardized"), F.lit(1))
    )
    return (
        again.withColumn("_broken", F.count_if("is_broken").over(delivery))
        .withColumn("_place", F.row_number().over(alike))
        .where(F.col("_place") > places)
    )


def spoken_for(placeless: DataFrame, before: DataFrame | None) -> DataFrame:
    """Adds `_what`: lost, a repeat, or to be sought by its key."""
    deliveries = Window.partitionBy(*MESSAGE, "is_broken").orderBy("ingestion_ts", "_digest", "_row")
    ranked = placeless.withColumn("_delivery", F.row_number().over(deliveries))
    is_repeat = F.col("is_held") | (F.col("_delivery") > 1)
    if before is not None:
        known = before.withColumn("_before", F.lit(True))
        ranked = ranked.join(known.hint("merge"), [*MESSAGE], "left")
        is_repeat |= F.col("_before").isNotNull()
    what = (
        F.when(F.col("is_broken"), "missing")
        .when(is_repeat, "network_duplicate")
        # A record without a key has no other row that could stand for it.
        .when(F.col("idempotency_key").isNull(), "missing")
    )
    return ranked.select(*DELIVERY, "idempotency_key", "last_updated_ts", what.alias("_what"))


def with_fate(sought: DataFrame, rows: DataFrame) -> DataFrame:
    """Adds `fate`: the rows hold the record itself, or a higher version of its key, or neither."""
    newest = rows.groupBy("idempotency_key").agg(F.max(records.version()).alias("_newest"))
    joined = sought.join(newest.hint("merge"), "idempotency_key", "left")
    fate = (
        F.when(F.col("_what").isNotNull(), F.col("_what"))
        .when(F.col("_newest") == records.version(), "accepted")
        .when(F.col("_newest") > records.version(), "overtaken")
        .otherwise("unsettled")
    )
    return joined.withColumn("fate", fate).drop("_newest")


def fates_counted(fates: DataFrame, with_keys: bool) -> dict[str, Any]:
    names = (*DISPOSITIONS, "missing", "unsettled")
    unsettled = F.when(F.col("fate") == "unsettled", F.col("idempotency_key"))
    row = fates.agg(
        *(F.count_if(F.col("fate") == name).alias(name) for name in names),
        (F.collect_set(unsettled) if with_keys else F.lit(None)).alias("keys"),
    ).collect()[0]
    return row.asDict()


def matching(rows: DataFrame, column: str, wanted: DataFrame, few: Collection[str] | None) -> DataFrame:
    if few is not None:
        return rows.where(F.col(column).isin(sorted(few)))
    return rows.join(F.broadcast(wanted.select(column).distinct()), column, "left_semi")


def named(rows: DataFrame, count: str, total: int) -> tuple[str, ...]:
    """Message ids of the first rows with a count; asked only where there is one."""
    if not total:
        return ()
    found = rows.where(f"{count} > 0").select("message_id").orderBy("message_id").limit(NAMED)
    return tuple(row[0] for row in found.collect())
