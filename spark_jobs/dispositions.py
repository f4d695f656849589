"""What becomes of each valid record of a batch: first delivery, highest version (docs/decisions/0006)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from leanops.core.accounting import RawDisposition
from leanops.core.layout import VERSION_COLUMNS
from spark_jobs.records import version

MESSAGE = ("message_id", "publish_time")


def with_repeats(records: DataFrame, taken: DataFrame | None) -> DataFrame:
    """Adds `_repeat`: another delivery of the message was taken in before, or comes first in this batch."""
    deliveries = Window.partitionBy(*MESSAGE).orderBy("ingestion_ts", "_digest", "_row")
    ranked = records.withColumn("_delivery", F.row_number().over(deliveries))
    before: Column = F.lit(False)
    if taken is not None:
        known = taken.select(*MESSAGE).distinct().withColumn("_taken", F.lit(True))
        ranked = ranked.join(F.broadcast(known), list(MESSAGE), "left")
        before = F.col("_taken").isNotNull()
    return ranked.withColumn("_repeat", (F.col("_delivery") > 1) | before).drop("_delivery", "_taken")


def disposed(records: DataFrame, existing: DataFrame | None) -> DataFrame:
    """Each record with its `disposition`, its key's row in the table (`old_…`), and its key's first sight so far.

    `existing` is the table's rows of these keys. The newest record of a key stands for the key: only it is compared.
    """
    # A record without a key is a group of its own.
    group = Window.partitionBy("idempotency_key", F.when(F.col("idempotency_key").isNull(), F.col("_row")))
    newest_first = group.orderBy("_repeat", *(F.col(name).desc() for name in VERSION_COLUMNS))
    first = F.struct("publish_time", "period_reference")
    placed = (
        records.withColumn("_place", F.row_number().over(newest_first))
        .withColumn("_first", F.min(first).over(group))
        .withColumn("_is_newest", ~F.col("_repeat") & (F.col("_place") == 1))
        # A key that has only repeats in this batch may still lower its first sight.
        .withColumn("_speaks", F.col("_place") == 1)
    )
    joined = _joined(placed, existing)
    old_is_newer = F.col("old_message_id").isNotNull() & (version("old_") > version())
    disposition = (
        F.when(F.col("_repeat"), RawDisposition.NETWORK_DUPLICATE.value)
        .when(~F.col("_is_newest") & F.col("idempotency_key").isNotNull(), RawDisposition.SUPERSEDED.value)
        .when(old_is_newer, RawDisposition.STALE.value)
        .otherwise(RawDisposition.ACCEPTED.value)
    )
    old_first = F.struct(
        F.col("old_first_seen_ts").alias("publish_time"), F.col("old_first_period_reference").alias("period_reference")
    )
    known_before = F.col("old_message_id").isNotNull()
    lowest = F.when(known_before, F.least(old_first, "_first")).otherwise(F.col("_first"))
    return joined.select(
        "_row",
        "idempotency_key",
        disposition.alias("disposition"),
        lowest["publish_time"].alias("first_seen_ts"),
        lowest["period_reference"].alias("first_period_reference"),
        (lowest != first).alias("_seen_before"),
        F.col("old_period_reference"),
        (F.col("_speaks") & known_before & (disposition != "accepted") & (F.col("_first") < old_first)).alias(
            "_lowers"
        ),
    )


def _joined(placed: DataFrame, existing: DataFrame | None) -> DataFrame:
    columns = (*VERSION_COLUMNS, "period_reference", "first_seen_ts", "first_period_reference")
    if existing is None:
        types = dict(placed.dtypes) | {"first_seen_ts": "timestamp", "first_period_reference": "string"}
        return placed.select("*", *(F.lit(None).cast(types[name]).alias(f"old_{name}") for name in columns))
    old = existing.select("idempotency_key", *(F.col(name).alias(f"old_{name}") for name in columns))
    return placed.join(F.broadcast(old), "idempotency_key", "left")
