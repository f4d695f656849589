"""Uploads of every kind, and what the topic's stores say afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from leanops.core import layout
from leanops.core.naming import Environment
from tests.emulator import Aws
from tests.lambdas.schema_validator.world import World, event


def with_column(world: World, version: str, **column: Any) -> dict[str, Any]:
    contract = world.contract(version)
    new = {"name": "extra", "json_path": "$.extra", "type": "STRING", **column}
    return contract | {"payload_columns": [*contract["payload_columns"], new]}


@pytest.fixture
def mails(aws: Aws, environment: Environment) -> Iterator[Any]:
    """What subscribers of the deployment's SNS topic get."""
    sqs, sns = aws.client("sqs"), aws.client("sns")
    url = sqs.create_queue(QueueName=f"{environment.prefix}-mails")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    topic = f"arn:aws:sns:{environment.region}:{environment.account}:{environment.notifications}"
    subscription = sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arn)["SubscriptionArn"]

    def received() -> list[tuple[str, str]]:
        found = []
        while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                body = json.loads(message["Body"])
                found.append((body["Subject"], body["Message"]))
                sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return found

    yield received
    sns.unsubscribe(SubscriptionArn=subscription)
    sqs.delete_queue(QueueUrl=url)


def test_a_first_contract_makes_the_tables_and_opens_the_topic(world: World, mails: Any) -> None:
    contract = world.contract()
    assert world.handle(contract) == {"topic": world.topic, "verdict": "active", "schema_version": "1.0.0", "faults": 0}
    assert json.loads(world.object("active") or b"") == contract
    assert world.object("pending") is None
    assert world.archived() == {}
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert (entry.status, entry.processing_enabled, entry.maintenance) == ("READY", True, False)
    assert (entry.is_open, entry.schema_version, entry.last_error) == (True, "1.0.0", None)
    assert world.schema(world.names.curated_table)["amount"] == "decimal(18, 2)"
    assert world.schema(world.names.standardized_table)["amount"] == "string"
    assert world.schema(world.names.raw_table)["publish_time"] == "timestamptz"
    for shared in layout.ALL_SHARED:
        assert list(world.schema(shared.table)) == [field.name for field in shared.fields]
    (row,) = world.rows(layout.SCHEMA_VERSIONS.table)
    assert (row["status"], row["level"], row["contract_sha256"]) == ("active", None, entry.contract_sha256)
    assert json.loads(row["contract"]) == contract
    (known,) = world.rows(layout.TOPIC_REGISTRY.table)
    assert (known["status"], known["owner_team"], known["tier"]) == ("onboarded", "sensors", 3)
    ((subject, message),) = mails()
    assert subject == f"{world.topic}: contract 1.0.0 in force"
    assert "first" in message


def test_a_contract_without_payload_columns_has_no_curated_table(world: World) -> None:
    contract = world.contract()
    del contract["payload_columns"], contract["rules"]
    assert world.handle(contract)["verdict"] == "active"
    assert world.schema(world.names.standardized_table)
    assert world.schema(world.names.curated_table) == {}


def test_a_compatible_contract_follows_and_the_former_is_archived(world: World) -> None:
    first = world.contract()
    world.handle(first)
    second = with_column(world, "1.1.0")
    assert world.handle(second)["verdict"] == "active"
    assert json.loads(world.object("active") or b"") == second
    ((file, text),) = world.archived().items()
    assert file.startswith("1.0.0-")
    assert json.loads(text) == first
    assert world.schema(world.names.curated_table)["extra"] == "string"
    assert world.versions() == {"1.0.0": "archived", "1.1.0": "active"}
    rows = {row["schema_version"]: row for row in world.rows(layout.SCHEMA_VERSIONS.table)}
    assert rows["1.0.0"]["s3_key"] == world.names.schema_key("archive", file)
    assert rows["1.1.0"]["level"] == "enhancement with backfill"
    assert json.loads(rows["1.1.0"]["changes"])[0]["path"] == "payload_columns.extra"
    (drift,) = world.rows(layout.DRIFT_LOG.table)
    assert (drift["source_layer"], drift["column_name"], drift["action"]) == ("contract", "extra", "ADDED")
    assert (drift["_batch"], drift["json_path"], drift["new_value"]) == (None, '["extra"]', "STRING")


def test_a_column_that_may_be_wider_is_promoted_in_place(world: World) -> None:
    world.handle(world.contract())
    contract = world.contract("1.1.0")
    contract["payload_columns"][0]["type"] = "DECIMAL(20,2)"
    contract["payload_columns"][1]["type"] = "BIGINT"
    assert world.handle(contract)["verdict"] == "active"
    schema = world.schema(world.names.curated_table)
    assert (schema["amount"], schema["count"]) == ("decimal(20, 2)", "long")
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert entry.rebuild_requested is None


def test_other_buckets_and_file_sizes_reach_the_tables(world: World) -> None:
    world.handle(world.contract())
    changes = {"partitioning": {"history_months": 24, "buckets": 32}, "maintenance": {"target_file_mb": 128}}
    assert world.handle(world.contract("1.1.0", **changes))["verdict"] == "active"
    table = world.catalog._found(world.names.curated_table)
    assert table is not None
    assert [str(field.transform) for field in table.spec().fields] == ["identity", "bucket[32]"]
    assert table.properties["write.target-file-size-bytes"] == str(128 * 1024 * 1024)


def test_a_refused_first_contract_leaves_the_topic_closed(world: World, mails: Any) -> None:
    contract = world.contract()
    contract["payload_columns"][0]["type"] = "MONEY"
    contract["owner"]["email"] = "nobody"
    text = json.dumps(contract)
    assert world.handle(text)["verdict"] == "failed"
    assert (world.object("active"), world.object("pending")) == (None, None)
    assert world.object("failed") == text.encode()
    error = world.error()
    assert [fault["path"] for fault in error["faults"]] == ["owner.email", "payload_columns[0].type"]
    assert all(fault["found"] and fault["allowed"] and fault["remedy"] for fault in error["faults"])
    assert error["summary"] == "2 faults. The topic has no contract yet: its messages land in RAW and wait there."
    assert f"s3://{world.contracts.bucket}/schemas/{world.topic}/pending/schema.json" in error["next_step"]
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert (entry.status, entry.processing_enabled, entry.is_open) == ("ERROR", None, False)
    assert entry.last_error is not None
    (row,) = world.rows(layout.SCHEMA_VERSIONS.table)
    assert row["status"] == "failed"
    assert json.loads(row["faults"]) == error["faults"]
    ((subject, message),) = mails()
    assert subject == f"{world.topic}: contract refused"
    assert "MONEY" in message


def test_a_refused_successor_leaves_the_active_contract_in_force(world: World) -> None:
    world.handle(world.contract())
    before = world.object("active")
    assert world.handle(b"{")["verdict"] == "failed"
    assert world.object("active") == before
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert (entry.status, entry.is_open, entry.schema_version) == ("READY", True, "1.0.0")
    assert entry.last_error is not None
    assert world.error()["active_version"] == "1.0.0"
    assert "goes on as before" in world.error()["summary"]


def test_a_mended_contract_clears_the_error(world: World) -> None:
    world.handle(b"{")
    assert world.handle(world.contract())["verdict"] == "active"
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert (entry.status, entry.is_open, entry.last_error) == ("READY", True, None)


def test_a_breaking_change_needs_an_approval(world: World) -> None:
    world.handle(world.contract())
    contract = world.contract("2.0.0", rules=[])
    del contract["payload_columns"][4]
    assert world.handle(contract)["verdict"] == "failed"
    faults = {fault["path"]: fault for fault in world.error()["faults"]}
    assert set(faults) == {"payload_columns.seen_at", "approve_breaking"}
    assert "from_version 1.0.0" in faults["approve_breaking"]["allowed"]


def test_an_approved_breaking_change_asks_for_a_rebuild(world: World, mails: Any) -> None:
    world.handle(world.contract())
    mails()
    approval = {"from_version": "1.0.0", "approved_by": "ada", "reason": "seen_at was never right"}
    contract = world.contract("2.0.0", approve_breaking=approval)
    contract["payload_columns"][4]["type"] = "STRING"
    assert world.handle(contract)["verdict"] == "active"
    entry = world.registry.get(world.topic)
    assert entry is not None
    request = entry.rebuild_requested
    assert request is not None
    assert (request["from_version"], request["to_version"]) == ("1.0.0", "2.0.0")
    assert (request["approved_by"], request["reason"]) == ("ada", "seen_at was never right")
    assert request["blocked_columns"] == ["seen_at"]
    assert world.schema(world.names.curated_table)["seen_at"] == "timestamptz"
    rows = {row["schema_version"]: row for row in world.rows(layout.SCHEMA_VERSIONS.table)}
    assert (rows["2.0.0"]["level"], rows["2.0.0"]["approved_by"]) == ("breaking", "ada")
    ((subject, message),) = mails()
    assert subject.endswith("rebuild requested")
    assert "seen_at was never right" in message


def test_a_standing_rebuild_request_grows_and_stays(world: World) -> None:
    world.handle(world.contract())
    for old, new, index in (("1.0.0", "2.0.0", 4), ("2.0.0", "3.0.0", 3)):
        approval = {"from_version": old, "approved_by": "ada", "reason": new}
        contract = world.contract(new, approve_breaking=approval)
        del contract["payload_columns"][index:]
        assert world.handle(contract)["verdict"] == "active"
    contract["schema_version"] = "3.0.1"
    contract["owner"]["team"] = "others"
    assert world.handle(contract)["verdict"] == "active"
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert entry.rebuild_requested is not None
    assert (entry.rebuild_requested["from_version"], entry.rebuild_requested["to_version"]) == ("1.0.0", "3.0.0")


def test_a_name_that_comes_back_with_another_type_is_refused(world: World) -> None:
    world.handle(with_column(world, "1.0.0", type="INT"))
    approval = {"from_version": "1.0.0", "approved_by": "ada", "reason": "not needed"}
    world.handle(world.contract("2.0.0", approve_breaking=approval))
    assert world.handle(with_column(world, "2.1.0", type="DATE"))["verdict"] == "failed"
    faults = {fault["path"]: fault for fault in world.error()["faults"]}
    assert set(faults) == {"payload_columns.extra.type", "approve_breaking"}
    assert f"{world.names.curated_table} has it as int" in faults["payload_columns.extra.type"]["found"]


def test_a_changed_contract_needs_a_higher_version(world: World) -> None:
    world.handle(world.contract())
    assert world.handle(with_column(world, "1.0.0"))["verdict"] == "failed"
    (fault,) = world.error()["faults"]
    assert (fault["path"], fault["allowed"]) == ("schema_version", "above 1.0.0")


def test_a_refused_text_that_was_in_force_before_keeps_its_history(world: World) -> None:
    first = world.contract()
    world.handle(first)
    world.handle(with_column(world, "1.1.0"))
    assert world.handle(first)["verdict"] == "failed"
    assert world.versions() == {"1.0.0": "archived", "1.1.0": "active"}


def test_the_same_text_again_changes_nothing(world: World) -> None:
    world.handle(world.contract())
    world.handle(with_column(world, "1.1.0"))
    before = world.state()
    assert world.handle(with_column(world, "1.1.0"))["verdict"] == "active"
    assert world.state() == before


@pytest.mark.parametrize("times", [1, 3])
def test_repeated_and_late_events_change_nothing(world: World, times: int) -> None:
    first = world.upload(world.contract())
    world.deliver(first)
    second = world.upload(with_column(world, "1.1.0"))
    world.deliver(second)
    before = world.state()
    for _ in range(times):
        for late in (second, first):
            assert world.deliver(late)["verdict"] == "nothing"
    assert world.state() == before


def test_an_upload_that_was_overwritten_is_not_judged(world: World) -> None:
    world.upload(b"not JSON")
    assert world.handle(world.contract())["verdict"] == "active"
    assert world.object("failed") is None


def test_a_pause_and_maintenance_outlast_a_new_contract(world: World) -> None:
    world.handle(world.contract())
    world.registry.pause(world.topic, "ada", "source is being moved")
    world.registry.set_maintenance(world.topic, True)
    world.handle(with_column(world, "1.1.0"))
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert (entry.status, entry.processing_enabled, entry.maintenance) == ("READY", False, True)
    assert entry.schema_version == "1.1.0"


def test_a_pause_before_the_first_contract_stays_too(world: World) -> None:
    world.registry.discover(world.topic)
    world.registry.pause(world.topic, "ada", "not yet")
    world.handle(world.contract())
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert (entry.status, entry.is_open) == ("READY", False)
    assert world.registry.resume(world.topic).is_open


def test_a_discovered_topic_opens_with_its_first_contract(world: World) -> None:
    assert world.registry.discover(world.topic)
    world.handle(world.contract())
    entry = world.registry.get(world.topic)
    assert entry is not None
    assert entry.is_open


def test_where_a_topic_came_from_stays_in_the_topic_registry(world: World) -> None:
    world.handle(b"{")
    found = {"topic_name": world.topic, "status": "paused", "source": "projects/p/topics/x", "compute_group": "g7"}
    world.catalog.replace_unit(layout.TOPIC_REGISTRY.table, {"topic_name": world.topic}, [found])
    world.handle(world.contract())
    (row,) = world.rows(layout.TOPIC_REGISTRY.table)
    assert (row["status"], row["source"], row["compute_group"]) == ("paused", "projects/p/topics/x", "g7")
    assert row["schema_version"] == "1.0.0"


def test_an_active_contract_that_cannot_be_read_any_more_is_replaced(world: World) -> None:
    world.contracts.put_active(world.names, b"{}", None, {})
    assert world.handle(world.contract())["verdict"] == "active"
    ((file, text),) = world.archived().items()
    assert (file.startswith("unreadable-"), text) == (True, b"{}")


@pytest.mark.parametrize(
    "key",
    [
        "schemas/Orders/pending/schema.json",
        "schemas/or'ders/pending/schema.json",
        "schemas/../pending/schema.json",
        "schemas//pending/schema.json",
        "schemas/x_staging/pending/schema.json",
        "schemas/select/pending/schema.json",
        "schemas/orders\n/pending/schema.json",
        "schemas/orders/pending/schema.json\n",
        "schemas/orders/active/schema.json",
        "schemas/a/b/pending/schema.json",
        "",
        None,
        7,
    ],
)
def test_an_upload_in_no_topics_folder_is_told_and_left(environment: Environment, mails: Any, key: Any) -> None:
    from lambdas.schema_validator.handler import handler

    assert handler(event(environment.schema_bucket, key), None) == {"verdict": "misplaced"}
    ((subject, message),) = mails()
    assert subject == "contract upload in no topic's folder"
    assert "schemas/<topic>/pending/schema.json" in message


@pytest.mark.parametrize(
    "upload", [{}, {"detail": None}, event("another-bucket", "schemas/orders/pending/schema.json")]
)
def test_an_event_of_something_else_is_told_and_left(environment: Environment, upload: Any) -> None:
    from lambdas.schema_validator.handler import handler

    assert handler(upload, None) == {"verdict": "misplaced"}
