"""A run that dies at any call to AWS, and is then delivered again, leaves what an undisturbed run leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

import pytest

from leanops.core.naming import Environment
from tests.lambdas.schema_validator.faults import Faults, Killed, injected
from tests.lambdas.schema_validator.world import World

Scenario = Callable[[World], Any]
# An activation makes twenty to forty calls, a refusal ten: with fewer, the injection would have missed some.
FEWEST_CALLS = 10


def first(world: World) -> Any:
    return world.upload(world.contract())


def breaking(world: World) -> Any:
    """With everything a contract can ask for: columns, a promotion, another layout, a rebuild."""
    world.handle(world.contract())
    approval = {"from_version": "1.0.0", "approved_by": "ada", "reason": "meant"}
    contract = world.contract("2.0.0", approve_breaking=approval, partitioning={"buckets": 8})
    columns = contract["payload_columns"]
    columns[1]["type"] = "BIGINT"
    columns[4] = {"name": "extra", "json_path": "$.extra", "type": "STRING"}
    return world.upload(contract)


def refused(world: World) -> Any:
    world.handle(world.contract())
    return world.upload(world.contract("1.0.0", column_budget=100))


SCENARIOS = pytest.mark.parametrize("scenario", [first, breaking, refused])


@pytest.mark.parametrize("when", ["before", "after"])
@SCENARIOS
@pytest.mark.faults
def test_a_run_that_dies_anywhere_is_completed_by_the_next(
    environment: Environment, scenario: Scenario, when: str
) -> None:
    assert_completed(environment, scenario, when, count())


@SCENARIOS
def test_a_run_that_dies_at_every_seventh_call_is_completed_by_the_next(
    environment: Environment, scenario: Scenario
) -> None:
    """The quick part of the test above. An answer that got lost is the harder case: the call has been carried out."""
    assert_completed(environment, scenario, "after", count(3, 7))


def assert_completed(environment: Environment, scenario: Scenario, when: str, calls: Iterator[int]) -> None:
    # The shared tables are there once and for all.
    World(environment).handle(b"{")
    undisturbed = World(environment)
    undisturbed.deliver(scenario(undisturbed))
    expected = undisturbed.told()
    for at in calls:
        world = World(environment)
        upload = scenario(world)
        faults = Faults(at, when)
        with injected(faults), suppress(Killed):
            world.deliver(upload)
        if not faults.has_struck:
            assert at >= FEWEST_CALLS
            break
        world.deliver(upload)
        assert world.told() == expected, f"killed {when} call {at} of {faults.calls}"
