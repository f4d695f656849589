"""Messages of all topic queues to the delivery stream; those that did not get there are reported, and only those."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.sqs_processor.accepted import AcceptedMessages
from lambdas.sqs_processor.archive import Archive
from lambdas.sqs_processor.delivery import DeliveryStream
from lambdas.sqs_processor.record import UNKNOWN_TOPIC, Outgoing, names_of, outgoing
from leanops.aws import settings
from leanops.core.naming import Environment, Names

SERVICE: Final = "sqs_processor"
# The notes only save work: they may not cost time.
NOTES_SECONDS: Final = 2.0
ARCHIVE_SECONDS: Final = 4.0

logger: Final = Logger(service=SERVICE)
metrics: Final = Metrics(namespace="lean-ops", service=SERVICE)


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    logger.append_keys(request_id=getattr(context, "aws_request_id", None))
    environment = settings.environment()

    def seconds_left() -> float:
        return float(context.get_remaining_time_in_millis()) / 1000

    invocation = Invocation(
        environment,
        AcceptedMessages(
            lambda: settings.client("dynamodb", read_seconds=NOTES_SECONDS, attempts=1),
            environment.idempotency,
            seconds_left,
        ),
        Archive(
            lambda: settings.client("s3", read_seconds=ARCHIVE_SECONDS, attempts=2),
            environment.archive_bucket,
            seconds_left,
        ),
        # One attempt a call: the attempts are ours to make, record by record and by the time that is left.
        DeliveryStream(settings.client("firehose", attempts=1), environment.delivery_stream, seconds_left),
    )
    return {"batchItemFailures": [{"itemIdentifier": sqs_id} for sqs_id in invocation.failures(event["Records"])]}


class Invocation:
    """One batch of messages on its way."""

    def __init__(
        self, environment: Environment, notes: AcceptedMessages, archive: Archive, stream: DeliveryStream
    ) -> None:
        self._environment = environment
        self._notes = notes
        self._archive = archive
        self._stream = stream
        self.counts: defaultdict[str, Counter[str]] = defaultdict(Counter)

    def failures(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """Delivers the messages; answers the ids, as SQS gave them, of those that were not accepted downstream."""
        known = self._notes.among(message["messageId"] for message in messages)
        failed: dict[str, None] = {}
        made: list[Outgoing] = []
        for message in messages:
            if message["messageId"] in known:
                self.counts[self._topic(message)].update(("received", "skipped"))
                continue
            try:
                made.append(self._made(message))
            except Exception:
                # One bad message spoils no other.
                failed[message["messageId"]] = None
                self.counts[self._topic(message)].update(("received", "failed"))
                logger.exception(
                    "No record could be made of a message; the queue delivers it again, then to the dead letter queue",
                    extra={"sqs_message_id": message["messageId"], "topic": self._topic(message)},
                )
        refused = self._stream.put([each.data for each in made])
        self._count(made, refused)
        failed |= {made[position].sqs_id: None for position in sorted(refused)}
        self._notes.add(each.sqs_id for each in made if each.sqs_id not in failed)
        self._tell()
        return list(failed)

    def _made(self, message: Mapping[str, Any]) -> Outgoing:
        made = outgoing(message, self._environment)
        if made.oversize is None:
            return made
        self._archive.put(made.oversize)
        return made._replace(oversize=None)

    def _topic(self, message: Mapping[str, Any]) -> str:
        """Under which its messages are counted: names from outside are not among them."""
        names = names_of(self._environment, str(message.get("eventSourceARN")))
        return names.topic if isinstance(names, Names) else UNKNOWN_TOPIC

    def _count(self, made: Sequence[Outgoing], refused: set[int]) -> None:
        for position, each in enumerate(made):
            counts = self.counts[each.topic]
            counts["received"] += 1
            if position in refused:
                counts["failed"] += 1
            else:
                counts["accepted"] += 1
                if each.notes:
                    counts.update(each.notes)

    def _tell(self) -> None:
        """Counters are told last and may fail: the messages are where they belong.

        Topics are told apart in the log. A metric for each of 700 topics would cost more than all functions together.
        """
        try:
            for name, value in sum(self.counts.values(), Counter[str]()).items():
                metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
            metrics.flush_metrics()
            counts = {topic: dict(counted) for topic, counted in self.counts.items()}
            logger.info("Messages processed", extra={"counts": counts})
        except Exception:
            logger.exception("Counters could not be told; the messages were processed")
