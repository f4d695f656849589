"""Leases on the local AWS: races, expiry, clocks that go wrong, lost answers, throttling."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

import pytest
from botocore.exceptions import ClientError

from leanops.aws.items import TRIES
from leanops.aws.leases import MARGIN, SECONDS, Held, Lease, Leases, Lost
from tests.aws.state import State, Way, state_of
from tests.emulator import Aws

HOUR = 3600.0


@pytest.fixture(scope="module")
def shared(aws: Aws) -> Iterator[State]:
    with state_of(aws) as found:
        yield found


@pytest.fixture
def state(shared: State) -> State:
    return shared.fresh()


def leases(state: State, clock_off: float = 0.0, client: Any = None) -> Leases:
    return Leases(
        state.environment,
        client or state.once("dynamodb"),
        clock=lambda: time.time() + clock_off,
        pause=state.pauses.append,
    )


def taken(state: State, owner: str = "run-1", **kwargs: Any) -> Lease:
    found = leases(state, **kwargs).acquire(state.names, owner)
    assert isinstance(found, Lease)
    return found


def item(state: State) -> dict[str, Any]:
    found = state.item(state.environment.locks, lock_id=state.names.lease())
    assert found is not None
    return found


def test_a_free_lease_is_taken_and_the_next_one_is_told_by_whom_and_until_when(state: State) -> None:
    lease = taken(state)
    assert (lease.topic, lease.owner) == (state.topic, "run-1")
    assert lease.until == pytest.approx(time.time() + SECONDS, abs=5)
    found = leases(state).acquire(state.names, "run-2")
    assert found == Held(state.topic, "run-1", lease.fencing, lease.until + MARGIN)
    assert str(found).startswith(f"{state.topic} is held by run-1 until 20")
    assert leases(state).holder(state.names) == found
    assert item(state)["lock_id"] == f"topic#{state.topic}"
    assert item(state)["owner"] == "run-1"


def test_topics_do_not_meet(state: State) -> None:
    taken(state)
    assert isinstance(leases(state).acquire(state.fresh().names, "run-2"), Lease)


def test_the_owner_takes_it_again_under_the_same_token(state: State) -> None:
    lease = taken(state)
    again = taken(state)
    assert again.fencing == lease.fencing
    assert again.until >= lease.until


def test_of_many_at_once_one_gets_it(state: State) -> None:
    client = state.once("dynamodb")
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda n: leases(state, client=client).acquire(state.names, f"run-{n}"), range(12)))
    winners = [each for each in found if isinstance(each, Lease)]
    assert len(winners) == 1
    assert {each.by for each in found if isinstance(each, Held)} == {winners[0].owner}


def test_of_many_at_an_expired_one_one_gets_it(state: State) -> None:
    taken(state, "dead")
    state.proxy.shift = SECONDS + MARGIN + 5
    client = state.once("dynamodb")
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda n: leases(state, client=client).acquire(state.names, f"run-{n}"), range(12)))
    assert sum(isinstance(each, Lease) for each in found) == 1


def test_the_token_grows_with_every_holder(state: State) -> None:
    tokens = []
    for number in range(4):
        lease = taken(state, f"run-{number}")
        tokens.append(lease.fencing)
        assert leases(state).release(lease)
        assert "owner" not in item(state)
        assert item(state)["fencing"] == lease.fencing
    assert tokens == sorted(set(tokens))


def test_the_token_grows_even_where_the_item_was_deleted(state: State) -> None:
    first = taken(state)
    state.client("dynamodb").delete_item(TableName=state.environment.locks, Key={"lock_id": {"S": state.names.lease()}})
    assert taken(state, "run-2").fencing > first.fencing


def test_the_token_grows_even_where_the_services_clock_went_back(state: State) -> None:
    state.proxy.shift = HOUR
    first = taken(state)
    assert leases(state).release(first)
    state.proxy.shift = 0
    assert taken(state, "run-2").fencing == first.fencing + 1


# Expiry and clocks


def test_an_expired_lease_is_taken_only_after_the_margin(state: State) -> None:
    lease = taken(state, "dead")
    state.proxy.shift = SECONDS + MARGIN - 10
    assert isinstance(leases(state).acquire(state.names, "run-2"), Held)
    state.proxy.shift = SECONDS + MARGIN + 5
    heir = taken(state, "run-2")
    assert heir.fencing > lease.fencing
    assert leases(state).renew(lease) == Lost(state.topic, "run-2", heir.fencing)
    assert leases(state).release(lease) is False
    assert item(state)["owner"] == "run-2"


@pytest.mark.parametrize("clock_off", [-HOUR, HOUR])
def test_a_taker_with_a_wrong_clock_does_not_take_what_is_held(state: State, clock_off: float) -> None:
    taken(state)
    assert isinstance(leases(state, clock_off).acquire(state.names, "run-2"), Held)


@pytest.mark.parametrize("clock_off", [-HOUR, HOUR])
def test_a_holder_with_a_wrong_clock_holds_it_as_long_as_any_other(state: State, clock_off: float) -> None:
    lease = taken(state, clock_off=clock_off)
    assert lease.until == pytest.approx(time.time() + SECONDS, abs=5)
    assert isinstance(leases(state).acquire(state.names, "run-2"), Held)
    renewed = leases(state, clock_off).renew(lease)
    assert isinstance(renewed, Lease)
    assert renewed.until == pytest.approx(time.time() + SECONDS, abs=5)
    state.proxy.shift = SECONDS + MARGIN + 10
    assert isinstance(leases(state).acquire(state.names, "run-2"), Lease)


# Renewal and release


def test_a_renewal_holds_it_longer(state: State) -> None:
    lease = taken(state)
    state.proxy.shift = 200
    renewed = leases(state).renew(lease)
    assert isinstance(renewed, Lease)
    assert renewed.until == pytest.approx(lease.until + 200, abs=5)
    assert renewed.fencing == lease.fencing
    state.proxy.shift = SECONDS + MARGIN + 10
    assert isinstance(leases(state).acquire(state.names, "run-2"), Held)


def test_a_renewal_never_shortens(state: State) -> None:
    lease = leases(state).acquire(state.names, "run-1", 900)
    assert isinstance(lease, Lease)
    assert leases(state).renew(lease, 60) == lease


def test_an_expired_lease_that_nobody_took_is_renewed(state: State) -> None:
    lease = taken(state)
    state.proxy.shift = HOUR
    assert isinstance(leases(state).renew(lease), Lease)
    assert isinstance(leases(state).acquire(state.names, "run-2"), Held)


def test_a_lease_travels_as_a_document(state: State) -> None:
    lease = Lease(**asdict(taken(state)))
    assert isinstance(leases(state).renew(lease), Lease)
    assert leases(state).release(lease)


def test_a_lease_that_is_gone_is_lost_to_nobody(state: State) -> None:
    lease = taken(state)
    assert leases(state).release(lease)
    assert leases(state).renew(lease) == Lost(state.topic, None, lease.fencing)
    assert leases(state).release(lease) is True


def test_a_former_lease_of_the_same_owner_does_not_free_the_later_one(state: State) -> None:
    former = taken(state)
    leases(state).release(former)
    taken(state)
    assert leases(state).release(former) is False
    assert item(state)["owner"] == "run-1"


# Breaking


def test_a_broken_lease_is_free_and_says_who_broke_it(state: State) -> None:
    lease = taken(state)
    found = leases(state).force_release(state.names, reason="worker is gone", by="maria")
    assert found == Held(state.topic, "run-1", lease.fencing, lease.until + MARGIN)
    broken = item(state)["broken"]
    assert (broken["by"], broken["reason"], broken["owner"]) == ("maria", "worker is gone", "run-1")
    assert isinstance(leases(state).renew(lease), Lost)
    assert taken(state, "run-2").fencing > lease.fencing


def test_a_free_lease_is_not_broken(state: State) -> None:
    assert leases(state).force_release(state.names, reason="x", by="maria") is None
    lease = taken(state)
    leases(state).release(lease)
    assert leases(state).force_release(state.names, reason="x", by="maria") is None
    assert "broken" not in item(state)


@pytest.mark.parametrize(
    "edit",
    [
        {"owner": "run-0"},
        {"owner": "run-0", "fencing": "many", "expires_at": "tomorrow"},
        {"fencing": 7},
        {"note": "hello"},
    ],
)
def test_an_item_that_somebody_edited_is_no_obstacle(state: State, edit: dict[str, Any]) -> None:
    state.put(state.environment.locks, lock_id=state.names.lease(), **edit)
    assert taken(state).fencing > 7


# Lost answers and throttling


@pytest.mark.parametrize("way", ["cut", "throttled", "broken", "garbage"])
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_lease_whose_answer_got_lost_is_recognised(state: State, way: Way, attempts: int) -> None:
    """With one attempt the store itself asks again, with three boto3 does."""
    from leanops.aws import settings

    client = settings.client("dynamodb", attempts=attempts)
    state.proxy.way = way
    state.proxy.spoil_once("UpdateItem", "lose")
    lease = taken(state, client=client)
    assert state.proxy.calls.count("DynamoDB.UpdateItem") == 2
    assert (lease.owner, lease.fencing) == (item(state)["owner"], item(state)["fencing"])
    # Its renewal, release and breaking as well.
    state.proxy.spoil_once("UpdateItem", "lose")
    assert isinstance(leases(state, client=client).renew(lease), Lease)
    state.proxy.spoil_once("UpdateItem", "lose")
    assert leases(state, client=client).release(lease) is True
    taken(state, client=client)
    state.proxy.spoil_once("UpdateItem", "lose")
    assert leases(state, client=client).force_release(state.names, reason="x", by="maria") is not None
    assert "owner" not in item(state)


def test_a_task_that_died_with_the_answer_finds_its_lease_when_tried_again(state: State) -> None:
    state.proxy.spoil_once("UpdateItem", "lose")
    with pytest.raises(ClientError, match="AccessDenied"):
        taken(state)
    stored = item(state)["fencing"]
    state.proxy.heal()
    assert taken(state).fencing == stored


def test_a_break_whose_answer_got_lost_does_not_break_the_heirs_lease(state: State) -> None:
    taken(state)
    state.proxy.way = "cut"

    def meanwhile(_: float) -> None:
        taken(state, "heir")

    state.proxy.spoil_once("UpdateItem", "lose")
    breaker = Leases(state.environment, state.once("dynamodb"), pause=meanwhile)
    found = breaker.force_release(state.names, reason="x", by="maria")
    assert found is not None
    assert found.by == "run-1"
    assert item(state)["owner"] == "heir"


def test_throttling_is_waited_for(state: State) -> None:
    state.proxy.way = "throttled"
    refused = iter(["refuse"] * (TRIES - 1))
    state.proxy.spoil(lambda call: next(refused, None))  # type: ignore[arg-type]
    assert taken(state).owner == "run-1"
    assert len(state.pauses) == TRIES - 1
    assert all(0 <= pause <= 3 for pause in state.pauses)


def test_throttling_without_end_is_told(state: State) -> None:
    state.proxy.way = "throttled"
    state.proxy.spoil(lambda call: "refuse")
    with pytest.raises(ClientError, match="ProvisionedThroughputExceeded"):
        taken(state)
    assert len(state.proxy.calls) == TRIES


def test_what_will_not_pass_is_not_tried_again(state: State) -> None:
    state.proxy.spoil(lambda call: "refuse")
    with pytest.raises(ClientError, match="AccessDenied"):
        taken(state)
    assert len(state.proxy.calls) == 1
