"""The columns, partitions and properties of every table: one source for whoever makes or alters them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from leanops.core.contract.model import Column, Contract
from leanops.core.naming import (
    DLQ_ERRORS_TABLE,
    DRIFT_LOG_TABLE,
    ERRORS_TABLE,
    JOB_RUN_HISTORY_TABLE,
    PARSE_ERRORS_TABLE,
    QUARANTINE_TABLE,
    RECONCILIATION_LOG_TABLE,
    SCHEMA_VERSIONS_TABLE,
    TOPIC_REGISTRY_TABLE,
    Names,
)

# Glue refuses a comment of a column that is longer, or has more than one line.
DOC_BYTES: Final = 255


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
    # Inside files, ascending: readers skip by the statistics that this makes narrow.
    sorted_by: tuple[str, ...] = ()


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
}

# Written by PyIceberg, a few rows at a time: it would leave a manifest for each commit and read them all for the next.
OPS: Final = COMMON | {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "20"}

RAW_FIELDS: Final = (
    Field("message_id", "STRING", True, "Pub/Sub's message id"),
    Field("topic_name", "STRING", True, "the queue's topic"),
    Field("publish_time", "TIMESTAMP", True, "when Pub/Sub took it"),
    Field("ingestion_ts", "BIGINT", True, "milliseconds since 1970 at the edge"),
    Field("json_payload", "STRING", False, "the event's JSON, byte for byte"),
    Field(
        "payload_ref",
        "STRING",
        False,
        "s3:// URL of a payload too large for the delivery stream; json_payload is then NULL",
    ),
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
        Field("source_layer", "STRING", doc="standardized, curated or contract"),
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
# What the data path writes.
SHARED: Final = (PARSE_ERRORS, ERRORS, DRIFT_LOG)


def _refused(table: str, moment: Field, *more: Field) -> Layout:
    """Messages that did not get into RAW, as the edge appends them."""
    fields = (
        Field("sqs_message_id", "STRING", doc="identity of the message"),
        Field("topic_name", "STRING", doc="the queue's topic"),
        Field("message_id", "STRING", doc="Pub/Sub's id where the body shows one"),
        Field("reason", "STRING"),
        Field("detail", "STRING", doc="what to do next"),
        Field("body", "STRING", doc="the message; NULL where only the archive can hold it"),
        Field("archive_key", "STRING", doc="the object in the archive bucket"),
        Field("sent_at", "TIMESTAMP", doc="when SQS took it"),
        Field("receive_count", "INT", doc="deliveries tried"),
        moment,
        *more,
    )
    return Layout(table, fields, (Partition(moment.name, "days"),), COMMON, ("topic_name",))


DLQ_ERRORS: Final = _refused(
    DLQ_ERRORS_TABLE,
    Field("drained_at", "TIMESTAMP", doc="when it left the dead letter queue"),
    Field("attributes", "STRING", doc="SQS's own and the message's attributes as JSON text"),
)
QUARANTINE: Final = _refused(QUARANTINE_TABLE, Field("quarantined_at", "TIMESTAMP", doc="when it was refused"))
TOPIC_REGISTRY: Final = Layout(
    TOPIC_REGISTRY_TABLE,
    (
        Field("topic_name", "STRING"),
        Field("status", "STRING", doc="discovered, onboarded, paused, retired"),
        Field("source", "STRING", doc="the Pub/Sub topic it comes from"),
        Field("owner_team", "STRING", doc="from the contract; NULL before there is one"),
        Field("owner_email", "STRING", doc="from the contract; NULL before there is one"),
        Field("schema_version", "STRING", doc="of the active contract"),
        Field("engine", "STRING", doc="where its jobs run"),
        Field("pool", "STRING"),
        Field("compute_group", "STRING", doc="topics that share an application"),
        Field("tier", "INT", doc="1 is served first"),
        Field("discovered_at", "TIMESTAMP"),
        Field("updated_at", "TIMESTAMP"),
    ),
    (),
    OPS,
    ("topic_name",),
)
SCHEMA_VERSIONS: Final = Layout(
    SCHEMA_VERSIONS_TABLE,
    (
        Field("topic_name", "STRING"),
        Field("schema_version", "STRING", doc="NULL where the contract could not be read"),
        Field("contract_sha256", "STRING"),
        Field("status", "STRING", doc="active, failed, archived"),
        Field("level", "STRING", doc="compatible, enhancement, enhancement with backfill, breaking"),
        Field("changes", "STRING", doc="JSON text: each change against the version before"),
        Field("approved_by", "STRING"),
        Field("approval_reason", "STRING"),
        Field("faults", "STRING", doc="JSON text, where it failed"),
        Field("contract", "STRING", doc="the contract's text"),
        Field("s3_key", "STRING", doc="where the text lies"),
        Field("submitted_at", "TIMESTAMP", doc="upload"),
        Field("decided_at", "TIMESTAMP", doc="verdict"),
    ),
    (),
    OPS,
    ("topic_name", "decided_at"),
)
_COUNTS: Final = (
    "raw",
    "accepted",
    "network_duplicate",
    "superseded",
    "stale",
    "parse_error",
    "standardized",
    "curated",
    "rejected",
)
JOB_RUN_HISTORY: Final = Layout(
    JOB_RUN_HISTORY_TABLE,
    (
        Field("run_id", "STRING"),
        Field("dag_id", "STRING"),
        Field("task_id", "STRING"),
        Field("try_number", "INT"),
        Field("topic_name", "STRING"),
        Field("layer", "STRING"),
        Field("job", "STRING"),
        Field("_batch", "BIGINT", doc="NULL when skipped"),
        Field("engine", "STRING"),
        Field("external_id", "STRING", doc="the service's run id"),
        Field("status", "STRING", doc="success, skipped, failed"),
        Field("error", "STRING", doc="the reason and next step"),
        Field("started_at", "TIMESTAMP"),
        Field("ended_at", "TIMESTAMP"),
        *(Field(name, "BIGINT", doc="the job's own count") for name in _COUNTS),
        Field("files_written", "BIGINT"),
        Field("bytes_written", "BIGINT"),
        Field("code_version", "STRING"),
        Field("contract_version", "STRING"),
    ),
    (Partition("started_at", "days"),),
    OPS,
    ("topic_name", "started_at"),
)
RECONCILIATION_LOG: Final = Layout(
    RECONCILIATION_LOG_TABLE,
    (
        Field("topic_name", "STRING"),
        Field("scope", "STRING", doc="batch, period, edge"),
        Field("_batch", "BIGINT"),
        Field("period_reference", "STRING"),
        Field("check_name", "STRING", doc="the identity or expectation"),
        Field("expected", "DECIMAL(38,8)"),
        Field("found", "DECIMAL(38,8)"),
        Field("difference", "DECIMAL(38,8)"),
        Field("balanced", "BOOLEAN"),
        Field("raw_snapshot_id", "BIGINT"),
        Field("standardized_snapshot_id", "BIGINT"),
        Field("curated_snapshot_id", "BIGINT"),
        Field("detail", "STRING", doc="message ids of records without a disposition, the first hundred"),
        Field("checked_at", "TIMESTAMP"),
    ),
    (Partition("checked_at", "months"),),
    MERGED,
    ("topic_name", "_batch"),
)
ALL_SHARED: Final = (
    *SHARED,
    DLQ_ERRORS,
    QUARANTINE,
    TOPIC_REGISTRY,
    SCHEMA_VERSIONS,
    JOB_RUN_HISTORY,
    RECONCILIATION_LOG,
)


def raw(names: Names) -> Layout:
    return Layout(names.raw_table, RAW_FIELDS, (Partition("publish_time", "days"),), COMMON)


def standardized(names: Names, contract: Contract) -> Layout:
    """With the contract's columns from the start; what else the payloads hold is added as it comes."""
    declared = dict.fromkeys(
        contract.standardized_column(column) for column in contract.columns if column.path is not None
    )
    fields = (*STANDARDIZED_FIELDS, *(Field(name, "STRING") for name in declared))
    return _merged(names.standardized_table, fields, contract)


def curated(names: Names, contract: Contract) -> Layout:
    return _merged(names.curated_table, curated_fields(contract), contract)


def of_topic(names: Names, contract: Contract) -> tuple[Layout, ...]:
    """Every table of the topic itself; a contract without payload columns has no Curated."""
    own = (raw(names), standardized(names, contract))
    return (*own, curated(names, contract)) if contract.is_curated else own


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
    return Field(column.name, str(column.type), doc=_doc(column.description))


def _doc(text: str | None) -> str | None:
    line = " ".join((text or "").split())
    encoded = line.encode("utf-8", "replace")
    if len(encoded) > DOC_BYTES:
        line = encoded[: DOC_BYTES - 3].decode("utf-8", "ignore").rstrip() + "…"
    return line or None


def _merged(table: str, fields: tuple[Field, ...], contract: Contract) -> Layout:
    partitions = (
        Partition("period_reference"),
        Partition("idempotency_key", "bucket", contract.partitioning.buckets),
    )
    properties = MERGED | {"write.target-file-size-bytes": str(contract.maintenance.target_file_mb * 1024 * 1024)}
    return Layout(table, fields, partitions, properties, ("publish_time",))
