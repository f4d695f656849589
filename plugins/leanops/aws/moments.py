"""Moments as the records and stores write them: UTC, fixed width, so that text order is time order."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def now() -> datetime:
    return datetime.now(UTC)


def text(moment: datetime) -> str:
    """`2026-11-18T10:00:00.123456Z`."""
    return f"{moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"


def from_millis(value: object) -> datetime | None:
    """The moment of SQS's timestamps (milliseconds as text); None for anything else."""
    try:
        return EPOCH + timedelta(milliseconds=int(str(value)))
    except (ValueError, OverflowError):
        return None
