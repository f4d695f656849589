"""Messages to people, through the deployment's SNS topic."""

from __future__ import annotations

import re
from typing import Any, Final

from leanops.aws import settings
from leanops.core.naming import Environment

SUBJECT_CHARACTERS: Final = 99
MESSAGE_BYTES: Final = 250_000


def notify(environment: Environment, subject: str, message: str, *, client: Any = None) -> None:
    """Publishes; SNS takes a subject of one short ASCII line and a quarter of a megabyte of text."""
    client = client or settings.client("sns")
    client.publish(TopicArn=arn(environment), Subject=as_subject(subject), Message=as_message(message))


def arn(environment: Environment) -> str:
    return f"arn:aws:sns:{environment.region}:{environment.account}:{environment.notifications}"


def as_subject(text: str) -> str:
    plain = re.sub(r"[^\x20-\x7e]+", " ", text).strip()
    return plain[:SUBJECT_CHARACTERS] or "lean-ops"


def as_message(text: str) -> str:
    encoded = text.encode("utf-8", "replace")
    if len(encoded) <= MESSAGE_BYTES:
        return encoded.decode("utf-8") or "(no text)"
    return encoded[:MESSAGE_BYTES].decode("utf-8", "ignore") + "\n… (cut; the log has the rest)"
