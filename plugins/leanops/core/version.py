"""The order of a key's records: a total order, so that the newest is the same whatever arrives first."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from leanops.core.errors import LeanOpsError
from leanops.core.types import NotOfType, timestamp


@dataclass(frozen=True, order=True)
class Version:
    """Compared field by field. Two records share a version only if they share the message id and all times."""

    last_updated_ts: datetime
    publish_time: datetime
    ingestion_ts: int
    message_id: str

    def __post_init__(self) -> None:
        for moment in (self.last_updated_ts, self.publish_time):
            if moment.tzinfo is None:
                raise LeanOpsError(
                    "order record",
                    "a time has no zone",
                    self.message_id,
                    "Give publish_time and last_updated_ts in UTC.",
                )

    @classmethod
    def of(cls, last_updated: str | None, publish_time: datetime, ingestion_ts: int, message_id: str) -> Version:
        """`last_updated` is the payload's text; missing or no timestamp, publish_time stands in."""
        try:
            updated = publish_time if last_updated is None else timestamp(last_updated)
        except NotOfType:
            updated = publish_time
        return cls(updated, publish_time, ingestion_ts, message_id)
