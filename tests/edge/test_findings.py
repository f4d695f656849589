"""The count of the end-to-end test sees what is missing, what is altered and what nobody sent."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tests.edge.findings import Findings, key
from tests.edge.sendings import BATCH_BYTES, TOPICS, Sending, batches, hostile, poisoned, traffic
from tests.traffic import scenario_names

sendings = st.builds(
    Sending, st.sampled_from(TOPICS), st.text(min_size=1), st.sampled_from(["a", "b"]), st.sampled_from(["1", "2"])
)


@given(st.lists(sendings, min_size=1), st.data())
def test_one_row_less_than_messages_is_one_message_lost(sent: list[Sending], data: st.DataObject) -> None:
    by_id = {str(number): each for number, each in enumerate(sent)}
    complete = Counter(map(key, sent))
    assert Findings(raw=complete.copy()).lost(by_id) == []
    missing = data.draw(st.sampled_from(sent))
    complete[key(missing)] -= 1
    (lost,) = Findings(raw=complete).lost(by_id)
    assert key(by_id[lost]) == key(missing)


def test_an_archived_message_counts_only_with_its_own_body() -> None:
    sent = {"1": Sending("events", "body", "a", "payload")}
    assert Findings(archived={"1": "body"}).lost(sent) == []
    assert Findings(archived={"1": "other"}).lost(sent) == ["1"]
    assert Findings(archived={"2": "body"}).lost(sent) == ["1"]


def test_an_altered_payload_is_both_lost_and_invented() -> None:
    sent = {"1": Sending("events", "body", "a", "19.90")}
    found = Findings(raw=Counter({("events", "a", "19.9"): 1}))
    assert found.lost(sent) == ["1"]
    assert found.invented(sent) == [("events", "a", "19.9")]


def test_every_scenario_has_its_share_of_the_traffic() -> None:
    made = list(traffic(1000))
    assert len(made) == 1000
    # An id begins with the scenario's number; only duplicates share one.
    assert {each.message_id[:5] for each in made} == {str(10_000 + number) for number in range(len(scenario_names()))}


def test_batches_keep_every_message_and_the_limits_of_the_queue() -> None:
    given_ones = [*poisoned(30), *hostile(), *traffic(500)]
    made = list(batches(given_ones))
    assert Counter(each for _, batch in made for each in batch) == Counter(given_ones)
    for topic, batch in made:
        assert {each.topic for each in batch} == {topic}
        assert len(batch) <= 10
        assert sum(len(each.body.encode()) for each in batch) <= BATCH_BYTES
