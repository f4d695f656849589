"""A small valid contract for tests to bend."""

from __future__ import annotations

import copy
from typing import Any

DOCUMENT: dict[str, Any] = {
    "table_name": "readings",
    "schema_version": "1.0.0",
    "owner": {"team": "sensors", "email": "sensors@example.com"},
    "alert_route": {"sns": "alerts"},
    "envelope_columns": [
        {"name": "message_id", "type": "STRING", "cde": True},
        {"name": "publish_time", "type": "TIMESTAMP", "cde": True},
        {"name": "idempotency_key", "type": "STRING", "json_path": "$._metadata.key", "cde": True},
        {"name": "last_updated_ts", "type": "TIMESTAMP", "json_path": "$._metadata.updated"},
    ],
    "payload_columns": [
        {"name": "amount", "json_path": "$.amount", "type": "DECIMAL(18,2)", "cde": True},
        {"name": "count", "json_path": "$.count", "type": "INT", "range": {"min": 0, "max": 10}},
        {"name": "status", "json_path": "$.status", "type": "STRING", "required": True, "enum": ["a", "b"]},
        {"name": "email", "json_path": "$.who.email", "type": "STRING", "pii": {"treatment": "hash"}},
        {"name": "seen_at", "json_path": "$['seen at']", "type": "TIMESTAMP"},
    ],
    "rules": [{"name": "small", "check": "count < 9"}],
    "partitioning": {"history_months": 24, "buckets": 16},
}


def document() -> dict[str, Any]:
    return copy.deepcopy(DOCUMENT)
