"""Queues of a deployment: which topic a queue belongs to, and where a topic's queue is."""

from __future__ import annotations

from typing import Any, Final

from leanops.core.errors import InvalidName
from leanops.core.naming import Environment, valid_topic

DEAD_LETTER_ENDING: Final = "-dlq"


def topic_of_dead_letter_queue(environment: Environment, arn: object) -> str | None:
    """The topic whose dead letter queue this is; None where the queue is none of this deployment's."""
    name = _queue_name(environment, arn)
    # A topic has no hyphen, so no topic's own queue ends like this.
    if name is None or not name.startswith(f"{environment.prefix}-") or not name.endswith(DEAD_LETTER_ENDING):
        return None
    return _topic(name.removeprefix(f"{environment.prefix}-").removesuffix(DEAD_LETTER_ENDING))


def arn(environment: Environment, queue: str) -> str:
    return f"arn:aws:sqs:{environment.region}:{environment.account}:{queue}"


def url(client: Any, environment: Environment, queue: str) -> str:
    found: str = client.get_queue_url(QueueName=queue, QueueOwnerAWSAccountId=environment.account)["QueueUrl"]
    return found


def _queue_name(environment: Environment, arn: object) -> str | None:
    if not isinstance(arn, str):
        return None
    parts = arn.split(":")
    if len(parts) != 6 or parts[0] != "arn" or parts[2:5] != ["sqs", environment.region, environment.account]:
        return None
    return parts[5]


def _topic(name: str) -> str | None:
    try:
        return valid_topic(name)
    except InvalidName:
        return None
