"""Structured logs: JSON lines for the platform, and each Spark job named by the step it belongs to."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Any, Final

from pyspark import SparkContext

from spark_jobs.treatments import PADDED_KEY

MOST_LINE: Final = 300
PADDED: Final = re.compile(PADDED_KEY)
BATCH: Final = re.compile(r"\bbatch (\d+)")


class JsonLines(logging.Formatter):
    """One JSON document per record. A topic's thread has the topic's name."""

    def __init__(self, topics: Collection[str]) -> None:
        super().__init__()
        self._topics = frozenset(topics)

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "message": PADDED.sub("…", message),
        }
        if record.threadName in self._topics:
            line["topic"] = record.threadName
        batch = getattr(record, "batch", None)
        if batch is None and (found := BATCH.search(message)):
            batch = int(found[1])
        if batch is not None:
            line["batch"] = batch
        if record.exc_info:
            line["trace"] = PADDED.sub("…", self.formatException(record.exc_info))
        return json.dumps(line, ensure_ascii=False)


class JobDescriptions(logging.Handler):
    """Spark's own pages name each Spark job by the step that its topic's log named last."""

    def __init__(self, context: SparkContext, topics: Collection[str]) -> None:
        super().__init__(logging.INFO)
        self._context = context
        self._topics = frozenset(topics)

    def emit(self, record: logging.LogRecord) -> None:
        if record.threadName in self._topics:
            # A label must not stop the job.
            with suppress(Exception):
                self._context.setJobDescription(record.getMessage()[:MOST_LINE])


@contextmanager
def logged(topics: Collection[str]) -> Iterator[None]:
    """JSON lines on stderr while it lasts, and not also on the platform's own handlers."""
    before = [(logger, logger.level, logger.propagate) for logger in _loggers()]
    for logger in _loggers():
        logger.setLevel(logging.INFO)
        logger.propagate = False
    stream = logging.StreamHandler(sys.stderr)
    stream.setFormatter(JsonLines(topics))
    try:
        with handling([stream]):
            yield
    finally:
        for logger, level, propagate in before:
            logger.setLevel(level)
            logger.propagate = propagate


@contextmanager
def handling(handlers: Sequence[logging.Handler]) -> Iterator[None]:
    pairs = [(logger, handler) for logger in _loggers() for handler in handlers]
    for logger, handler in pairs:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger, handler in pairs:
            logger.removeHandler(handler)


def _loggers() -> list[logging.Logger]:
    return [logging.getLogger(name) for name in ("spark_jobs", "leanops")]
