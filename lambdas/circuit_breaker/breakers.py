"""The breakers of a deployment: takes alarms, and by schedule settles, probes and closes.

A transition is written first, on condition, and carried out after: the mapping is switched, people are told, and the
transition is marked as settled. Whoever finds one unsettled for a minute carries it out; each part may be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any, Final

from aws_lambda_powertools import Logger

from lambdas.circuit_breaker.alarm import Alarm, alarm
from lambdas.circuit_breaker.breaker import Breaker, Event, Kind, State, after
from lambdas.circuit_breaker.mapping import Mappings
from lambdas.circuit_breaker.probe import NEEDED_SECONDS, Probe, Verdict
from lambdas.circuit_breaker.store import Store
from leanops.aws import moments
from leanops.aws.notifications import notify
from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import Environment

RACES: Final = 5

logger = Logger(service="circuit_breaker")


class TooShort(LeanOpsError):
    def __init__(self, seconds: float) -> None:
        super().__init__(
            "probe",
            f"it may take {NEEDED_SECONDS:g} seconds and there is less",
            f"{seconds:.0f} seconds left",
            "Give the function a timeout of some minutes.",
        )


class Breakers:
    def __init__(
        self,
        environment: Environment,
        seconds_left: Callable[[], float],
        clock: Callable[[], datetime] = moments.now,
        probe: Callable[[str], Verdict] | None = None,
    ) -> None:
        self.transitions: list[str] = []
        self.problems: dict[str, str] = {}
        self.ignored = 0
        self._probed = False
        self._environment = environment
        self._store, self._mappings = Store(environment), Mappings(environment)
        self._seconds_left, self._clock = seconds_left, clock
        self._probe = probe or Probe(environment).run

    def take_alarms(self, records: list[Any]) -> None:
        for record in records:
            found = alarm(self._environment, record)
            if isinstance(found, Alarm):
                self._guarded(found.topic, partial(self._open, found))
            else:
                self.ignored += 1
                logger.warning("Notice ignored", extra={"reason": found.reason, "notice": shown(str(record))})

    def tick(self) -> None:
        for topic, breaker in self._store.unquiet():
            self._guarded(topic, partial(self._attend, topic, breaker))

    def _guarded(self, topic: str, act: Callable[[], None]) -> None:
        """One topic's trouble must not keep the others from being attended to."""
        try:
            act()
        except Exception as error:
            logger.exception("Breaker needs another run", extra={"topic": topic})
            self.problems[topic] = f"{type(error).__name__}: {error}"

    def _open(self, found: Alarm) -> None:
        # Asked first, so that an alarm of a topic that is not there leaves no breaker behind.
        self._mappings.of(found.topic)
        before, breaker = self._apply(found.topic, Event(Kind.ALARM, self._clock(), found.why))
        if breaker is not before or breaker.is_left_unsettled(self._clock()):
            self._settle(found.topic, breaker)

    def _attend(self, topic: str, breaker: Breaker) -> None:
        if breaker.is_left_unsettled(self._clock()):
            self._settle(topic, breaker)
        elif not breaker.lets_through:
            # Somebody may have enabled it, for example by applying Terraform.
            self._mappings.switch(topic, False)
        if after(breaker, Event(Kind.TICK, self._clock())) is breaker:
            return
        if self._seconds_left() < NEEDED_SECONDS:
            if not self._probed:
                raise TooShort(self._seconds_left())
            logger.warning("Probe left to the next run, for want of time", extra={"topic": topic})
            return
        self._probed = True
        before, half_open = self._apply(topic, Event(Kind.TICK, self._clock()))
        if half_open is before:
            return
        verdict = self._probe(topic)
        kind = Kind.PROBE_PASSED if verdict.passed else Kind.PROBE_FAILED
        before, breaker = self._apply(topic, Event(kind, self._clock(), verdict.why, half_open.version))
        if breaker is not before:
            self._settle(topic, breaker)

    def _apply(self, topic: str, event: Event) -> tuple[Breaker, Breaker]:
        """The breaker before and after; the same object where the event changed nothing, or another's was faster."""
        for _ in range(RACES):
            before = self._store.read(topic)
            breaker = after(before, event)
            if breaker is before:
                return before, before
            if self._store.write(topic, breaker):
                self._log(topic, before, breaker)
                return before, breaker
        raise LeanOpsError("move breaker", "others moved it at each attempt", topic, "The next run looks again.")

    def _settle(self, topic: str, breaker: Breaker) -> None:
        """Carries the transition out, and the one after it where the breaker moved on in the meantime."""
        for _ in range(RACES):
            changed = self._mappings.switch(topic, breaker.lets_through)
            logger.info(
                "Mapping switched" if changed else "Mapping is as it should be",
                extra={"topic": topic, "enabled": breaker.lets_through, "version": breaker.version},
            )
            if breaker.state is not State.HALF_OPEN:
                notify(self._environment, *_news(self._environment, topic, breaker))
            if self._store.settle(topic, breaker.version):
                return
            breaker = self._store.read(topic)

    def _log(self, topic: str, before: Breaker, breaker: Breaker) -> None:
        self.transitions.append(f"{topic}: {before.state} → {breaker.state}")
        logger.warning(
            "Breaker moved",
            extra={
                "topic": topic,
                "before": before.state,
                "after": breaker.state,
                "version": breaker.version,
                "why": breaker.why,
                "until": moments.text(breaker.until) if breaker.until else None,
                "failed_probes": breaker.failed_probes,
            },
        )


def _news(environment: Environment, topic: str, breaker: Breaker) -> tuple[str, str]:
    if breaker.state is State.CLOSED:
        return (
            f"[{environment.name}] {topic} goes on",
            f"The breaker of topic {topic} is closed again: {breaker.why}. Its queue is read; nothing is to be done.",
        )
    until = moments.text(breaker.until) if breaker.until else "the next run"
    return (
        f"[{environment.name}] {topic} is stopped",
        f"The breaker of topic {topic} is open until {until}, then one batch is tried.\n"
        f"Why: {breaker.why}\nFailed probes so far: {breaker.failed_probes}\n"
        f"Messages wait in the queue {environment.topic(topic).queue}. Look for errors in the log of "
        f"{environment.function('sqs_processor')}.",
    )
