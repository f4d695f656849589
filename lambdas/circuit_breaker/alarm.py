"""Alarms as SNS brings them. Whatever is not an alarm of a topic of this deployment is None, with the reason logged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from leanops.core.errors import InvalidName
from leanops.core.naming import Environment, valid_topic

WHY_CHARACTERS: Final = 1_000


class Alarm(NamedTuple):
    topic: str
    why: str


class Ignored(NamedTuple):
    reason: str


def alarm_prefix(environment: Environment) -> str:
    return f"{environment.prefix}-errors-"


def alarm(environment: Environment, record: object) -> Alarm | Ignored:
    """From one record of an SNS event. An alarm that is over closes nothing: with the topic stopped it has to end."""
    message = _message(record)
    if message is None:
        return Ignored("it is not a JSON object from SNS")
    name, state = message.get("AlarmName"), message.get("NewStateValue")
    if not isinstance(name, str) or not name.startswith(alarm_prefix(environment)):
        return Ignored("its name is not an error alarm's of this deployment")
    try:
        topic = valid_topic(name.removeprefix(alarm_prefix(environment)))
    except InvalidName as error:
        return Ignored(str(error))
    if state != "ALARM":
        return Ignored("its state is not ALARM")
    reason = message.get("NewStateReason")
    return Alarm(
        topic, (reason if isinstance(reason, str) and reason else "the alarm gives no reason")[:WHY_CHARACTERS]
    )


def _message(record: object) -> Mapping[str, Any] | None:
    notice = record.get("Sns") if isinstance(record, dict) else None
    text = notice.get("Message") if isinstance(notice, dict) else None
    if not isinstance(text, str):
        return None
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
