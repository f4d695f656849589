"""One Spark application for many topics: a thread, a session and an outcome for each."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from threading import Semaphore
from typing import Any, Final

from pyspark.sql import SparkSession
from pyspark.util import InheritableThread

from leanops.core.contract import Contract, load
from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import Names
from spark_jobs import arguments as args
from spark_jobs.arguments import Arguments, Job
from spark_jobs.logs import MOST_LINE, PADDED, JobDescriptions, handling, logged
from spark_jobs.places import PiiKey, Places, UnreachablePlace
from spark_jobs.results import Result
from spark_jobs.session import CatalogSettings, spark_session, topic_session
from spark_jobs.tables import Lake

LOG = logging.getLogger(__name__)
MOST_TEXT: Final = 4000
NOISE: Final = re.compile(r"An error occurred while calling|An exception was thrown from the Python worker")
TopicJob = Callable[[Lake, str], Sequence[Result]]


@dataclass(frozen=True)
class Failure:
    """An error as the next step needs it; `next_step` where the error itself knows one."""

    type: str
    message: str
    line: str
    next_step: str | None = None

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        text = PADDED.sub("…", _text(error))
        remedy = error.remedy if isinstance(error, LeanOpsError) else None
        return cls(type(error).__name__, text[:MOST_TEXT], _useful_line(text)[:MOST_LINE], remedy)


@dataclass(frozen=True)
class Outcome:
    results: tuple[Result, ...] = ()
    error: Failure | None = None

    @property
    def ok(self) -> bool:
        return self.error is None

    def as_document(self) -> dict[str, Any]:
        if self.error is not None:
            return {"ok": False, "error": asdict(self.error)}
        return {"ok": True, "results": [asdict(result) for result in self.results]}


LOST: Final = Outcome(error=Failure("Lost", "The topic's thread ended without a word.", "No outcome.", "Read the log."))


@dataclass(frozen=True)
class Task:
    """What a job is given for one topic."""

    lake: Lake
    names: Names
    contract: Contract
    arguments: Arguments
    pii: PiiKey

    @property
    def pii_key(self) -> bytes:
        return self.pii.for_contract(self.contract)


def main(job: Job, work: Callable[[Task], Sequence[Result]], argv: Sequence[str] | None = None) -> int:
    """The exit code: 0 all topics are ok, 1 some are not, 2 the arguments are wrong."""
    given = sys.argv[1:] if argv is None else argv
    if "--help" in given:
        print(args.usage(job))
        return 0
    try:
        arguments = args.parsed(job, given)
    except LeanOpsError as error:
        print(error, file=sys.stderr)
        return 2
    with logged(arguments.topics):
        return _main(job, work, arguments)


def _main(job: Job, work: Callable[[Task], Sequence[Result]], arguments: Arguments) -> int:
    places = Places(arguments.environment.region, arguments.endpoint)
    pii = PiiKey(places, arguments.pii_secret)

    def of_topic(lake: Lake, topic: str) -> Sequence[Result]:
        names = arguments.environment.topic(topic)
        return work(Task(lake, names, _contract(places, arguments.schemas, names), arguments, pii))

    outcomes = _outcomes(job, of_topic, arguments)
    document = {"job": job, "topics": {topic: outcome.as_document() for topic, outcome in outcomes.items()}}
    try:
        places.write_text(arguments.result, json.dumps(document, indent=1) + "\n")
    except UnreachablePlace as error:
        LOG.error("%s The result: %s", error, json.dumps(document))
        return 1
    failed = [topic for topic, outcome in outcomes.items() if not outcome.ok]
    LOG.info("%s of %s topics ok; failed: %s", len(outcomes) - len(failed), len(outcomes), ", ".join(failed) or "none")
    return 1 if failed else 0


def _outcomes(job: Job, of_topic: TopicJob, arguments: Arguments) -> dict[str, Outcome]:
    # PySpark hands moments out in the process's own zone.
    os.environ["TZ"] = "UTC"
    time.tzset()
    region, endpoint = arguments.environment.region, arguments.endpoint
    catalog = CatalogSettings(arguments.warehouse, arguments.catalog, region, endpoint)
    try:
        spark = spark_session(catalog, f"lean-ops {job}", {"spark.executorEnv.TZ": "UTC"})
    except Exception as error:
        LOG.exception("Spark did not start")
        return dict.fromkeys(arguments.topics, Outcome(error=Failure.of(error)))
    return run(arguments.topics, of_topic, spark, arguments.threads, catalog)


def run(
    topics: Sequence[str],
    job: TopicJob,
    spark: SparkSession,
    threads: int,
    catalog: CatalogSettings | None = None,
) -> dict[str, Outcome]:
    """Runs the job for each topic, `threads` at a time."""
    slots = Semaphore(threads)
    outcomes: dict[str, Outcome] = {}

    def work(topic: str) -> None:
        with slots:
            outcomes[topic] = _outcome(topic, job, spark, catalog)

    # A thread for each topic, not a pool's: Spark's properties of a thread end with the topic.
    running = [InheritableThread(work, name=topic, args=(topic,), daemon=True) for topic in topics]
    with handling([JobDescriptions(spark.sparkContext, topics)]):
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    return {topic: outcomes.get(topic, LOST) for topic in topics}


def _outcome(topic: str, job: TopicJob, spark: SparkSession, catalog: CatalogSettings | None) -> Outcome:
    try:
        spark.sparkContext.setJobGroup(topic, topic)
        results = tuple(job(Lake(topic_session(spark, catalog)), topic))
    except BaseException as error:  # nobody else hears what ends a thread
        failure = Failure.of(error)
        is_told = isinstance(error, LeanOpsError)
        LOG.error("failed: %s", failure.message if is_told else failure.line, exc_info=not is_told)
        return Outcome(error=failure)
    for result in results:
        LOG.info(
            "%s %s: %s", result.layer, result.status, json.dumps(dict(result.counts)), extra={"batch": result.batch}
        )
    return Outcome(results)


def _contract(places: Places, schemas: str, names: Names) -> Contract:
    # The naming is for the schema bucket, where contracts lie under `schemas/`.
    place = f"{schemas.rstrip('/')}/{names.schema_key('active').removeprefix('schemas/')}"
    contract = load(places.read_text(place), place)
    if contract.topic != names.topic:
        reason = f"it is the contract of {contract.topic}"
        raise UnreachablePlace("read contract", reason, shown(place), f"Put the contract of {names.topic} there.")
    return contract


def _text(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # Py4J asks the JVM for the text, which may be gone
        return type(error).__name__


def _useful_line(text: str) -> str:
    """What a person reads first. A worker's traceback says it at its end, Py4J after its own first line."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith("Traceback (most recent call last)")), None)
    if start is not None:
        raised = next((line for line in lines[start + 1 :] if line and not line[0].isspace()), None)
        if raised is not None:
            return raised
    useful = (line.strip().removeprefix(": ") for line in lines if line.strip() and not NOISE.search(line))
    return next(useful, text)
