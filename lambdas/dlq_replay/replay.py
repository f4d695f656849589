"""Sends the selected messages. Per message: read the archive, mark as being sent, send, mark as sent.

A crash after the first mark leaves it behind; it frees itself when the function that wrote it can no longer be alive,
and the next run of the request sends the message. Had it been sent before the crash, it is in the queue twice, which
readers of RAW tell by its message id. Without a crash or a lost answer nothing is sent twice, with one nothing is lost.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, Literal

from aws_lambda_powertools import Logger

from lambdas.dlq_replay.request import Request
from lambdas.dlq_replay.sending import Message, message, requests
from leanops.aws import moments, queues, settings
from leanops.aws.dead_letters import Archive, Entry, Index, UnusableArchive
from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment

# For the marks, reads and the request of one group, when the services are slow.
RESERVE_SECONDS: Final = 20.0
# Clocks of two functions differ a little.
LEASE_MARGIN: Final = timedelta(seconds=60)
GROUP: Final = 10
LOOKED_AT: Final = 1_000
LISTED: Final = 20

Status = Literal["already_sent", "in_flight", "would_send", "sendable"]

logger = Logger(service="dlq_replay")


class NoQueue(LeanOpsError):
    def __init__(self, queue: str) -> None:
        super().__init__("replay", "the topic has no queue", queue, "Add the topic to the topics file and apply it.")


@dataclass
class Outcome:
    """What became of the selected messages; each is in exactly one count."""

    sent: int = 0
    would_send: int = 0
    already_sent: int = 0
    in_flight: int = 0
    failed: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    complete: bool = False
    continuation: str | None = None

    def fail(self, entry: Entry, text: str) -> None:
        self.failed += 1
        self.problem(entry.entry, text)

    def problem(self, subject: str, text: str) -> None:
        logger.warning("Message not replayed as asked", extra={"subject": subject, "problem": text})
        if len(self.problems) < LISTED:
            self.problems.append(f"{subject}: {text}")


class Replay:
    def __init__(
        self,
        environment: Environment,
        request: Request,
        seconds_left: Callable[[], float],
        pause: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.request = request
        self.outcome = Outcome(continuation=request.continuation)
        self._archive, self._index = Archive(environment), Index(environment)
        self._sqs = settings.client("sqs")
        self._queue = environment.topic(request.topic).queue
        self._environment = environment
        self._seconds_left, self._pause, self._clock = seconds_left, pause, clock
        self._token = uuid.uuid4().hex

    def run(self) -> Outcome:
        from botocore.exceptions import BotoCoreError, ClientError

        url = self._url()
        started, tried = self._clock(), 0
        with ThreadPoolExecutor(GROUP) as threads:
            try:
                for last, looked_at in self._groups():
                    sendable = [entry for entry, status in looked_at if status == "sendable"]
                    if not self._in_time(started + tried / self.request.rate if sendable else started):
                        return self.outcome
                    tried += len(sendable)
                    self._count(looked_at)
                    self._handle(url, sendable, threads)
                    self.outcome.continuation = last
            except (BotoCoreError, ClientError) as error:
                # Only the index's query ends up here; what was sent so far is marked and counted.
                self.outcome.problem(self.request.topic, f"the index stopped answering: {error}")
                return self.outcome
        self.outcome.complete, self.outcome.continuation = True, None
        return self.outcome

    def _url(self) -> str:
        try:
            return queues.url(self._sqs, self._environment, self._queue)
        except self._sqs.exceptions.QueueDoesNotExist as error:
            raise NoQueue(self._queue) from error

    def _groups(self) -> Iterator[tuple[str, list[tuple[Entry, Status]]]]:
        """Selected entries, in groups with few to send, and the last entry read: a continuation goes on behind it."""
        request = self.request
        most = min(GROUP, max(1, int(request.rate)))
        group: list[tuple[Entry, Status]] = []
        sendable = read = 0
        for entry in self._index.entries(request.topic, request.start, request.end, request.continuation):
            read += 1
            if request.selects(entry.reason, entry.sqs_message_id):
                status = self._status(entry)
                group.append((entry, status))
                sendable += status == "sendable"
            if sendable == most or read == LOOKED_AT:
                yield entry.entry, group
                group, sendable, read = [], 0, 0
        if read:
            yield entry.entry, group

    def _status(self, entry: Entry) -> Status:
        sent = self.request.replay_id in entry.replays if self.request.again else bool(entry.replays)
        if sent:
            return "already_sent"
        if entry.lease_until and entry.lease_until >= moments.text(moments.now()):
            return "in_flight"
        return "would_send" if self.request.dry_run else "sendable"

    def _count(self, looked_at: Sequence[tuple[Entry, Status]]) -> None:
        for entry, status in looked_at:
            self.outcome.reasons[entry.reason] += 1
            match status:
                case "already_sent":
                    self.outcome.already_sent += 1
                case "would_send":
                    self.outcome.would_send += 1
                case "in_flight":
                    self._in_flight(entry)

    def _in_flight(self, entry: Entry) -> None:
        self.outcome.in_flight += 1
        self.outcome.problem(entry.entry, "another run has it; repeat the request in a quarter of an hour")

    def _in_time(self, due: float) -> bool:
        """Waits for the rate; False where the time left does not reach."""
        wait = max(0.0, due - self._clock())
        if self._seconds_left() < wait + RESERVE_SECONDS:
            return False
        if wait:
            self._pause(wait)
        return True

    def _handle(self, url: str, group: Sequence[Entry], threads: ThreadPoolExecutor) -> None:
        """The threads only call AWS; counting is left to this one."""
        messages: list[Message] = []
        for entry, found in zip(group, threads.map(self._read, group), strict=True):
            if isinstance(found, str):
                self.outcome.fail(entry, found)
            else:
                messages.append(found)
        claimed: list[Message] = []
        for each, refusal in zip(messages, threads.map(self._claim, messages), strict=True):
            if refusal is None:
                claimed.append(each)
            elif refusal:
                self.outcome.fail(each.entry, refusal)
            else:
                self._in_flight(each.entry)
        for batch in requests(claimed):
            answers = self._send(url, batch)
            for each, (sent_as, code) in zip(batch, answers, strict=True):
                if sent_as is None:
                    self.outcome.fail(each.entry, f"the queue did not take it: {code}")
                else:
                    self.outcome.sent += 1
            for each, trouble in zip(batch, threads.map(self._settle, batch, answers), strict=True):
                if trouble:
                    self.outcome.problem(each.entry.entry, trouble)

    def _read(self, entry: Entry) -> Message | str:
        """The message, or why there is none."""
        try:
            return message(entry, self._archive.read(entry.archive_key))
        except UnusableArchive as error:
            return str(error)
        except Exception as error:  # One message's trouble, whatever it is, must not stop the others.
            return f"its archive can't be read: {error}"

    def _claim(self, each: Message) -> str | None:
        """None where it may be sent; else why not, empty where another run has it."""
        now = moments.now()
        until = now + timedelta(seconds=self._seconds_left()) + LEASE_MARGIN
        request = self.request
        try:
            mine = self._index.claim(
                each.entry, request.replay_id, self._token, moments.text(now), moments.text(until), request.again
            )
        except Exception as error:  # It may or may not be marked; the mark would free itself.
            return f"it can't be marked as being sent: {error}"
        return None if mine else ""

    def _send(self, url: str, batch: Sequence[Message]) -> list[tuple[str | None, str]]:
        """For each message the id it was sent as, or None and why."""
        entries = [
            {"Id": str(place), "MessageBody": each.body, "MessageAttributes": each.attributes}
            for place, each in enumerate(batch)
        ]
        try:
            answer: dict[str, Any] = self._sqs.send_message_batch(QueueUrl=url, Entries=entries)
        except Exception as error:
            return [(None, str(error))] * len(batch)
        sent = {each["Id"]: str(each["MessageId"]) for each in answer.get("Successful", ())}
        codes = {each["Id"]: str(each.get("Code")) for each in answer.get("Failed", ())}
        return [(sent.get(each["Id"]), codes.get(each["Id"], "no answer")) for each in entries]

    def _settle(self, each: Message, answer: tuple[str | None, str]) -> str | None:
        """Marks as sent, or takes the mark back; what went wrong with that, if anything."""
        request, now, sent_as = self.request, moments.text(moments.now()), answer[0]
        try:
            if sent_as is None:
                self._index.release(each.entry, self._token)
            else:
                self._index.mark_sent(each.entry, request.replay_id, self._token, now, request.requested_by, sent_as)
        except Exception as error:
            if sent_as is None:
                return f"its mark frees itself within a quarter of an hour: {error}"
            return f"sent, but not marked so; a repeated request may send it once more: {error}"
        return None
