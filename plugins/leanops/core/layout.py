"""The columns, partitions and properties of every table: one source for whoever makes or alters them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from leanops.core.contract.model import Column, Contract
from leanops.core.naming import DRIFT_LOG_TABLE, ERRORS_TABLE, PARSE_ERRORS_TABLE, Names


class Field(NamedTuple):
    """`type` is Spark SQL's name of it; `doc` is shown to readers of the table."""

    name: str
    type: str
    required: bool = False
    doc: str | None = None


class Partition(NamedTuple):
    """A column, and how it is cut: as it is, by `days`, `months`, or into `buckets`."""

    column: str
    transform: str = "identity"
    buckets: int = 0


@dataclass(frozen=True)
class Layout:
    table: str
    fields: tuple[Field, ...]
    partitions: tuple[Partition, ...]
    properties: Mapping[str, str] = field(default_factory=dict)


COMMON: Final = {
    # Athena and Firehose do not take format 3.
    "format-version": "2",
    "write.parquet.compression-codec": "zstd",
    # Many topics' runs commit to one shared table: the loser of a race tries again.
    "commit.retry.num-retries": "20",
    "commit.retry.min-wait-ms": "50",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}
MERGED: Final = COMMON | {
    "write.delete.mode": "merge-on-read",
    "write.update.mode": "merge-on-read",
    "write.merge.mode": "merge-on-read",
    # The jobs choose how many tasks write; a shuffle of whole rows would cost more than it saves.
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
}

RAW_FIELDS: Final = (
    Field("message_id", "STRING", True, "Pub/Sub's message id"),
    Field("topic_name", "STRING", True, "the queue's topic"),
    Field("publish_time", "TIMESTAMP", True, "when Pub/Sub took it"),
    Field("ingestion_ts", "BIGINT", True, "milliseconds since 1970 at the edge"),
    Field("json_payload", "STRING", False, "the event's JSON, byte for byte"),
    Field("payload_ref", "STRING", False, "s3:// URL of a payload too large for the delivery stream; json_payload is then NULL"),
    # For looking a record up. The jobs read the payload itself, by the contract's paths.
    Field("attributes", "STRING", False, "Pub/Sub's attributes as JSON text"),
    Field("idempotency_key", "STRING", False, "as the edge saw it"),
    Field("period_reference", "STRING", False, "as the edge saw it"),
    Field("correlation_id", "STRING", False, "as the edge saw it"),
    Field("last_updated_ts", "STRING", False, "as the edge saw it"),
)

# The payload's own columns follow these, so that Iceberg keeps statistics of the first hundred with certainty.
STANDARDIZED_FIELDS: Final = (
    Field("message_id", "STRING"),
    Field("topic_name", "STRING"),
    Field("publish_time", "TIMESTAMP"),
    Field("ingestion_ts", "BIGINT"),
    Field("idempotency_key", "STRING", doc="the key; NULL: the row stands alone"),
    Field("period_reference", "STRING", doc="where the row is filed"),
    Field("correlation_id", "STRING"),
    Field("last_updated_ts", "TIMESTAMP", doc="first part of the version"),
    Field("first_seen_ts", "TIMESTAMP", doc="lowest publish_time of the key"),
    Field("first_period_reference", "STRING", doc="period of the record first seen"),
    Field("_rescued", "STRING", doc="JSON text of name → value for what has no column"),
    Field("_batch", "BIGINT", doc="the batch that wrote the row"),
    Field("_contract_version", "STRING"),
)
VERSION_COLUMNS: Final = ("last_updated_ts", "publish_time", "ingestion_ts", "message_id")

PARSE_ERRORS: Final = Layout(
    PARSE_ERRORS_TABLE,
    (
        Field("topic_name", "STRING"),
        Field("_batch", "BIGINT"),
        Field("message_id", "STRING"),
        Field("publish_time", "TIMESTAMP"),
        Field("ingestion_ts", "BIGINT"),
        Field("reason", "STRING", doc="docs/rules.md, Valid JSON"),
        Field("detail", "STRING"),
        Field("position", "BIGINT", doc="character of the payload, from 0"),
        Field("json_payload", "STRING", doc="as in RAW"),
    ),
    (Partition("topic_name"),),
    MERGED,
)
ERRORS: Final = Layout(
    ERRORS_TABLE,
    (
        Field("topic_name", "STRING"),
        Field("_batch", "BIGINT"),
        Field("idempotency_key", "STRING"),
        Field("last_updated_ts", "TIMESTAMP"),
        Field("publish_time", "TIMESTAMP"),
        Field("ingestion_ts", "BIGINT"),
        Field("message_id", "STRING"),
        Field("period_reference", "STRING"),
        Field("violations", "ARRAY<STRUCT<column: STRING, rule: STRING, value: STRING>>"),
        Field("row_json", "STRING", doc="the Standardized row"),
        Field("_contract_version", "STRING", doc="the contract that refused it"),
    ),
    (Partition("topic_name"),),
    MERGED,
)
DRIFT_LOG: Final = Layout(
    DRIFT_LOG_TABLE,
    (
        Field("topic_name", "STRING"),
        Field("_batch", "BIGINT"),
        Field("source_layer", "STRING", doc="standardized or curated"),
        Field("detected_ts", "TIMESTAMP", doc="lowest publish_time of the batch"),
        Field("column_name", "STRING"),
        Field("json_path", "STRING"),
        Field("action", "STRING", doc="ADDED, RESCUED, REMOVED, TYPE_CHANGED, UNKNOWN"),
        Field("old_value", "STRING"),
        Field("new_value", "STRING"),
        Field("details", "STRING"),
    ),
    (Partition("topic_name"),),
    MERGED,
)
SHARED: Final = (PARSE_ERRORS, ERRORS, DRIFT_LOG)


def raw(names: Names) -> Layout:
    return Layout(names.raw_table, RAW_FIELDS, (Partition("publish_time", "days"),), COMMON)


def standardized(names: Names, contract: Contract) -> Layout:
    """With the contract's columns from the start; what else the payloads hold is added as it comes."""
    declared = dict.fromkeys(
        contract.standardized_column(column) for column in contract.columns if column.path is not None
    )
    fields = (*STANDARDIZED_FIELDS, *(Field(name, "STRING") for name in declared))
    return Layout(names.standardized_table, fields, _merged_partitions(contract), _merged_properties(contract))


def curated(names: Names, contract: Contract) -> Layout:
    return Layout(
        names.curated_table, curated_fields(contract), _merged_partitions(contract), _merged_properties(contract)
    )


def curated_fields(contract: Contract) -> tuple[Field, ...]:
    envelope = [column for column in contract.envelope_columns if column.name != "period_reference"]
    platform = [Field("period_reference", "STRING"), Field("ingestion_ts", "BIGINT")]
    if "last_updated_ts" not in contract.by_name:
        platform.append(Field("last_updated_ts", "TIMESTAMP"))
    return (
        *map(_field, envelope),
        *platform,
        Field("first_seen_ts", "TIMESTAMP"),
        Field("first_period_reference", "STRING"),
        *(_field(column) for column in contract.payload_columns or () if column.is_kept),
        Field("_batch", "BIGINT"),
        Field("_message_id", "STRING"),
        Field("_contract_version", "STRING"),
    )


def _field(column: Column) -> Field:
    return Field(column.name, str(column.type), doc=column.description)


def _merged_partitions(contract: Contract) -> tuple[Partition, ...]:
    buckets = contract.partitioning.buckets
    return Partition("period_reference"), Partition("idempotency_key", "bucket", buckets)


def _merged_properties(contract: Contract) -> dict[str, str]:
    return MERGED | {"write.target-file-size-bytes": str(contract.maintenance.target_file_mb * 1024 * 1024)}
