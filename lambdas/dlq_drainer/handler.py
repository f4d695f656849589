"""Drains the dead letter queues of all topics, through an event source mapping on each with ReportBatchItemFailures.

The mapping deletes exactly the messages that are not reported as failed, so «archive before delete» needs no code here
that could go wrong: a message whose archive object, index entry and record are not all in place is reported, stays in
its queue and comes again. Each step has the same outcome when repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.dlq_drainer.letter import Letter
from leanops.aws import delivery, moments, settings
from leanops.aws.dead_letters import Archive, Index
from leanops.core.naming import Environment

# A write that hangs and is tried again must not eat the time to answer.
ARCHIVE_SECONDS: Final = 15.0
LISTED: Final = 20

logger = Logger(service="dlq_drainer")
metrics = Metrics(namespace="lean-ops", service="dlq_drainer")


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    records = event["Records"]
    failures = drain(
        settings.environment(), records, seconds_left=lambda: context.get_remaining_time_in_millis() / 1000
    )
    metrics.add_metric("DeadLettersDrained", MetricUnit.Count, len(records) - len(failures))
    metrics.add_metric("DeadLettersLeft", MetricUnit.Count, len(failures))
    metrics.flush_metrics()
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failures]}


def drain(
    environment: Environment, records: Sequence[Mapping[str, Any]], seconds_left: Callable[[], float]
) -> dict[str, str]:
    """Message id → why, of every message that must stay in its queue."""
    failures: dict[str, str] = {}
    kept: list[Letter] = []
    rows: list[bytes] = []
    archive, index = Archive(environment), Index(environment)
    for record in records:
        message_id = record["messageId"]
        if seconds_left() < ARCHIVE_SECONDS + delivery.RESERVE_SECONDS:
            failures[message_id] = "no time left"
            continue
        try:
            letter = _kept(environment, record, archive, index)
            rows.append(letter.record())
            kept.append(letter)
        except Exception as error:  # One message's trouble, whatever it is, must neither stop nor lose the others.
            logger.exception("Message stays in the dead letter queue", extra={"sqs_message_id": message_id})
            failures[message_id] = type(error).__name__
    refused = delivery.put(environment.delivery_stream, rows, seconds_left)
    failures.update({kept[position].sqs_message_id: code for position, code in refused.items()})
    _log(kept, failures)
    return failures


def _kept(environment: Environment, record: Mapping[str, Any], archive: Archive, index: Index) -> Letter:
    """The message, once the archive and then the index have it."""
    now = moments.now()
    letter = Letter.of(environment, record, now)
    archive.write(letter.archive_key, letter.document(now))
    fields = {"message_id": letter.message_id} if letter.message_id else {}
    index.add(letter.entry(), letter.drained_at, fields)
    return letter


def _log(kept: Sequence[Letter], failures: Mapping[str, str]) -> None:
    drained: dict[str, int] = {}
    for letter in kept:
        if letter.sqs_message_id not in failures:
            name = f"{letter.topic}: {letter.reason}"
            drained[name] = drained.get(name, 0) + 1
    logger.info("Dead letters drained", extra={"drained": drained, "left": len(failures)})
    if failures:
        logger.warning(
            "Dead letters stay in their queue and come again; see the codes for what is refusing them",
            extra={"codes": dict(list(failures.items())[:LISTED])},
        )
