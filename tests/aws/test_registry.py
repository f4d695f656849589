"""The schema registry: changes on condition, and what people decided stays."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from leanops.aws import settings
from leanops.aws.registry import Change, Entry, Registry, RegistryMoved
from leanops.core.errors import InvalidName
from tests.emulator import Aws


@pytest.fixture
def registry(aws: Aws) -> Iterator[Registry]:
    environment = aws.environment()
    aws.client("dynamodb").create_table(
        TableName=environment.schema_registry,
        KeySchema=[{"AttributeName": "topic_name", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "topic_name", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    settings.reset()
    yield Registry(environment)
    settings.reset()


def ready(registry: Registry) -> Entry:
    change = Change(set={"status": "READY", "schema_version": "1.0.0"}, default={"processing_enabled": True})
    return registry.revise("orders", lambda _: change)


def test_an_unknown_topic_is_none(registry: Registry) -> None:
    assert registry.get("orders") is None


def test_a_name_that_is_no_topic_reaches_no_table(registry: Registry) -> None:
    with pytest.raises(InvalidName):
        registry.get("Orders'; --")


def test_a_discovered_topic_is_closed_and_found_once(registry: Registry) -> None:
    assert registry.discover("orders")
    assert not registry.discover("orders")
    entry = registry.get("orders")
    assert entry is not None
    assert (entry.status, entry.processing_enabled, entry.is_open) == ("DISCOVERED", None, False)


def test_discovery_leaves_a_known_topic_alone(registry: Registry) -> None:
    ready(registry)
    assert not registry.discover("orders")
    entry = registry.get("orders")
    assert entry is not None
    assert entry.is_open


@pytest.mark.parametrize(
    ("entry", "is_open"),
    [
        (Entry("t", "READY", True), True),
        (Entry("t", "READY", False), False),
        (Entry("t", "READY", None), False),
        (Entry("t", "READY", True, maintenance=True), False),
        (Entry("t", "ERROR", True), False),
        (Entry("t", "DISCOVERED", True), False),
        (Entry("t"), False),
    ],
)
def test_a_topic_is_open_only_when_all_agree(entry: Entry, is_open: bool) -> None:
    assert entry.is_open is is_open


def test_a_pause_outlasts_defaults_and_ends_by_resume(registry: Registry) -> None:
    ready(registry)
    paused = registry.pause("orders", "ada", "source is being moved")
    assert paused.paused is not None
    assert (paused.is_open, paused.paused["by"]) == (False, "ada")
    assert not ready(registry).is_open
    resumed = registry.resume("orders")
    assert (resumed.is_open, resumed.paused) == (True, None)


def test_resume_does_not_open_a_topic_without_a_contract(registry: Registry) -> None:
    registry.discover("orders")
    registry.pause("orders", "ada", "not yet")
    resumed = registry.resume("orders")
    assert (resumed.is_open, resumed.processing_enabled) == (False, None)


def test_maintenance_closes_and_opens(registry: Registry) -> None:
    ready(registry)
    assert not registry.set_maintenance("orders", True).is_open
    assert registry.set_maintenance("orders", False).is_open


def test_attributes_of_others_and_edits_by_hand_stay(aws: Aws, registry: Registry) -> None:
    registry.discover("orders")
    aws.client("dynamodb").update_item(
        TableName=registry.table,
        Key={"topic_name": {"S": "orders"}},
        UpdateExpression="SET processing_enabled = :no, ticket = :t",
        ExpressionAttributeValues={":no": {"BOOL": False}, ":t": {"S": "OPS-1"}},
    )
    assert not ready(registry).is_open
    item = aws.client("dynamodb").get_item(TableName=registry.table, Key={"topic_name": {"S": "orders"}})["Item"]
    assert item["ticket"] == {"S": "OPS-1"}


def test_none_leaves_the_item_as_it_is(registry: Registry) -> None:
    before = ready(registry)
    assert registry.revise("orders", lambda _: None) == before


def test_a_change_that_was_overtaken_is_asked_again(registry: Registry) -> None:
    ready(registry)
    seen: list[int] = []

    def change(entry: Entry) -> Change:
        seen.append(entry.revision)
        if len(seen) == 1:
            registry.set_maintenance("orders", True)
        return Change(set={"schema_version": f"1.0.{entry.revision}"})

    after = registry.revise("orders", change)
    assert seen == [1, 2]
    assert (after.schema_version, after.maintenance, after.revision) == ("1.0.2", True, 3)


def test_a_change_that_is_always_overtaken_is_given_up(registry: Registry) -> None:
    def change(_: Entry) -> Change:
        registry.set_maintenance("orders", True)
        return Change(set={"status": "READY"})

    with pytest.raises(RegistryMoved):
        registry.revise("orders", change)


def test_no_change_made_side_by_side_is_lost(registry: Registry) -> None:
    def grow(_: int) -> None:
        registry.revise("orders", lambda e: Change(set={"schema_version": str(int(e.schema_version or 0) + 1)}))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(grow, range(12)))
    entry = registry.get("orders")
    assert entry is not None
    assert (entry.schema_version, entry.revision) == ("12", 12)


def test_maps_come_back_as_they_were(registry: Registry) -> None:
    request = {"from_version": "1.0.0", "changes": ["a", "b"], "blocked_columns": []}
    after = registry.revise("orders", lambda _: Change(set={"rebuild_requested": request}))
    assert after.rebuild_requested == request
    assert registry.revise("orders", lambda _: Change(remove=("rebuild_requested",))).rebuild_requested is None
