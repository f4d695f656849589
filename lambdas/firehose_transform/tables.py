"""Which RAW tables there are. The catalog is asked when a topic is new here, and at most once a minute."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final

from aws_lambda_powertools import Logger

from leanops.core.naming import RAW_DATABASE

logger: Final = Logger(service="firehose_transform", child=True)

PATIENCE_SECONDS: Final = 60.0


class RawTables:
    """A table that was there once stays known: a record for a dropped one goes to the stream's error prefix."""

    def __init__(self, client: Callable[[], Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._client = client
        self._clock = clock
        self._known: set[str] = set()
        self._asked_at: float | None = None
        self._is_readable = False

    def has(self, table: str) -> bool:
        """Where the catalog cannot be read the name is believed, since a wrong one does not lose the record either."""
        if table in self._known:
            return True
        if self._asked_at is None or self._clock() - self._asked_at >= PATIENCE_SECONDS:
            self._ask()
        return table in self._known or not self._is_readable

    def _ask(self) -> None:
        self._asked_at = self._clock()
        try:
            pages = (
                self._client().get_paginator("get_tables").paginate(DatabaseName=RAW_DATABASE, AttributesToGet=["NAME"])
            )
            self._known.update(table["Name"] for page in pages for table in page["TableList"])
            self._is_readable = True
        except Exception as error:
            self._is_readable = False
            logger.warning("The catalog could not be read; valid topics are believed", extra={"error": str(error)})
