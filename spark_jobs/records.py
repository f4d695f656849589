"""Who a record is and where it belongs: key, version and period (docs/rules.md, Identity, order, period)."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from leanops.core.contract import Contract
from leanops.core.layout import VERSION_COLUMNS
from leanops.core.period import PERIOD
from leanops.core.types import ColumnType
from spark_jobs.casts import cast_column, is_blank
from spark_jobs.flat_rows import FlatRows


def identified(flat: FlatRows, contract: Contract) -> FlatRows:
    """The rows with what they are known by, worked out once: `_key`, `_updated`, `_period`."""
    known = {"_key": key(flat, contract), "_updated": last_updated(flat, contract), "_period": period(flat, contract)}
    return FlatRows(flat.rows.withColumns(known), flat.columns)


def identities(flat: FlatRows) -> DataFrame:
    """A narrow row per valid record: `_row` to find it again, key, version, period."""
    return flat.valid.select(
        "_row",
        "message_id",
        "publish_time",
        "ingestion_ts",
        "_digest",
        F.col("_key").alias("idempotency_key"),
        F.col("_updated").alias("last_updated_ts"),
        F.col("_period").alias("period_reference"),
    )


def key(flat: FlatRows, contract: Contract) -> Column:
    text = _envelope_text(flat, contract, "idempotency_key")
    return F.when(~is_blank(text), text)


def last_updated(flat: FlatRows, contract: Contract) -> Column:
    """The first part of the version; publish_time stands in where the payload has none or no timestamp."""
    own = F.col("publish_time")
    if contract.version_column == "publish_time":
        return own
    return F.coalesce(cast_column(_envelope_text(flat, contract, "last_updated_ts"), ColumnType("TIMESTAMP")), own)


def period(flat: FlatRows, contract: Contract) -> Column:
    given = flat.text(contract.period_column)
    return F.when(given.rlike(rf"\A(?:{PERIOD.pattern})\z"), given).otherwise(F.date_format("publish_time", "yyyy-MM"))


def correlation_id(flat: FlatRows, contract: Contract) -> Column:
    return _envelope_text(flat, contract, "correlation_id")


def version(prefix: str = "") -> Column:
    """Structs compare field by field, as versions do."""
    return F.struct(*(F.col(f"{prefix}{name}").alias(name) for name in VERSION_COLUMNS))


def _envelope_text(flat: FlatRows, contract: Contract, name: str) -> Column:
    column = contract.by_name.get(name)
    return F.lit(None).cast("string") if column is None else flat.text(contract.standardized_column(column))
