import hashlib
import json
import tracemalloc
from collections import Counter
from itertools import islice

import pytest

from tests.traffic import Message, Scenario, Stream, load_scenario, messages, scenario_names
from tests.traffic.kinds import CLEAN
from tests.traffic.topics import TOPICS

_GOLDEN = {
    "everything": "5c97ce7c0f09ce4b5207aa02a77d1ef747253e0cc11a474fb41f377ec8e73f9f",
    "hostile_keys": "f126463ec1fa1c417f78c78039bb1800ac364b2390570e088cfe8056bad53abd",
    "thundering_herd": "2fc5570b5fdd1e00404199fc0cd62063988421641f0921a04b073ef471f4a2b6",
}


def _digest(stream: list[Message]) -> str:
    return hashlib.sha256("\n".join(repr(tuple(message)) for message in stream).encode()).hexdigest()


def _small(name: str) -> Scenario:
    return load_scenario(name).resized(messages=2000)


@pytest.mark.parametrize("name", scenario_names())
def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(name: str) -> None:
    first, second, other = (list(messages(_small(name), seed)) for seed in (7, 7, 8))
    assert first == second
    assert {message.body for message in first}.isdisjoint(message.body for message in other)


@pytest.mark.parametrize("name", _GOLDEN)
def test_the_bytes_are_the_same_in_every_process_and_python(name: str) -> None:
    assert _digest(list(messages(_small(name), 42))) == _GOLDEN[name]


def test_a_message_depends_on_its_index_alone_and_not_on_those_made_before() -> None:
    scenario = _small("everything")
    backwards = Stream(scenario, 3)
    assert [backwards[index] for index in range(1999, -1, -1)][::-1] == list(messages(scenario, 3))


@pytest.mark.parametrize("name", scenario_names())
def test_a_scenario_yields_each_kind_that_it_promises_in_about_its_share(name: str) -> None:
    scenario = load_scenario(name)
    counts = Counter(message.kind for message in messages(scenario, 1))
    assert set(counts) == {CLEAN, *scenario.shares}
    for kind, share in scenario.shares.items():
        expected = share * scenario.messages
        # A duplicate or correction without an original yet becomes a clean message, so most miss their share a little.
        assert expected * 0.75 - 4 * expected**0.5 < counts[kind] < expected + 4 * expected**0.5 + 1, kind


@pytest.mark.parametrize("topic", TOPICS)
def test_a_clean_body_is_an_envelope_with_a_realistic_payload_as_text(topic: str) -> None:
    for message in messages(load_scenario("clean").resized(topic=topic, messages=500), 5):
        envelope = json.loads(message.body)
        assert list(envelope) == ["messageId", "publishTime", "attributes", "payload"]
        assert 450 < len(envelope["payload"].encode()) < 850
        assert _leaves(json.loads(envelope["payload"])) == len(TOPICS[topic].paths) >= 25


def _leaves(value: object) -> int:
    return sum(_leaves(member) for member in value.values()) if isinstance(value, dict) else 1


def test_money_keeps_digits_that_a_float_would_lose() -> None:
    payloads = [json.loads(m.body)["payload"] for m in messages(load_scenario("clean").resized(topic="payments"), 5)]
    assert any('"value":1234567890123456.7891' in payload for payload in payloads)
    assert any('"ledgerBalance":12345678901234567.89' in payload for payload in payloads)
    for currency in ("EUR", "USD", "JPY", "KWD", "CHF", "BRL"):
        assert any(f'"currency":"{currency}"' in payload for payload in payloads)


def test_rare_fields_occur_in_about_one_of_ten_thousand() -> None:
    rare = [m for m in messages(load_scenario("schema_drift"), 2) if m.kind == "rare_field"]
    assert 1 <= len(rare) <= 15
    for message in rare:
        payload = json.loads(json.loads(message.body)["payload"])
        assert {"debug", "legacyCode", "experiment"} & set(payload)


def test_a_network_duplicate_repeats_the_body_and_is_ingested_later() -> None:
    seen: dict[str, tuple[int, int]] = {}
    for message in messages(load_scenario("network_duplicates"), 4):
        if message.kind == "clean":
            assert message.body not in seen
            seen[message.body] = (message.batch, message.ingestion_ts)
            continue
        batch, ingestion_ts = seen[message.body]
        assert ingestion_ts < message.ingestion_ts
        assert (batch == message.batch) == (message.kind == "duplicate_same_batch")


def test_every_scenario_can_be_made_for_every_topic() -> None:
    for name in scenario_names():
        for topic in TOPICS:
            stream = messages(load_scenario(name).resized(topic=topic, messages=200), 1)
            assert {message.topic for message in stream} == {topic}


def test_memory_does_not_grow_with_the_number_of_messages() -> None:
    scenario = load_scenario("everything").resized(messages=20_000)
    # What Python loads and caches once must not count for the shorter run alone.
    _peak(scenario, 2000)
    few, many = _peak(scenario, 4000), _peak(scenario, 20_000)
    assert many < few * 1.2 + 20_000


def _peak(scenario: Scenario, count: int) -> int:
    tracemalloc.start()
    for _ in islice(messages(scenario, 9), count):
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
