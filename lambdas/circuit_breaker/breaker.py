"""The state of a topic's breaker and its transitions, as a pure function: nothing here knows AWS or the clock.

closed ──alarm──▸ open ──time passed──▸ half_open ──probe passed──▸ closed
                   ▴                        │
                   └──── probe failed ──────┘  (twice the wait, up to a limit)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

FIRST_WAIT: Final = timedelta(minutes=5)
LONGEST_WAIT: Final = timedelta(hours=4)
# How long a probe may take before it counts as lost with the function that made it.
PROBE_LEASE: Final = timedelta(minutes=5)
# For so long whoever wrote a transition is left alone to carry it out.
SETTLING: Final = timedelta(minutes=1)


class State(StrEnum):
    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class Kind(StrEnum):
    ALARM = "alarm"
    TICK = "tick"
    PROBE_PASSED = "probe_passed"
    PROBE_FAILED = "probe_failed"


@dataclass(frozen=True)
class Event:
    """`version` is the breaker's that a probe was made for; a lost probe's answer, come late, is for another one."""

    kind: Kind
    at: datetime
    why: str = ""
    version: int | None = None


@dataclass(frozen=True)
class Breaker:
    """`version` grows with each transition. Not `settled`: the mapping and the people may not know of it yet."""

    state: State = State.CLOSED
    version: int = 0
    since: datetime | None = None
    until: datetime | None = None
    wait: timedelta = FIRST_WAIT
    failed_probes: int = 0
    why: str = ""
    settled: bool = True

    @property
    def lets_through(self) -> bool:
        """Whether the topic's event source mapping should be enabled."""
        return self.state is State.CLOSED

    def is_left_unsettled(self, now: datetime) -> bool:
        return not self.settled and (self.since is None or now >= self.since + SETTLING)


def after(breaker: Breaker, event: Event) -> Breaker:
    """The breaker after the event; the very same object where the event changes nothing."""
    match breaker.state, event.kind:
        case State.CLOSED, Kind.ALARM:
            return _next(breaker, event, State.OPEN, until=event.at + FIRST_WAIT, wait=FIRST_WAIT, failed_probes=0)
        case ((State.OPEN | State.HALF_OPEN), Kind.TICK) if breaker.until is None or event.at >= breaker.until:
            why = breaker.why if breaker.state is State.OPEN else "the probe before got lost"
            return _next(breaker, replace(event, why=why), State.HALF_OPEN, until=event.at + PROBE_LEASE)
        case State.HALF_OPEN, Kind.PROBE_PASSED if event.version == breaker.version:
            return _next(breaker, event, State.CLOSED, until=None, wait=FIRST_WAIT, failed_probes=0)
        case State.HALF_OPEN, Kind.PROBE_FAILED if event.version == breaker.version:
            wait = min(breaker.wait * 2, LONGEST_WAIT)
            failed = breaker.failed_probes + 1
            return _next(breaker, event, State.OPEN, until=event.at + wait, wait=wait, failed_probes=failed)
    return breaker


def _next(
    breaker: Breaker,
    event: Event,
    state: State,
    *,
    until: datetime | None,
    wait: timedelta | None = None,
    failed_probes: int | None = None,
) -> Breaker:
    return Breaker(
        state=state,
        version=breaker.version + 1,
        since=event.at,
        until=until,
        wait=breaker.wait if wait is None else wait,
        failed_probes=breaker.failed_probes if failed_probes is None else failed_probes,
        why=event.why,
        # A probe is nobody's news, and the mapping is disabled already.
        settled=state is State.HALF_OPEN,
    )
