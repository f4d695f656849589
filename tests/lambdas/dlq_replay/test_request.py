"""Requests are checked whole, and the same selection is the same replay."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.dlq_replay.request import KEYS, InvalidRequest, Request
from lambdas.dlq_replay.sending import REQUEST_BYTES, REQUEST_MESSAGES, Message, requests
from leanops.aws.dead_letters import Entry
from leanops.core.errors import InvalidName, LeanOpsError

GOOD: dict[str, Any] = {
    "topic": "alpha",
    "from": "2026-11-18T10:00:00Z",
    "to": "2026-11-18T12:00:00+01:00",
    "requested_by": "someone",
}


def test_times_become_utc_and_the_rest_has_defaults() -> None:
    request = Request.of(GOOD)
    assert (request.start, request.end) == ("2026-11-18T10:00:00.000000Z", "2026-11-18T11:00:00.000000Z")
    assert (request.rate, request.dry_run, request.again, request.ids) == (10.0, False, False, None)


@pytest.mark.parametrize(
    "change",
    [
        {"dryrun": True},
        {"from": None},
        {"from": "yesterday"},
        {"from": "2026-11-18T10:00:00"},
        {"from": 5},
        {"to": "2026-11-18T10:00:00Z"},
        {"rate": 0},
        {"rate": -1},
        {"rate": True},
        {"rate": "10"},
        {"rate": float("nan")},
        {"rate": 1001},
        {"dry_run": "false"},
        {"again": 1},
        {"ids": []},
        {"ids": "a"},
        {"ids": [1]},
        {"ids": ["a"] * 10_001},
        {"reason": "whatever"},
        {"reason": ["too_large"]},
        {"requested_by": ""},
        {"requested_by": None},
        {"requested_by": "a\nb"},
        {"replay_id": "UPPER"},
        {"continuation": "2026-11-18T13:00:00.000000Z#x"},
        {"continuation": 3},
    ],
)
def test_a_faulty_request_is_refused_by_its_key(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest, match=r"^Cannot replay, `\w+` .*: .*\. ") as caught:
        Request.of(GOOD | change)
    assert caught.value.key == next(iter(change))


@pytest.mark.parametrize("topic", ["_unknown", "Alpha", "a/b", None, "select"])
def test_only_topics_can_be_replayed(topic: object) -> None:
    with pytest.raises(InvalidName):
        Request.of(GOOD | {"topic": topic})


def test_the_id_follows_from_what_is_selected_not_from_how() -> None:
    same = [
        GOOD | {"rate": 1},
        GOOD | {"dry_run": True},
        GOOD | {"requested_by": "x"},
        GOOD | {"from": "2026-11-18T11:00:00+01:00"},
    ]
    assert len({Request.of(each).replay_id for each in (GOOD, *same)}) == 1
    others = [GOOD | {"again": True}, GOOD | {"ids": ["a"]}, GOOD | {"reason": "too_large"}, GOOD | {"topic": "beta"}]
    assert len({Request.of(each).replay_id for each in (GOOD, *others)}) == 5
    assert Request.of(GOOD | {"ids": ["b", "a"]}).replay_id == Request.of(GOOD | {"ids": ["a", "b"]}).replay_id


# Of each type that JSON has.
VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text()) | st.just({"a": 1})


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from(sorted(KEYS)) | st.text(), VALUES, max_size=3))
def test_any_change_of_a_good_request_is_refused_with_a_reason_or_taken_whole(change: dict[str, Any]) -> None:
    try:
        request = Request.of(GOOD | change)
    except LeanOpsError as error:
        assert str(error).startswith("Cannot ")
    else:
        assert request.start < request.end


@settings(deadline=None)
@given(st.lists(st.integers(1, REQUEST_BYTES), max_size=40))
def test_requests_keep_order_and_limits(sizes: list[int]) -> None:
    messages = [Message(Entry("a", str(place), "", "", ""), "", {}, size) for place, size in enumerate(sizes)]
    cut = list(requests(messages))
    assert [each for request in cut for each in request] == messages
    for request in cut:
        assert 1 <= len(request) <= REQUEST_MESSAGES
        assert sum(each.size for each in request) <= REQUEST_BYTES
