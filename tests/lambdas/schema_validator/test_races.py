"""Uploads and runs side by side, disturbed and killed: the stores agree in the end, and no accepted contract is lost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from lambdas.schema_validator.validation import Outcome
from leanops.core import layout
from leanops.core.naming import Environment
from tests.lambdas.schema_validator.faults import Jitter, Killed, injected
from tests.lambdas.schema_validator.world import Document, World


def assert_consistent(world: World) -> None:
    """Everything derived tells of what lies in active/ and failed/."""
    active = world.contracts.read(world.names, "active")
    failed = world.contracts.read(world.names, "failed")
    entry = world.registry.get(world.topic)
    rows = {row["contract_sha256"]: row for row in world.rows(layout.SCHEMA_VERSIONS.table)}
    assert len(rows) == len(world.rows(layout.SCHEMA_VERSIONS.table))
    assert world.object("pending") is None
    assert entry is not None
    if active is not None:
        version = json.loads(active.content)["schema_version"]
        assert (entry.status, entry.contract_sha256, entry.schema_version) == ("READY", active.sha256, version)
        assert [digest for digest, row in rows.items() if row["status"] == "active"] == [active.sha256]
        (topic,) = world.rows(layout.TOPIC_REGISTRY.table)
        assert topic["schema_version"] == version
        assert set(layout_columns(world, active.content)) <= set(world.schema(world.names.curated_table))
    if failed is not None:
        assert world.error()["contract_sha256"] == failed.sha256
        assert rows[failed.sha256]["status"] in {"failed", "archived", "active"}
    archived = set(world.archived().values())
    for row in rows.values():
        if row["status"] == "archived":
            assert row["contract"].encode() in archived
    told = {row["contract"].encode() for row in rows.values() if row["status"] == "archived"}
    assert archived - {active.content if active else b""} == told
    assert_drift_is_told_once(world)


def assert_drift_is_told_once(world: World) -> None:
    rows = [(row["column_name"], row["details"]) for row in world.rows(layout.DRIFT_LOG.table)]
    assert len(rows) == len(set(rows))


def layout_columns(world: World, content: bytes) -> list[str]:
    return [column["name"] for column in json.loads(content)["payload_columns"]]


def contract_number(world: World, number: int) -> Document:
    """Contracts that add a column each; any of them may follow any lower one of the same columns."""
    contract = world.contract(f"1.{number}.0")
    extra = [{"name": f"extra{n}", "json_path": f"$.extra{n}", "type": "STRING"} for n in range(number)]
    return contract | {"payload_columns": [*contract["payload_columns"], *extra]}


def test_runs_side_by_side_on_one_upload_do_its_work_once(world: World) -> None:
    world.handle(contract_number(world, 1))
    world.upload(contract_number(world, 2))
    with injected(Jitter(1, kills=False)), ThreadPoolExecutor(4) as pool:
        outcomes = [future.result() for future in [pool.submit(world.validate) for _ in range(4)]]
    assert {outcome.verdict for outcome in outcomes} <= {"active", "nothing"}
    assert_consistent(world)
    assert world.versions() == {"1.1.0": "archived", "1.2.0": "active"}


def test_runs_side_by_side_on_one_refused_upload_agree(world: World) -> None:
    world.upload(b"{")
    with injected(Jitter(2, kills=False)), ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda _: world.validate(), range(3)))
    assert_consistent(world)
    assert world.object("active") is None


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kills", [False, True])
def test_uploads_that_meet_end_in_one_consistent_state(environment: Environment, seed: int, kills: bool) -> None:
    """Good and bad uploads by several people at once; every event comes, some runs die, every event comes again."""
    world = World(environment)

    def come(number: int) -> Outcome | None:
        world.upload(b"{" if number == 0 else contract_number(world, number))
        with suppress(Killed):
            return world.validate()
        return None

    with injected(Jitter(seed, kills)), ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(come, [1, 2, 0, 3]))
    for _ in range(4):
        world.validate()
    assert_consistent(world)
    accepted = {outcome.schema_version for outcome in outcomes if outcome and outcome.verdict == "active"}
    assert accepted <= {v for v, status in world.versions().items() if status in {"active", "archived"}}


def test_topics_that_are_onboarded_at_once_do_not_disturb_each_other(environment: Environment) -> None:
    worlds = [World(environment) for _ in range(4)]
    for world in worlds:
        world.upload(contract_number(world, 1))
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(World.validate, worlds))
    assert [outcome.verdict for outcome in outcomes] == ["active"] * 4
    for world in worlds:
        assert_consistent(world)
