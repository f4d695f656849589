"""The breakers on the local AWS: mapping, table and people agree at the end, whatever fails or runs at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest

from lambdas.circuit_breaker import handler as handler_module
from lambdas.circuit_breaker.breaker import FIRST_WAIT, SETTLING, Event, Kind, after
from lambdas.circuit_breaker.breakers import Breakers
from lambdas.circuit_breaker.handler import UnreadableEvent, UnsettledBreakers, handler
from lambdas.circuit_breaker.probe import Verdict
from lambdas.circuit_breaker.store import Store
from leanops.aws import moments
from leanops.core.naming import Environment
from tests.aws.deployment import Context, Deployment
from tests.lambdas.circuit_breaker import processor

TICK = {"source": "aws.events", "detail-type": "Scheduled Event"}


class Clock:
    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return moments.EPOCH + timedelta(seconds=time.time()) + self.ahead


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()

    class Timed(Breakers):
        def __init__(self, environment: Environment, seconds_left: Any) -> None:
            super().__init__(environment, seconds_left, found)

    monkeypatch.setattr(handler_module, "Breakers", Timed)
    return found


@pytest.fixture
def here(deployment: Deployment) -> Iterator[Deployment]:
    processor.make(deployment)
    yield deployment
    processor.remove(deployment)


def alarm(here: Deployment, topic: str = "alpha", state: str = "ALARM") -> dict[str, Any]:
    return handler({"Records": [processor.notice(here.environment, topic, state)]}, Context())


def tick() -> dict[str, Any]:
    return handler(TICK, Context())


def state(here: Deployment) -> list[tuple[str, str, bool]]:
    return [(item["name"], item["state"], item["settled"]) for item in here.items(here.environment.circuit_breakers)]


def send(here: Deployment, *bodies: str) -> None:
    url = here.url(here.environment.topic("alpha").queue)
    for body in bodies:
        here.client("sqs").send_message(QueueUrl=url, MessageBody=body)


def left(here: Deployment) -> list[str]:
    """What is in the queue, once hidden messages have come back."""
    queue = here.environment.topic("alpha").queue
    url = here.url(queue)
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        counts = here.client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        if counts["ApproximateNumberOfMessagesNotVisible"] == "0":
            break
        time.sleep(0.2)
    return sorted(message["Body"] for message in here.messages(queue))


def test_an_alarm_stops_its_topic_and_no_other(here: Deployment) -> None:
    assert processor.states(here) == {"alpha": True, "beta_2": True}
    assert alarm(here)["transitions"] == ["alpha: closed → open"]
    assert processor.states(here) == {"alpha": False, "beta_2": True}
    ((subject, text),) = here.notifications()
    assert subject == f"[{here.environment.name}] alpha is stopped"
    assert "12 % over 5 %" in text
    (item,) = here.items(here.environment.circuit_breakers)
    until = datetime.fromisoformat(item["until"]) - datetime.fromisoformat(item["since"])
    assert (item["state"], item["settled"], item["version"], until) == ("open", True, 1, FIRST_WAIT)


def test_more_alarms_and_their_end_change_nothing(here: Deployment) -> None:
    alarm(here)
    here.notifications()
    for word in ("ALARM", "OK", "INSUFFICIENT_DATA"):
        assert alarm(here, state=word)["transitions"] == []
    assert (state(here), here.notifications()) == ([("alpha", "open", True)], [])
    assert not processor.states(here)["alpha"]


def test_a_passed_probe_takes_the_batch_and_lets_the_topic_go_on(here: Deployment, clock: Clock) -> None:
    alarm(here)
    send(here, "good", "good")
    assert tick()["transitions"] == []
    clock.ahead = FIRST_WAIT
    assert tick()["transitions"] == ["alpha: open → half_open", "alpha: half_open → closed"]
    assert left(here) == []
    assert processor.states(here) == {"alpha": True, "beta_2": True}
    assert [subject for subject, _ in here.notifications()][-1] == f"[{here.environment.name}] alpha goes on"
    assert state(here) == [("alpha", "closed", True)]
    assert tick()["transitions"] == []


@pytest.mark.parametrize("bodies", [("fail", "fail", "good"), ("crash", "good")])
def test_a_failed_probe_waits_twice_as_long(
    here: Deployment, clock: Clock, bodies: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lambdas.circuit_breaker.probe.VISIBILITY_SECONDS", 1)
    alarm(here)
    send(here, *bodies)
    clock.ahead = FIRST_WAIT
    assert tick()["transitions"] == ["alpha: open → half_open", "alpha: half_open → open"]
    (item,) = here.items(here.environment.circuit_breakers)
    assert (item["wait_seconds"], item["failed_probes"], item["settled"]) == (600, 1, True)
    assert not processor.states(here)["alpha"]
    # What the processor took is gone, the rest is there; a crash took nothing.
    assert left(here) == (["fail", "fail"] if "fail" in bodies else ["crash", "good"])
    clock.ahead = FIRST_WAIT * 2
    assert tick()["transitions"] == []


def test_a_single_bad_message_does_not_hold_its_topic_up(here: Deployment, clock: Clock) -> None:
    alarm(here)
    send(here, "good", "good", "fail")
    clock.ahead = FIRST_WAIT
    assert tick()["transitions"][-1] == "alpha: half_open → closed"


def test_an_empty_queue_passes(here: Deployment, clock: Clock) -> None:
    alarm(here)
    clock.ahead = FIRST_WAIT
    assert tick()["transitions"][-1] == "alpha: half_open → closed"
    assert "the queue is empty" in here.notifications()[-1][1]


@pytest.mark.parametrize(
    "operation", ["PUT /2015-03-31/event-source-mappings", "Action=Publish", "DynamoDB.UpdateItem"]
)
@pytest.mark.parametrize("fault", ["refuse", "lose"])
def test_a_fault_while_opening_is_made_up_for_by_the_schedule(
    here: Deployment, clock: Clock, operation: str, fault: Any
) -> None:
    # SNS puts the operation into the body: the only call by POST / without a target.
    name = "POST /" if operation == "Action=Publish" else operation
    here.proxy.spoil_once(name, fault)
    with pytest.raises(UnsettledBreakers, match="Cannot settle breakers, a step failed: alpha"):
        alarm(here)
    here.proxy.heal()
    assert state(here) in ([("alpha", "open", False)], [("alpha", "open", True)])

    # Not at once: whoever opened it may still be at it.
    tick()
    clock.ahead = SETTLING
    tick()
    assert state(here) == [("alpha", "open", True)]
    assert not processor.states(here)["alpha"]
    assert {subject for subject, _ in here.notifications()} == {f"[{here.environment.name}] alpha is stopped"}


@pytest.mark.parametrize("operation", ["PUT /2015-03-31/event-source-mappings", "POST /", "DynamoDB.UpdateItem"])
def test_a_fault_while_closing_is_made_up_for_by_the_schedule(here: Deployment, clock: Clock, operation: str) -> None:
    alarm(here)
    clock.ahead = FIRST_WAIT
    here.proxy.spoil_once(operation, "refuse")
    with pytest.raises(UnsettledBreakers):
        tick()
    here.proxy.heal()
    assert state(here) == [("alpha", "closed", False)]
    clock.ahead = FIRST_WAIT + SETTLING
    tick()
    assert state(here) == [("alpha", "closed", True)]
    assert processor.states(here)["alpha"]


def test_a_lost_probe_is_made_again(here: Deployment, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    alarm(here)
    clock.ahead = FIRST_WAIT

    def die(_: object, topic: str) -> Verdict:
        raise RuntimeError(topic)

    with monkeypatch.context() as patch:
        patch.setattr("lambdas.circuit_breaker.probe.Probe.run", die)
        with pytest.raises(UnsettledBreakers):
            tick()
    assert state(here) == [("alpha", "half_open", True)]
    assert tick()["transitions"] == []
    clock.ahead = FIRST_WAIT * 2 + timedelta(seconds=5)
    assert tick()["transitions"] == ["alpha: half_open → half_open", "alpha: half_open → closed"]
    assert processor.states(here)["alpha"]


def test_alarms_and_probes_at_once_end_in_one_state(here: Deployment, clock: Clock) -> None:
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda _: alarm(here), range(6)))
    assert [move for answer in answers for move in answer["transitions"]] == ["alpha: closed → open"]
    assert len(here.notifications()) == 1
    assert not processor.states(here)["alpha"]

    clock.ahead = FIRST_WAIT
    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(lambda place: tick() if place % 2 else alarm(here), range(6)))
    moves = [move for answer in answers for move in answer["transitions"]]
    assert moves.count("alpha: open → half_open") == moves.count("alpha: half_open → closed") == 1
    # An alarm after the closing may have opened it again: table and mapping agree on that.
    ((_, word, settled),) = state(here)
    assert settled
    assert processor.states(here)["alpha"] == (word == "closed")


def test_of_two_moves_from_the_same_state_one_is_written(deployment: Deployment) -> None:
    store, now = Store(deployment.environment), moments.now()
    for kind in (Kind.ALARM, Kind.TICK, Kind.PROBE_FAILED):
        before = store.read("alpha")
        first, second = (
            after(before, Event(kind, before.until or now, why, before.version)) for why in ("first", "second")
        )
        assert (store.write("alpha", first), store.write("alpha", second)) == (True, False)
        assert store.read("alpha") == first
        assert not store.settle("alpha", before.version)
    assert store.settle("alpha", 3)


def test_a_mapping_that_somebody_enabled_while_open_is_disabled_again(here: Deployment) -> None:
    alarm(here)
    functions = here.client("lambda")
    queue = here.queue_arn(here.environment.topic("alpha").queue)
    (mapping,) = functions.list_event_source_mappings(EventSourceArn=queue)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)
    tick()
    assert not processor.states(here)["alpha"]


def test_an_alarm_of_a_topic_without_a_mapping_leaves_no_breaker(here: Deployment) -> None:
    with pytest.raises(UnsettledBreakers, match="its queue has no event source mapping"):
        alarm(here, "gamma")
    assert state(here) == []


def test_one_topics_trouble_does_not_keep_the_others_from_being_stopped(here: Deployment) -> None:
    records = [processor.notice(here.environment, topic) for topic in ("gamma", "alpha")]
    with pytest.raises(UnsettledBreakers, match="gamma"):
        handler({"Records": [*records, {"Sns": {}}]}, Context())
    assert state(here) == [("alpha", "open", True)]


def test_a_function_with_too_short_a_time_says_so(here: Deployment, clock: Clock) -> None:
    alarm(here)
    clock.ahead = FIRST_WAIT
    with pytest.raises(UnsettledBreakers, match="Give the function a timeout of some minutes"):
        handler(TICK, Context(30))
    assert state(here) == [("alpha", "open", True)]


@pytest.mark.parametrize("event", [{}, [], None, {"action": "destroy"}, {"Records": None}])
def test_any_other_event_is_refused(deployment: Deployment, event: object) -> None:
    with pytest.raises(UnreadableEvent, match="Cannot act"):
        handler(event, Context())
