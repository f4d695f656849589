"""What to replay. A request is checked whole before anything is sent, and an unknown key is refused: a mistyped
`dry_run` must not send for real."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from leanops.aws import moments
from leanops.aws.dead_letters import Reason
from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import valid_topic

KEYS: Final = frozenset(
    "topic from to reason ids rate dry_run requested_by again replay_id continuation".split()  # noqa: SIM905
)
REPLAY_ID: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
MOST_IDS: Final = 10_000
HIGHEST_RATE: Final = 1_000.0
DEFAULT_RATE: Final = 10.0


class InvalidRequest(LeanOpsError):
    def __init__(self, key: str, reason: str, found: object, remedy: str) -> None:
        self.key = key
        super().__init__("replay", f"`{key}` {reason}", shown(found), remedy)


@dataclass(frozen=True)
class Request:
    """Entries of `topic` with start ≤ time < end, of one reason and among `ids` where these are given."""

    topic: str
    start: str
    end: str
    reason: str | None
    ids: frozenset[str] | None
    rate: float
    dry_run: bool
    requested_by: str
    again: bool
    replay_id: str
    continuation: str | None

    @classmethod
    def of(cls, event: Mapping[str, Any]) -> Request:
        for key in event:
            if key not in KEYS:
                raise InvalidRequest(key, "is no key of a request", event[key], f"Use {', '.join(sorted(KEYS))}.")
        topic = valid_topic(event.get("topic"))
        start, end = _moment(event, "from"), _moment(event, "to")
        if start >= end:
            raise InvalidRequest("to", "is not after `from`", event["to"], "Give a time after `from`.")
        reason, ids, again = _reason(event), _ids(event), _flag(event, "again")
        what = [topic, start, end, reason, sorted(ids) if ids is not None else None, again]
        return cls(
            topic=topic,
            start=start,
            end=end,
            reason=reason,
            ids=ids,
            rate=_rate(event),
            dry_run=_flag(event, "dry_run"),
            requested_by=_requested_by(event),
            again=again,
            replay_id=_replay_id(event, what),
            continuation=_continuation(event, start, end),
        )

    def selects(self, reason: str, sqs_message_id: str) -> bool:
        return (self.reason is None or reason == self.reason) and (self.ids is None or sqs_message_id in self.ids)


def _moment(event: Mapping[str, Any], key: str) -> str:
    remedy = "Give a time with its zone, for example 2026-11-18T10:00:00Z."
    found = event.get(key)
    if not isinstance(found, str):
        raise InvalidRequest(key, "is missing" if found is None else "is not text", found, remedy)
    try:
        moment = datetime.fromisoformat(found)
        if moment.tzinfo is None:
            raise InvalidRequest(key, "has no zone", found, remedy)
        return moments.text(moment)
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(key, "is not an ISO 8601 time", found, remedy) from error


def _reason(event: Mapping[str, Any]) -> str | None:
    found = event.get("reason")
    if found is None:
        return None
    if not isinstance(found, str) or found not in set(Reason):
        raise InvalidRequest("reason", "is no reason of dlq_errors", found, f"Use one of {', '.join(Reason)}.")
    return found


def _ids(event: Mapping[str, Any]) -> frozenset[str] | None:
    found = event.get("ids")
    if found is None:
        return None
    if not isinstance(found, list) or not all(isinstance(each, str) and each for each in found):
        raise InvalidRequest("ids", "is not a list of SQS message ids", found, "Give a list of text.")
    if not 0 < len(found) <= MOST_IDS:
        raise InvalidRequest("ids", "is empty or too long", len(found), f"Give 1 to {MOST_IDS}, or leave it out.")
    return frozenset(found)


def _rate(event: Mapping[str, Any]) -> float:
    found = event.get("rate", DEFAULT_RATE)
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 < found <= HIGHEST_RATE:
        remedy = f"Give messages per second, above 0 and up to {HIGHEST_RATE:g}."
        raise InvalidRequest("rate", "is not a rate", found, remedy)
    return float(found)


def _flag(event: Mapping[str, Any], key: str) -> bool:
    found = event.get(key, False)
    if not isinstance(found, bool):
        raise InvalidRequest(key, "is neither true nor false", found, "Give true or false.")
    return found


def _requested_by(event: Mapping[str, Any]) -> str:
    found = event.get("requested_by")
    if not isinstance(found, str) or not 0 < len(found) <= 200 or not found.isprintable():
        raise InvalidRequest("requested_by", "does not name anyone", found, "Give a name or the id of a run.")
    return found


def _replay_id(event: Mapping[str, Any], what: list[Any]) -> str:
    """Given, or the digest of what is selected: the same request twice is one replay."""
    found = event.get("replay_id")
    if found is None:
        return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:32]
    if not isinstance(found, str) or not REPLAY_ID.fullmatch(found):
        remedy = "Use up to 64 lower-case letters, digits and hyphens."
        raise InvalidRequest("replay_id", "is not an id", found, remedy)
    return found


def _continuation(event: Mapping[str, Any], start: str, end: str) -> str | None:
    found = event.get("continuation")
    if found is None:
        return None
    if not isinstance(found, str) or not start <= found < end:
        remedy = "Give the one that this very request returned, or leave it out to begin anew."
        raise InvalidRequest("continuation", "lies outside `from` and `to`", found, remedy)
    return found
