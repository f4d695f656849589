"""Tries one batch. A mapping can't be told to take one batch only, so the probe is the mapping: it receives a batch,
invokes the processor with it, and deletes what the processor did not report."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from lambdas.circuit_breaker.mapping import PROCESSOR
from leanops.aws import queues, settings
from leanops.core.naming import Environment

BATCH: Final = 10
# An invocation may carry 6 MB; escapes of the JSON in JSON count.
PAYLOAD_BYTES: Final = 5_500_000
INVOKE_SECONDS: Final = 75.0
NEEDED_SECONDS: Final = INVOKE_SECONDS + 15
# Nobody else may get the messages while the processor has them.
VISIBILITY_SECONDS: Final = 120


class Verdict(NamedTuple):
    passed: bool
    why: str


class Probe:
    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._sqs = settings.client("sqs")
        # Not tried again: an invocation whose answer is lost may have done its work.
        self._lambda = settings.client("lambda", read_seconds=INVOKE_SECONDS, attempts=1)

    def run(self, topic: str) -> Verdict:
        queue = self._environment.topic(topic).queue
        url = queues.url(self._sqs, self._environment, queue)
        messages = self._sqs.receive_message(
            QueueUrl=url,
            MaxNumberOfMessages=BATCH,
            WaitTimeSeconds=2,
            VisibilityTimeout=VISIBILITY_SECONDS,
            MessageSystemAttributeNames=["All"],
            MessageAttributeNames=["All"],
        ).get("Messages", [])
        if not messages:
            return Verdict(True, "the queue is empty")
        arn = queues.arn(self._environment, queue)
        records = [event_record(message, arn, self._environment.region) for message in messages]
        taken = fitting(records)
        self._give_back(url, messages[taken:])
        failed, why = self._invoke(records[:taken])
        accepted = [message for message in messages[:taken] if message["MessageId"] not in failed]
        if accepted:
            # What could not be deleted is delivered once more; RAW's readers tell it by its id.
            self._sqs.delete_message_batch(
                QueueUrl=url,
                Entries=[
                    {"Id": str(place), "ReceiptHandle": each["ReceiptHandle"]} for place, each in enumerate(accepted)
                ],
            )
        # A single bad message must not hold up its topic.
        passed = len(failed) * 2 < taken
        return Verdict(passed, why or f"{len(accepted)} of {taken} messages passed")

    def _give_back(self, url: str, messages: Sequence[Mapping[str, Any]]) -> None:
        for message in messages:
            self._sqs.change_message_visibility(
                QueueUrl=url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0
            )

    def _invoke(self, records: Sequence[Mapping[str, Any]]) -> tuple[set[str], str]:
        """Ids of messages that the processor did not take, and why where it took none."""
        from botocore.exceptions import BotoCoreError, ClientError

        everything = {str(record["messageId"]) for record in records}
        try:
            answer = self._lambda.invoke(
                FunctionName=self._environment.function(PROCESSOR),
                InvocationType="RequestResponse",
                Payload=json.dumps({"Records": records}).encode(),
            )
            with answer["Payload"] as stream:
                payload = stream.read()
        except (BotoCoreError, ClientError) as error:
            return everything, f"the processor could not be invoked: {error}"
        if answer.get("FunctionError"):
            return everything, f"the processor failed: {payload[:500].decode('utf-8', 'replace')}"
        failed = reported(payload, everything)
        return (everything, "the processor's answer is not one of a batch") if failed is None else (failed, "")


def reported(payload: bytes, known: set[str]) -> set[str] | None:
    """The ids in batchItemFailures, read as Lambda reads them: an id that is not of the batch spoils all (None)."""
    try:
        answer = json.loads(payload) if payload else None
    except (ValueError, RecursionError):
        return None
    if answer is None or answer == {}:
        return set()
    if not isinstance(answer, dict):
        return None
    failures = answer.get("batchItemFailures")
    if failures is None:
        return set()
    if not isinstance(failures, list):
        return None
    ids: set[str] = set()
    for each in failures:
        found = each.get("itemIdentifier") if isinstance(each, dict) else None
        if not isinstance(found, str) or found not in known:
            return None
        ids.add(found)
    return ids


def fitting(records: Sequence[Mapping[str, Any]]) -> int:
    """How many of the records, from the first on, one invocation can carry; one at least."""
    size = 0
    for place, record in enumerate(records):
        size += len(json.dumps(record)) + 2
        if place and size > PAYLOAD_BYTES:
            return place
    return len(records)


def event_record(message: Mapping[str, Any], arn: str, region: str) -> dict[str, Any]:
    """A received message in the form of Lambda's events."""
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {name: _attribute(value) for name, value in message.get("MessageAttributes", {}).items()},
        "md5OfBody": message.get("MD5OfBody"),
        "eventSource": "aws:sqs",
        "eventSourceARN": arn,
        "awsRegion": region,
    }


def _attribute(value: Mapping[str, Any]) -> dict[str, Any]:
    form: dict[str, Any] = {"stringListValues": [], "binaryListValues": [], "dataType": value["DataType"]}
    if "BinaryValue" in value:
        return form | {"binaryValue": base64.b64encode(value["BinaryValue"]).decode("ascii")}
    return form | {"stringValue": value.get("StringValue")}
