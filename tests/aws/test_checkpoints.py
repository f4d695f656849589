"""Checkpoints and run records on the local AWS: one call for the gate, never back, lost answers."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from typing import Any

import pytest
from botocore.exceptions import ClientError
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.aws.alerts import Alert, Alerts
from leanops.aws.checkpoints import RUN_DAYS, Checkpoint, Checkpoints, LookUp, Overtaken, RunRecord, UnreadableRun
from leanops.aws.items import PAGES, Unanswered
from leanops.aws.registry import Registry
from tests.aws.state import State, Way, state_of
from tests.emulator import Aws

RUN = "scheduled__2026-11-18T10:00:00+00:00"
RECORD = RunRecord(RUN, 7, 9001, 9007, 1200, "1.4.0", rows_left=50, raw_metadata_location="s3://lake/m7.json")
FIRST = Checkpoint("standardized", 7, 501, 1200, raw_snapshot=9007, raw_metadata_location="s3://lake/m7.json")


@pytest.fixture(scope="module")
def shared(aws: Aws) -> Iterator[State]:
    with state_of(aws) as found:
        yield found


@pytest.fixture
def state(shared: State) -> State:
    return shared.fresh()


def checkpoints(state: State, client: Any = None) -> Checkpoints:
    return Checkpoints(state.environment, client or state.once("dynamodb"), pause=state.pauses.append)


def written(state: State, checkpoint: Checkpoint, fencing: int = 1, **kwargs: Any) -> Checkpoint | Overtaken:
    return checkpoints(state).write(state.names, checkpoint, by="run-1", fencing=fencing, **kwargs)


def in_force(state: State) -> Checkpoint:
    found = checkpoints(state).look_up(state.names).standardized
    assert found is not None
    return found


def as_given(found: Checkpoint | Overtaken) -> Checkpoint:
    """Without what the store adds."""
    assert isinstance(found, Checkpoint)
    return replace(found, fencing=0, written_by=None, updated_at=None)


# The look-up


def test_a_topic_that_nobody_knows_has_nothing(state: State) -> None:
    assert checkpoints(state).look_up(state.names, RUN, ("no_contract",)) == LookUp(None, None, None, None)


def test_everything_comes_in_one_call(state: State) -> None:
    Registry(state.environment).discover(state.topic)
    entry = Registry(state.environment).get(state.topic)
    written(state, FIRST)
    written(state, Checkpoint("curated", 6, 601))
    checkpoints(state).record_run(state.names, RECORD)
    state.client("sns").create_topic(Name=state.environment.notifications)
    Alerts(state.environment).send_once(Alert(state.topic, "no_contract", "No contract", "Upload one."))
    state.proxy.heal()
    store = checkpoints(state)
    found = store.look_up(state.names, RUN, ("no_contract", "contract_refused"))
    assert state.proxy.calls == ["DynamoDB.BatchGetItem"]
    assert store.calls == 1
    assert found.registry == entry
    assert found.standardized is not None
    assert as_given(found.standardized) == FIRST
    assert found.standardized.written_by == "run-1"
    assert found.curated is not None
    assert (found.curated.layer, found.curated.batch, found.curated.snapshot) == ("curated", 6, 601)
    assert found.run is not None
    assert replace(found.run, created_at=None) == RECORD
    assert found.notices == {"no_contract"}


def test_other_topics_and_runs_do_not_show(state: State) -> None:
    written(state, FIRST)
    checkpoints(state).record_run(state.names, RECORD)
    other = state.environment.topic(f"{state.topic}x")
    assert checkpoints(state).look_up(other, RUN) == LookUp(None, None, None, None)
    assert checkpoints(state).look_up(state.names, f"{RUN}x").run is None


def left_out(client: Any, pages: int) -> Any:
    """Makes the service leave all but one key out of each of so many answers; boto3's event after the answer."""
    seen = 0

    def leave_out(parsed: dict[str, Any], **_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen > pages:
            return
        for table, items in parsed["Responses"].items():
            names = {"pipeline_id", "checkpoint_type", "topic_name"}
            keys = [{name: value for name, value in item.items() if name in names} for item in items[1:]]
            if keys:
                parsed["UnprocessedKeys"][table] = {"Keys": keys, "ConsistentRead": True}
            del items[1:]

    client.meta.events.register("after-call.dynamodb.BatchGetItem", leave_out, unique_id="left-out")
    return client


def test_keys_that_the_service_leaves_out_are_asked_for_again(state: State) -> None:
    written(state, FIRST)
    written(state, Checkpoint("curated", 6, 601))
    checkpoints(state).record_run(state.names, RECORD)
    client = left_out(state.once("dynamodb"), 2)
    try:
        state.proxy.heal()
        found = checkpoints(state, client).look_up(state.names, RUN)
    finally:
        client.meta.events.unregister("after-call.dynamodb.BatchGetItem", unique_id="left-out")
    assert found.standardized is not None
    assert found.curated is not None
    assert found.run is not None
    assert state.proxy.calls == ["DynamoDB.BatchGetItem"] * 3
    assert len(state.pauses) == 2


def test_keys_that_are_left_out_for_ever_are_told(state: State) -> None:
    client = state.once("dynamodb")
    key = {"topic_name": {"S": state.topic}}

    def all_left_out(parsed: dict[str, Any], **_: Any) -> None:
        parsed["UnprocessedKeys"] = {state.environment.schema_registry: {"Keys": [key]}}

    client.meta.events.register("after-call.dynamodb.BatchGetItem", all_left_out, unique_id="all")
    try:
        with pytest.raises(
            Unanswered, match=f"DynamoDB left 1 of them out {PAGES} times: {state.environment.schema_registry}"
        ):
            checkpoints(state, client).look_up(state.names)
    finally:
        client.meta.events.unregister("after-call.dynamodb.BatchGetItem", unique_id="all")


def test_throttling_is_waited_for(state: State) -> None:
    state.proxy.way = "throttled"
    state.proxy.spoil_once("BatchGetItem", "refuse")
    assert checkpoints(state).look_up(state.names).registry is None
    assert len(state.pauses) == 1


@pytest.mark.parametrize("batch", [None, "seven", True, [7]])
def test_a_checkpoint_that_somebody_broke_counts_as_none(state: State, batch: object) -> None:
    pipeline, kind = state.names.checkpoint("standardized")
    state.put(state.environment.checkpoints, pipeline_id=pipeline, checkpoint_type=kind, batch=batch)
    assert checkpoints(state).look_up(state.names).standardized is None


def test_a_run_record_that_somebody_broke_is_told(state: State) -> None:
    state.put(state.environment.checkpoints, pipeline_id=f"run_{state.topic}", checkpoint_type=RUN, number=7)
    with pytest.raises(UnreadableRun, match="Cannot read run record, KeyError 'end'"):
        checkpoints(state).look_up(state.names, RUN)


# Layers


def test_a_checkpoint_moves_forward(state: State) -> None:
    assert as_given(written(state, FIRST)) == FIRST
    later = replace(FIRST, batch=8, snapshot=502, raw_metadata_location=None)
    assert as_given(written(state, later, 2)) == later
    found = in_force(state)
    assert as_given(found) == later
    assert found.fencing == 2


def test_a_batch_that_is_done_again_replaces_its_checkpoint(state: State) -> None:
    written(state, FIRST)
    again = replace(FIRST, snapshot=777)
    assert as_given(written(state, again, 2)) == again


def test_a_checkpoint_never_moves_back_unless_forced(state: State) -> None:
    written(state, FIRST)
    earlier = replace(FIRST, batch=6, snapshot=444)
    found = written(state, earlier, 2)
    assert isinstance(found, Overtaken)
    assert found.in_force is not None
    assert as_given(found.in_force) == FIRST
    assert as_given(in_force(state)) == FIRST
    assert as_given(written(state, earlier, 2, force=True)) == earlier
    assert as_given(in_force(state)) == earlier


@pytest.mark.parametrize("force", [False, True])
def test_a_former_holder_of_the_lease_does_not_write_after_a_later_one(state: State, force: bool) -> None:
    """A run that was thought dead must not undo a rollback."""
    written(state, FIRST, 3)
    rolled_back = replace(FIRST, batch=5, snapshot=333)
    written(state, rolled_back, 4, force=True)
    late = written(state, replace(FIRST, batch=8), 3, force=force)
    assert isinstance(late, Overtaken)
    assert as_given(in_force(state)) == rolled_back


def test_layers_do_not_meet(state: State) -> None:
    written(state, replace(FIRST, batch=9))
    written(state, Checkpoint("curated", 6, 601))
    found = checkpoints(state).look_up(state.names)
    assert (found.standardized and found.standardized.batch, found.curated and found.curated.batch) == (9, 6)


def test_a_broken_checkpoint_is_mended_by_force(state: State) -> None:
    pipeline, kind = state.names.checkpoint("standardized")
    state.put(state.environment.checkpoints, pipeline_id=pipeline, checkpoint_type=kind, batch="seven")
    assert written(state, FIRST) == Overtaken(None)
    assert as_given(written(state, FIRST, force=True)) == FIRST


@settings(max_examples=20, deadline=None)
@given(st.permutations([1, 2, 3, 4, 5]))
def test_in_any_order_the_newest_batch_stays(shared: State, batches: list[int]) -> None:
    state = shared.fresh()
    for batch in batches:
        written(state, replace(FIRST, batch=batch))
    assert in_force(state).batch == 5


def test_side_by_side_the_newest_batch_stays(state: State) -> None:
    client = state.once("dynamodb")

    def write(batch: int) -> object:
        return checkpoints(state, client).write(
            state.names, replace(FIRST, batch=batch), by=f"run-{batch}", fencing=batch
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(1, 17)))
    assert (in_force(state).batch, in_force(state).written_by) == (16, "run-16")


@pytest.mark.parametrize("way", ["cut", "throttled", "broken", "garbage"])
def test_a_checkpoint_whose_answer_got_lost_is_written(state: State, way: Way) -> None:
    state.proxy.way = way
    state.proxy.spoil_once("UpdateItem", "lose")
    assert as_given(written(state, FIRST)) == FIRST
    state.proxy.spoil_once("UpdateItem", "lose")
    back = replace(FIRST, batch=2)
    assert as_given(written(state, back, force=True)) == back


def test_a_rollback_whose_answer_got_lost_does_not_undo_the_run_after_it(state: State) -> None:
    written(state, FIRST, 1)
    later = replace(FIRST, batch=8)

    def meanwhile(_: float) -> None:
        written(state, later, 3)

    state.proxy.way = "cut"
    state.proxy.spoil_once("UpdateItem", "lose")
    store = Checkpoints(state.environment, state.once("dynamodb"), pause=meanwhile)
    found = store.write(state.names, replace(FIRST, batch=2), by="rollback", fencing=2, force=True)
    assert isinstance(found, Overtaken)
    assert as_given(in_force(state)) == later


# RAW's metadata


def test_metadata_without_news_is_noted(state: State) -> None:
    written(state, FIRST)
    assert checkpoints(state).settle(state.names, in_force(state), "s3://lake/m8.json")
    assert as_given(in_force(state)) == replace(FIRST, raw_metadata_location="s3://lake/m8.json")


@pytest.mark.parametrize("batch", [3, 7])
def test_metadata_is_not_noted_where_the_checkpoint_has_moved_meanwhile(state: State, batch: int) -> None:
    """Also where it is at the same batch again, after a rollback and a run."""
    written(state, FIRST, 1)
    seen = in_force(state)
    rolled_back = replace(FIRST, batch=batch, raw_metadata_location=None)
    written(state, rolled_back, 2, force=True)
    assert not checkpoints(state).settle(state.names, seen, "s3://lake/m8.json")
    assert as_given(in_force(state)) == rolled_back


def test_metadata_is_noted_in_a_checkpoint_made_by_hand(state: State) -> None:
    pipeline, kind = state.names.checkpoint("standardized")
    state.put(state.environment.checkpoints, pipeline_id=pipeline, checkpoint_type=kind, batch=7)
    assert checkpoints(state).settle(state.names, in_force(state), "s3://lake/m8.json")


def test_what_was_left_over_keeps_the_gate_awake() -> None:
    assert RECORD.settled_location is None
    assert replace(RECORD, rows_left=0).settled_location == "s3://lake/m7.json"


# Runs


def test_a_run_has_one_batch_whoever_asks(state: State) -> None:
    store = checkpoints(state)
    first = store.record_run(state.names, RECORD)
    assert replace(first, created_at=None) == RECORD
    again = store.record_run(state.names, replace(RECORD, number=9, start=9007, end=9009))
    assert again == first
    assert store.look_up(state.names, RUN).run == first


def test_a_batch_from_the_beginning_stays_one(state: State) -> None:
    record = replace(RECORD, start=None, raw_metadata_location=None)
    found = checkpoints(state).record_run(state.names, record)
    assert replace(found, created_at=None) == record


def test_of_many_at_once_one_batch_is_fixed(state: State) -> None:
    client = state.once("dynamodb")
    with ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda n: checkpoints(state, client).record_run(state.names, replace(RECORD, number=n)), range(8))
        )
    assert len(set(found)) == 1


@pytest.mark.parametrize("way", ["cut", "throttled", "broken", "garbage"])
def test_a_record_whose_answer_got_lost_is_found_again(state: State, way: Way) -> None:
    state.proxy.way = way
    state.proxy.spoil_once("UpdateItem", "lose")
    found = checkpoints(state).record_run(state.names, RECORD)
    assert replace(found, created_at=None) == RECORD
    state.proxy.spoil_once("UpdateItem", "lose")
    assert checkpoints(state).mark_done(state.names, RUN).done


def test_a_gate_that_died_with_the_answer_finds_its_batch_when_tried_again(state: State) -> None:
    state.proxy.spoil_once("UpdateItem", "lose")
    with pytest.raises(ClientError, match="AccessDenied"):
        checkpoints(state).record_run(state.names, RECORD)
    state.proxy.heal()
    other = replace(RECORD, number=9, end=9009)
    assert checkpoints(state).record_run(state.names, other).number == RECORD.number


def test_a_run_that_is_done_stays_done(state: State) -> None:
    store = checkpoints(state)
    store.record_run(state.names, RECORD)
    done = store.mark_done(state.names, RUN)
    assert done.done
    assert done.done_at is not None
    assert replace(done, done=False, done_at=None, created_at=None) == RECORD
    assert store.mark_done(state.names, RUN).done
    assert store.record_run(state.names, RECORD).done


def test_a_run_without_a_record_cannot_be_done(state: State) -> None:
    with pytest.raises(UnreadableRun, match="Cannot read run record, there is none: run_"):
        checkpoints(state).mark_done(state.names, RUN)
    assert state.item(state.environment.checkpoints, pipeline_id=f"run_{state.topic}", checkpoint_type=RUN) is None


def test_a_record_is_forgotten_one_day_and_a_checkpoint_never(state: State) -> None:
    checkpoints(state).record_run(state.names, RECORD)
    written(state, FIRST)
    table = state.environment.checkpoints
    record = state.item(table, pipeline_id=f"run_{state.topic}", checkpoint_type=RUN)
    pipeline, kind = state.names.checkpoint("standardized")
    checkpoint = state.item(table, pipeline_id=pipeline, checkpoint_type=kind)
    assert record is not None
    assert record["expires_at"] == pytest.approx(time.time() + RUN_DAYS * 86400, abs=10)
    assert checkpoint is not None
    assert "expires_at" not in checkpoint


def test_a_record_travels_as_a_document() -> None:
    assert RunRecord(**asdict(RECORD)) == RECORD
