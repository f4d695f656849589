"""The contract's own JSON Schema (draft 2020-12). `make schema` writes it to schemas/."""

from __future__ import annotations

import json
from typing import Any, Final

from leanops.core.naming import TOPIC

TREATMENTS: Final = ["hash", "tokenise", "truncate", "drop"]
ENGINES: Final = ["glue", "emr_serverless", "spark_submit"]
SIZES: Final = ["small", "medium", "large"]
ENVELOPE_TYPES: Final = {
    "message_id": "STRING",
    "publish_time": "TIMESTAMP",
    "idempotency_key": "STRING",
    "period_reference": "STRING",
    "correlation_id": "STRING",
    "last_updated_ts": "TIMESTAMP",
}
# The message itself carries these; the others come from the payload by json_path.
MESSAGE_COLUMNS: Final = ("message_id", "publish_time")
JSON_PATH: Final = r"^\$(\.[A-Za-z_][A-Za-z0-9_-]*|\['[^'\\\x00-\x1f]+'\]){1,16}$"
COLUMN_TYPE: Final = (
    r"^(STRING|INT|BIGINT|DOUBLE|BOOLEAN|DATE|TIMESTAMP|DECIMAL\(([1-9]|[12][0-9]|3[0-8]),([0-9]|[12][0-9]|3[0-8])\))$"
)
COLUMN_TYPE_PHRASE: Final = "STRING, INT, BIGINT, DOUBLE, DECIMAL(p,s) with p up to 38, BOOLEAN, DATE or TIMESTAMP"
COLUMN_PHRASE: Final = "1 to 64 lower-case letters, digits and underscores, a letter first"


def _text(description: str, pattern: str | None = None, longest: int = 200) -> dict[str, Any]:
    limits = {"pattern": pattern} if pattern else {"minLength": 1}
    return {"type": "string", "description": description, **limits, "maxLength": longest}


def _whole(description: str, least: int, most: int, default: int | None = None) -> dict[str, Any]:
    known = {} if default is None else {"default": default}
    return {"type": "integer", "description": description, "minimum": least, "maximum": most, **known}


def _ratio(description: str, default: float) -> dict[str, Any]:
    return {"type": "number", "description": description, "minimum": 0, "maximum": 1, "default": default}


def _choice(description: str, values: list[str], default: str | None = None) -> dict[str, Any]:
    known = {} if default is None else {"default": default}
    return {"description": description, "enum": values, **known}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def _object(description: str, properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


VERSION: Final = _text("three numbers, for example 1.4.0", r"^(0|[1-9][0-9]{0,5})(\.(0|[1-9][0-9]{0,5})){2}$")
SCALAR: Final = {"type": ["string", "number", "boolean"], "description": "text, a number, true or false"}
BOUND: Final = {"type": ["string", "number"], "description": "a number, or text for a DATE or TIMESTAMP"}

ENVELOPE_COLUMN: Final = _object(
    "A column that every topic has.",
    {
        "name": _choice("which one", list(ENVELOPE_TYPES)),
        "type": _text(COLUMN_TYPE_PHRASE, COLUMN_TYPE),
        "json_path": _text("where the payload has it, for example $._metadata.correlationId", JSON_PATH, 1000),
        "required": _flag("may not be missing"),
        "cde": _flag("critical data element: may not be missing, blank counts as missing"),
        "nullable": _flag("false: may not be missing"),
        "description": _text("for readers", longest=2000),
    },
    ("name", "type"),
)

PAYLOAD_COLUMN: Final = _object(
    "A typed column of Curated.",
    {
        "name": _text(COLUMN_PHRASE, r"^[a-z][a-z0-9_]{0,63}$"),
        "json_path": _text("keys from the payload's root, for example $.event.userId or $['odd key']", JSON_PATH, 1000),
        "type": _text(COLUMN_TYPE_PHRASE, COLUMN_TYPE),
        "required": _flag("may not be missing"),
        "cde": _flag("critical data element: may not be missing, blank counts as missing"),
        "nullable": _flag("false: may not be missing"),
        "default": SCALAR | {"description": "taken where the value is missing"},
        "enum": {"type": "array", "description": "the only values", "items": SCALAR, "minItems": 1, "maxItems": 1000},
        "range": _object("both ends included", {"min": BOUND, "max": BOUND}),
        "regex": _text("matches the whole text; \\d \\w \\s are ASCII; no look-around or back-reference", longest=500),
        "length": _object("in characters", {"min": _whole("least", 0, 10**6), "max": _whole("most", 0, 10**6)}),
        "pii": _object(
            "what Curated keeps of a personal value",
            {"treatment": _choice("how", TREATMENTS), "keep": _whole("characters that truncate keeps", 1, 100)},
            ("treatment",),
        ),
        "description": _text("for readers", longest=2000),
    },
    ("name", "json_path", "type"),
)

JSON_SCHEMA: Final[dict[str, Any]] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "lean-ops topic contract",
    **_object(
        "What a topic promises, and how lean-ops treats it.",
        {
            "$schema": {"type": "string"},
            "table_name": _text("the topic: 1 to 40 lower-case letters, digits and underscores", f"^{TOPIC.pattern}$"),
            "schema_version": VERSION,
            "description": _text("for readers", longest=2000),
            "owner": _object(
                "who answers for the topic",
                {"team": _text("the team's name"), "email": _text("an e-mail address", r"^[^@\s]+@[^@\s]+$")},
                ("team", "email"),
            ),
            "alert_route": _object(
                "where alerts go",
                {
                    "sns": _text("an SNS topic's name", r"^[A-Za-z0-9_-]{1,80}$"),
                    "slack": _text("a channel, for example #data-alerts", r"^#[a-z0-9_-]{1,79}$"),
                    "pagerduty": _text("a PagerDuty service's name", r"^[A-Za-z0-9_-]{1,80}$"),
                },
                ("sns",),
            ),
            "envelope_columns": {"type": "array", "items": ENVELOPE_COLUMN, "minItems": 1, "maxItems": 20},
            "payload_columns": {
                "type": "array",
                "description": "Curated's columns; leave the key out for Standardized only",
                "items": PAYLOAD_COLUMN,
                "minItems": 1,
                "maxItems": 1000,
            },
            "rules": {
                "type": "array",
                "maxItems": 100,
                "items": _object(
                    "A check over several columns of a row.",
                    {
                        "name": _text(COLUMN_PHRASE, r"^[a-z][a-z0-9_]{0,63}$"),
                        "check": _text("for example: fee <= amount or refund = true", longest=1000),
                    },
                    ("name", "check"),
                ),
            },
            "version_column": _choice("what orders a key's records", ["last_updated_ts", "publish_time"]),
            "partitioning": _object(
                "how merged tables are laid out",
                {
                    "history_months": _whole("months of history expected", 1, 600, 24),
                    "buckets": _whole("buckets of the key in each period", 1, 256, 16),
                },
            ),
            "column_budget": _whole("columns that Standardized may have", 50, 5000, 500),
            "quality": _object(
                "when a batch is stopped or noted",
                {
                    "max_rejected_ratio": _ratio("more rejected rows than this stop the batch", 0.10),
                    "warn_rejected_ratio": _ratio("more than this are noted", 0.02),
                    "warn_parse_error_ratio": _ratio("more than this are noted", 0.005),
                },
            ),
            "compute": _object(
                "where the jobs run",
                {
                    "engine": _choice("the service", ENGINES, "glue"),
                    "size": _choice("of a worker group", SIZES, "small"),
                    "pool": _text("the Airflow pool", r"^[a-z][a-z0-9_]{0,49}$"),
                    "tier": _whole("1 is served first", 1, 3, 3),
                },
            ),
            "retention": _object(
                "how long things are kept",
                {
                    "raw_days": _whole("RAW records", 30, 36500, 2555),
                    "error_days": _whole("parse errors and rejected rows", 30, 36500, 365),
                    "snapshot_days": _whole("snapshots for time travel", 1, 3650, 90),
                },
            ),
            "maintenance": _object(
                "how tables are kept healthy",
                {
                    "enabled": _flag("false: leave the topic's tables alone"),
                    "target_file_mb": _whole("size that compaction aims at", 16, 1024, 256),
                    "retain_snapshots": _whole("snapshots kept whatever their age", 1, 1000, 20),
                    "orphan_hours": _whole("age from which unknown files count as orphans", 72, 8760, 72),
                },
            ),
            "approve_breaking": _object(
                "says that a breaking change is meant",
                {
                    "from_version": VERSION,
                    "approved_by": _text("who"),
                    "reason": _text("why", longest=2000),
                },
                ("from_version", "approved_by", "reason"),
            ),
        },
        ("table_name", "schema_version", "owner", "alert_route", "envelope_columns"),
    ),
}


def published() -> str:
    return json.dumps(JSON_SCHEMA, indent=2) + "\n"
