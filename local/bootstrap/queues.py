"""A queue and a dead letter queue for each topic. May be repeated: attributes are set again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from leanops.core.naming import Environment
from local.bootstrap.resources import DEAD_LETTER_DAYS, REDRIVE_AFTER
from local.bootstrap.stores import Client


def make_queues(client: Client, environment: Environment, topics: Sequence[str], visibility_seconds: int) -> None:
    sqs = client("sqs")
    for topic in topics:
        names = environment.topic(topic)
        both = {
            "MessageRetentionPeriod": str(DEAD_LETTER_DAYS * 86_400),
            "VisibilityTimeout": str(visibility_seconds),
        }
        dead_letters = _queue(sqs, names.dead_letter_queue, both)
        redrive = {"deadLetterTargetArn": dead_letters, "maxReceiveCount": REDRIVE_AFTER}
        _queue(sqs, names.queue, {**both, "RedrivePolicy": json.dumps(redrive)})


def _queue(sqs: Any, name: str, attributes: dict[str, str]) -> str:
    """The ARN. CreateQueue with other attributes than before is refused, so they are set in a step of their own."""
    url = sqs.create_queue(QueueName=name)["QueueUrl"]
    sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)
    return str(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])


def arn(environment: Environment, queue: str) -> str:
    return f"arn:aws:sqs:{environment.region}:{environment.account}:{queue}"
