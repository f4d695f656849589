"""What runs left behind that died after somebody else had taken the upload away."""

from __future__ import annotations

import json
from typing import Any

from lambdas.schema_validator import history
from leanops.core import layout
from tests.lambdas.schema_validator.test_races import assert_consistent
from tests.lambdas.schema_validator.world import World, event

MOMENT = "2126-11-18T10:00:00.000000Z"


def put_in_force(world: World, contract: dict[str, Any]) -> None:
    """As a run does that dies in the next moment."""
    active = world.contracts.read(world.names, "active")
    assert active is not None
    file = history.archive_file(active)
    world.contracts.archive(world.names, active, file)
    notes = {"former": file, "submitted-at": MOMENT, "decided-at": MOMENT}
    assert world.contracts.put_active(world.names, json.dumps(contract).encode(), active, notes)


def late_event(world: World) -> dict[str, Any]:
    return event(world.contracts.bucket, world.names.schema_key("pending"))


def test_a_refusal_that_was_not_told_is_told_by_a_late_event(world: World) -> None:
    world.handle(world.contract())
    world.contracts.put_failed(world.names, b"{", {"submitted-at": MOMENT, "decided-at": MOMENT})
    assert world.deliver(late_event(world))["verdict"] == "nothing"
    failed = world.contracts.read(world.names, "failed")
    assert failed is not None
    assert (world.error()["contract_sha256"], len(world.error()["faults"])) == (failed.sha256, 1)
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert entry.last_error is not None
    assert (entry.status, entry.last_error["contract_sha256"]) == ("READY", failed.sha256)


def test_contracts_that_no_run_has_registered_are_registered_by_a_late_event(world: World) -> None:
    """The way from the contract that the registry knows to the active one is longer than a step, and breaks."""
    world.handle(world.contract())
    approval = {"from_version": "1.0.0", "approved_by": "ada", "reason": "meant"}
    second = world.contract("2.0.0", approve_breaking=approval)
    del second["payload_columns"][4]
    put_in_force(world, second)
    put_in_force(world, {**second, "schema_version": "2.0.1", "owner": {"team": "others", "email": "o@example.com"}})
    assert world.deliver(late_event(world))["verdict"] == "nothing"
    assert world.versions() == {"1.0.0": "archived", "2.0.0": "archived", "2.0.1": "active"}
    rows = {row["schema_version"]: row for row in world.rows(layout.SCHEMA_VERSIONS.table)}
    assert (rows["2.0.0"]["level"], rows["2.0.0"]["approved_by"]) == ("breaking", "ada")
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert entry.rebuild_requested is not None
    assert (entry.rebuild_requested["from_version"], entry.rebuild_requested["to_version"]) == ("1.0.0", "2.0.1")
    assert_consistent(world)


def test_an_error_file_that_tells_of_another_upload_is_written_again(world: World) -> None:
    world.handle(b"{")
    world.contracts.put_failed(world.names, b"[]", {"submitted-at": MOMENT, "decided-at": MOMENT})
    world.deliver(late_event(world))
    failed = world.contracts.read(world.names, "failed")
    assert failed is not None
    assert (world.error()["contract_sha256"], world.error()["decided_at"]) == (failed.sha256, MOMENT)
