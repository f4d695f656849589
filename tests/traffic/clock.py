"""When the message of an index was published, updated and ingested."""

from datetime import UTC, datetime, timedelta
from functools import lru_cache

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_SAFE_DAY = 28


# A payload names the same two moments several times.
@lru_cache(maxsize=8)
def text(millis: int) -> str:
    return (_EPOCH + timedelta(milliseconds=millis)).isoformat(timespec="milliseconds")[:23] + "Z"


def period(millis: int) -> str:
    return text(millis)[:7]


def months_later(millis: int, months: int) -> int:
    moment = _EPOCH + timedelta(milliseconds=millis)
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    later = moment.replace(year=year, month=month + 1, day=min(moment.day, _LAST_SAFE_DAY))
    return (later - _EPOCH) // timedelta(milliseconds=1)


class Clock:
    def __init__(self, start: datetime, spacing_ms: int) -> None:
        self._start = (start - _EPOCH) // timedelta(milliseconds=1)
        self._spacing = spacing_ms

    def published(self, index: int) -> int:
        return self._start + index * self._spacing + index * 104729 % self._spacing

    def updated(self, index: int) -> int:
        return self.published(index) - 5 - index * 7919 % 1000
