"""Puts what is too large for the delivery stream into the archive bucket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lambdas.sqs_processor.record import Oversize
from leanops.core.errors import LeanOpsError

# One attempt's time and what the rest of an invocation needs: a slow archive may not take the other messages' time.
NEEDED_SECONDS: Final = 5.0


class NoTimeLeft(LeanOpsError):
    def __init__(self, key: str) -> None:
        self.key = key
        super().__init__(
            "archive payload", "too little time is left", key, "The queue delivers the message again; nothing to do."
        )


class Archive:
    def __init__(self, client: Callable[[], Any], bucket: str, seconds_left: Callable[[], float]) -> None:
        self._client = client
        self._bucket = bucket
        self._seconds_left = seconds_left

    def put(self, oversize: Oversize) -> None:
        """Named by its content: put again, it is the same object."""
        if self._seconds_left() < NEEDED_SECONDS:
            raise NoTimeLeft(oversize.key)
        self._client().put_object(Bucket=self._bucket, Key=oversize.key, Body=oversize.content)
