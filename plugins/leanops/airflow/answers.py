"""What jobs answer: the result documents that they leave in S3 (docs/jobs.md, Result)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from leanops.aws import settings
from leanops.core.errors import LeanOpsError, shown

PLACE: Final = re.compile(r"s3://(?P<bucket>[^/]+)/(?P<key>.+)")


class NoAnswer(LeanOpsError):
    def __init__(self, place: str, reason: str) -> None:
        self.place = place
        remedy = "Read the job's log; then clear this task: the job finds what it had done, and answers again."
        super().__init__("read the job's answer", reason, place, remedy)


class TopicFailed(LeanOpsError):
    """The job's own error of the topic, in its own words."""

    def __init__(self, topic: str, error: Mapping[str, Any]) -> None:
        self.topic = topic
        self.error = dict(error)
        self.type = str(error.get("type"))
        self.line = str(error.get("line") or error.get("message") or self.type)
        self.next_step = str(error.get("next_step") or "Read the job's log, then clear this task.")
        super().__init__("finish the job", self.type, f"{topic}: {self.line}", self.next_step)


def remove(place: str) -> None:
    """Before a new job: what an earlier one said must not be taken for its answer."""
    bucket, key = _place(place)
    settings.client("s3").delete_object(Bucket=bucket, Key=key)


def read(place: str, topic: str) -> list[dict[str, Any]]:
    """The topic's results by layer, or the error that the job met."""
    bucket, key = _place(place)
    client = settings.client("s3")
    try:
        text = client.get_object(Bucket=bucket, Key=key)["Body"].read()
    except client.exceptions.NoSuchKey as error:
        raise NoAnswer(place, "there is none") from error
    try:
        outcome = json.loads(text)["topics"][topic]
    except (ValueError, KeyError, TypeError) as error:
        raise NoAnswer(place, f"it does not tell of {topic}") from error
    if not outcome["ok"]:
        raise TopicFailed(topic, outcome["error"])
    results: list[dict[str, Any]] = outcome["results"]
    return results


def _place(place: str) -> tuple[str, str]:
    found = PLACE.fullmatch(place)
    if found is None:
        raise NoAnswer(shown(place), "it is no object in S3")
    return found["bucket"], found["key"]
