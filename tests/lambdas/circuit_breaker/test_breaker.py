"""The transitions: every state with every event, and any sequence of them."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.circuit_breaker.breaker import (
    FIRST_WAIT,
    LONGEST_WAIT,
    PROBE_LEASE,
    SETTLING,
    Breaker,
    Event,
    Kind,
    State,
    after,
)

NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)

# (state, event, the wait is over, the probe is this one's) → state after; what is not here changes nothing.
MOVES = {
    (State.CLOSED, Kind.ALARM, False, False): State.OPEN,
    (State.CLOSED, Kind.ALARM, False, True): State.OPEN,
    (State.CLOSED, Kind.ALARM, True, False): State.OPEN,
    (State.CLOSED, Kind.ALARM, True, True): State.OPEN,
    (State.OPEN, Kind.TICK, True, False): State.HALF_OPEN,
    (State.OPEN, Kind.TICK, True, True): State.HALF_OPEN,
    (State.HALF_OPEN, Kind.TICK, True, False): State.HALF_OPEN,
    (State.HALF_OPEN, Kind.TICK, True, True): State.HALF_OPEN,
    (State.HALF_OPEN, Kind.PROBE_PASSED, False, True): State.CLOSED,
    (State.HALF_OPEN, Kind.PROBE_PASSED, True, True): State.CLOSED,
    (State.HALF_OPEN, Kind.PROBE_FAILED, False, True): State.OPEN,
    (State.HALF_OPEN, Kind.PROBE_FAILED, True, True): State.OPEN,
}


@pytest.mark.parametrize(
    ("state", "kind", "is_over", "is_own"), list(itertools.product(State, Kind, (False, True), (False, True)))
)
def test_every_state_with_every_event(state: State, kind: Kind, is_over: bool, is_own: bool) -> None:
    until = NOW if is_over else NOW + SECOND
    before = Breaker(state, version=7, since=NOW - SECOND, until=until, wait=FIRST_WAIT, failed_probes=2, why="old")
    breaker = after(before, Event(kind, NOW, "new", 7 if is_own else 6))
    expected = MOVES.get((state, kind, is_over, is_own))
    if expected is None:
        assert breaker is before
    else:
        assert (breaker.state, breaker.version, breaker.since) == (expected, 8, NOW)
        assert breaker.settled is (expected is State.HALF_OPEN)


def test_the_wait_doubles_with_each_failed_probe_up_to_its_limit_and_starts_anew_once_closed() -> None:
    breaker = after(Breaker(), Event(Kind.ALARM, NOW, "errors"))
    assert (breaker.until, breaker.why) == (NOW + FIRST_WAIT, "errors")
    waits, now = [], NOW
    for _ in range(9):
        now = breaker.until or now
        probing = after(breaker, Event(Kind.TICK, now))
        breaker = after(probing, Event(Kind.PROBE_FAILED, now, "still", probing.version))
        waits.append(breaker.wait)
        assert breaker.until == now + breaker.wait
    assert waits == [min(FIRST_WAIT * 2**place, LONGEST_WAIT) for place in range(1, 10)]
    assert breaker.failed_probes == 9

    probing = after(breaker, Event(Kind.TICK, breaker.until or now))
    closed = after(probing, Event(Kind.PROBE_PASSED, now, "fine", probing.version))
    assert (closed.until, closed.wait, closed.failed_probes) == (None, FIRST_WAIT, 0)


def test_a_probe_that_got_lost_is_made_again_and_its_late_answer_is_ignored() -> None:
    lost = after(Breaker(State.OPEN, version=1, until=NOW), Event(Kind.TICK, NOW))
    assert after(lost, Event(Kind.TICK, NOW + PROBE_LEASE - SECOND)) is lost
    second = after(lost, Event(Kind.TICK, NOW + PROBE_LEASE))
    assert second.version == lost.version + 1
    assert after(second, Event(Kind.PROBE_PASSED, NOW, "late", lost.version)) is second


def test_a_transition_is_left_to_its_writer_for_a_minute() -> None:
    breaker = after(Breaker(), Event(Kind.ALARM, NOW))
    assert not breaker.is_left_unsettled(NOW + SETTLING - SECOND)
    assert breaker.is_left_unsettled(NOW + SETTLING)


EDGES = {
    (State.CLOSED, State.OPEN),
    (State.OPEN, State.HALF_OPEN),
    (State.HALF_OPEN, State.HALF_OPEN),
    (State.HALF_OPEN, State.OPEN),
    (State.HALF_OPEN, State.CLOSED),
}


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(Kind), st.integers(0, 20_000), st.integers(-1, 1))))
def test_any_sequence_of_events_keeps_to_the_edges(events: list[tuple[Kind, int, int]]) -> None:
    breaker, now = Breaker(), NOW
    for kind, seconds, offset in events:
        now += timedelta(seconds=seconds)
        before, breaker = breaker, after(breaker, Event(kind, now, "", breaker.version + offset))
        assert FIRST_WAIT <= breaker.wait <= LONGEST_WAIT
        assert (breaker.until is None) == (breaker.state is State.CLOSED)
        assert breaker.lets_through == (breaker.state is State.CLOSED)
        if breaker is not before:
            assert (before.state, breaker.state) in EDGES
            assert breaker.version == before.version + 1
            if breaker.state is State.HALF_OPEN:
                assert before.until is not None
                assert now >= before.until
