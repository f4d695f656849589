"""Alerts to people: what happened, with what, and what to do next. Everything else that tells people goes this way too.

A notice is an alert of a condition that lasts: sent once, and again only after the condition has ended in between. It
stands in the checkpoints table, where the gate reads it in the same call as everything else (`Checkpoints.look_up`).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal
from uuid import uuid4

from leanops.aws import notifications, settings
from leanops.aws.items import Items, Refused, patiently
from leanops.core.errors import InvalidName, LeanOpsError
from leanops.core.naming import Environment, valid_topic

Severity = Literal["error", "warning", "notice"]
KIND: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
ERROR_CHARACTERS: Final = 600
# Whoever has claimed a notice and not sent it by then is dead.
CLAIM_SECONDS: Final = 120
UNKNOWN_NEXT_STEP: Final = "Open the link and read the end of the log. Clearing the run is safe."
TRACEBACK: Final = "Traceback (most recent call last)"
NOISE: Final = re.compile(r"An error occurred while calling|An exception was thrown from the Python worker|^Traceback ")


@dataclass(frozen=True)
class Alert:
    """`kind` names the cause in one word, for filters and for notices. `route` is the contract's `alert_route.sns`."""

    topic: str
    kind: str
    headline: str
    next_step: str
    severity: Severity = "error"
    layer: str | None = None
    batch: int | None = None
    error: str | None = None
    link: str | None = None
    run_id: str | None = None
    route: str | None = None

    @property
    def subject(self) -> str:
        batch = f", batch {self.batch}" if self.batch is not None else ""
        return f"[{self.severity}] {self.topic}: {_line(self.headline)}{batch}"

    def text(self, environment: Environment) -> str:
        lines = {
            "Topic": self.topic,
            "Layer": self.layer,
            "Batch": self.batch,
            "Error": None if self.error is None else useful_line(self.error),
            "Next step": self.next_step,
            "Link": self.link,
            "Run": self.run_id,
            "Environment": f"{environment.name} ({environment.account}, {environment.region})",
        }
        told = [f"{name}: {value}" for name, value in lines.items() if value is not None]
        return "\n".join([_line(self.headline), "", *told])


class Alerts:
    def __init__(
        self,
        environment: Environment,
        sns: Any = None,
        dynamodb: Any = None,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._environment = environment
        self._sns = sns or settings.client("sns")
        self._items = Items(environment.checkpoints, dynamodb, clock, pause)
        self._pause = pause

    def send(self, alert: Alert) -> None:
        """At least once: SNS can't tell a repeated message from a new one."""
        told = {"topic": alert.topic, "kind": alert.kind, "severity": alert.severity}
        told |= {name: value for name, value in (("layer", alert.layer), ("route", alert.route)) if value}
        patiently(
            lambda: self._sns.publish(
                TopicArn=notifications.arn(self._environment),
                Subject=notifications.as_subject(alert.subject),
                Message=notifications.as_message(alert.text(self._environment)),
                # Subscribers filter by these: a team takes its own topics, a pager only errors.
                MessageAttributes={name: {"DataType": "String", "StringValue": value} for name, value in told.items()},
            ),
            self._pause,
        )

    def send_once(self, alert: Alert) -> bool:
        """Sends unless the notice of this topic and kind stands already; whether it was sent now.

        It is claimed, sent, and marked as sent: whoever dies in between leaves a claim that the next one takes over.
        """
        key = notice_key(alert.topic, alert.kind)
        if "sent_at" in (self._items.get(key) or {}):
            return False
        now, token = int(self._items.now()), uuid4().hex
        claimed = self._items.update(
            key,
            "attribute_not_exists(#pipeline_id) OR (attribute_not_exists(#sent_at) AND #claimed_at < :late)",
            put={"token": token, "claimed_at": now, "headline": alert.headline},
            values={"late": now - CLAIM_SECONDS},
        )
        if isinstance(claimed, Refused) and (claimed.item or {}).get("token") != token:
            return False
        self.send(alert)
        # Ended meanwhile: then it stays ended.
        self._items.update(key, "#token = :token", put={"sent_at": int(self._items.now())}, values={"token": token})
        return True

    def rearm(self, topic: str, kind: str) -> bool:
        """The condition has ended: the next notice is sent again. False: none stood."""
        return self._items.delete(notice_key(topic, kind)) is not None


def notice_key(topic: str, kind: str) -> dict[str, str]:
    if not KIND.fullmatch(kind):
        raise InvalidName("kind of notice", kind, f"it does not match {KIND.pattern}", "Use a short word.")
    return {"pipeline_id": f"notice#{valid_topic(topic)}", "checkpoint_type": kind}


def of_error(error: BaseException, *, topic: str, kind: str, headline: str, **others: Any) -> Alert:
    """An alert of an exception. One of ours knows the next step."""
    step = others.pop("next_step", None)
    if step is None and isinstance(error, LeanOpsError):
        step = _line(error.remedy)
    text = str(error) or type(error).__name__
    if not isinstance(error, LeanOpsError) and TRACEBACK not in text:
        text = f"{type(error).__name__}: {text}"
    return Alert(topic, kind, headline, step or UNKNOWN_NEXT_STEP, error=text, **others)


def useful_line(text: str) -> str:
    """What a person reads first. A traceback says it at its end, Py4J after its own first line."""
    lines = text.splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith(TRACEBACK)), None)
    raised = (line for line in lines[start + 1 :] if line and not line[0].isspace()) if start is not None else iter(())
    useful = (line.strip().removeprefix(": ") for line in lines if line.strip() and not NOISE.search(line))
    found = next(raised, None) or next(useful, None) or "(no text)"
    return found if len(found) <= ERROR_CHARACTERS else f"{found[:ERROR_CHARACTERS]}…"


def _line(text: str) -> str:
    return " ".join(text.split())
