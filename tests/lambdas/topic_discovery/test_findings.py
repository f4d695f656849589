"""Names from GCP become topics one way only, or are reported."""

from __future__ import annotations

import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.topic_discovery.findings import findings, topic_of
from lambdas.topic_discovery.topics_file import merged, rendered
from leanops.core.errors import InvalidName
from leanops.core.naming import valid_topic

# What GCP allows in an id.
IDS = st.text(string.ascii_letters + string.digits + "-._~+%", min_size=3, max_size=60)


def source(name: str) -> str:
    return f"projects/p/topics/{name}"


@pytest.mark.parametrize(
    ("name", "topic"),
    [("alpha", "alpha"), ("Alpha", "alpha"), ("iot-meter.reading_v2", "iot_meter_reading_v2"), ("a--b", "a__b")],
)
def test_case_hyphens_and_dots_are_folded(name: str, topic: str) -> None:
    found = findings([source(name)], {})
    assert (found.topics, found.problems) == ({topic: source(name)}, ())
    assert found.renamed == ({} if name == topic else {topic: source(name)})


@pytest.mark.parametrize("name", ["a~b", "a+b", "50%", "_x", "1abc", "select", "a-staging", "x" * 41, "errors", "ä"])
def test_what_gives_no_topic_is_reported_and_not_mended(name: str) -> None:
    with pytest.raises(InvalidName):
        topic_of(source(name))
    found = findings([source(name), source("good")], {})
    assert found.topics == {"good": source("good")}
    assert len(found.problems) == 1


@pytest.mark.parametrize(
    "text", ["alpha", "projects/p/topics/", "projects/p/topics/a/b", "projects/p/subscriptions/a", "_deleted-topic_"]
)
def test_what_is_no_name_of_a_topic_is_reported(text: str) -> None:
    found = findings([text], {})
    assert (found.topics, len(found.problems)) == ({}, 1)


def test_of_two_names_that_give_one_topic_neither_is_taken() -> None:
    found = findings([source("a-b"), source("a.b"), source("c")], {})
    assert found.topics == {"c": source("c")}
    assert "would share this topic" in found.problems[0]


def test_a_topic_stays_with_the_name_it_was_registered_for() -> None:
    found = findings([source("a.b"), source("a-b")], {"a_b": source("a-b")})
    assert found.topics == {"a_b": source("a-b")}
    assert "is that of" in found.problems[0]
    gone = findings([source("a.b")], {"a_b": source("a-b")})
    assert (gone.topics, len(gone.problems)) == ({}, 1)


@settings(deadline=None)
@given(st.lists(IDS, max_size=30), st.randoms())
def test_every_name_is_taken_once_or_reported_in_any_order(names: list[str], random: Any) -> None:
    sources = [source(name) for name in names]
    found = findings(sources, {})
    random.shuffle(sources)
    assert findings(sources * 2, {}) == found
    taken = set(found.topics.values())
    assert len(taken) == len(found.topics)
    assert all(valid_topic(topic) for topic in found.topics)
    for each in set(sources) - taken:
        assert any(each in problem or each[:80] in problem for problem in found.problems)


DOCUMENTS = st.dictionaries(
    st.sampled_from("abcdef"), st.fixed_dictionaries({}, optional={"enabled": st.booleans(), "source": st.text()})
)


@settings(deadline=None)
@given(DOCUMENTS, st.dictionaries(st.sampled_from("defghi"), st.text()), st.sets(st.sampled_from("abcdefghi")))
def test_the_file_only_grows_and_keeps_what_people_wrote(entries: Any, topics: dict[str, str], ready: set[str]) -> None:
    before = {"topics": entries, "note": "kept"}
    copy = json.loads(json.dumps(before))
    after = merged(before, topics, frozenset(ready))
    assert before == copy
    assert list(after["topics"]) == sorted(entries.keys() | topics.keys())
    assert after["note"] == "kept"
    for topic, entry in entries.items():
        assert entry.items() <= after["topics"][topic].items()
    for topic in topics.keys() - entries.keys():
        status = "onboarded" if topic in ready else "discovered"
        assert after["topics"][topic] == {"source": topics[topic], "status": status}
    assert rendered(merged(after, topics, frozenset(ready))) == rendered(after)


def test_an_onboarded_topic_is_never_set_back() -> None:
    before = {"topics": {"a": {"source": "s", "status": "onboarded"}}}
    assert merged(before, {"a": "s"}, frozenset()) == before
