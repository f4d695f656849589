"""The oracle's verdicts against what the generator meant a message to be."""

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from tests.traffic import Message, kinds, load_scenario, messages, scenario_names
from tests.traffic.oracle import Contract, Outcome, Truth, read_contract, truth
from tests.traffic.topics import TOPICS

_COUNT = 1000
_SCHEMAS = Path(__file__).parents[2] / "schemas"
_CASES = [(name, topic) for name in scenario_names() for topic in TOPICS]


def _contract(topic: str) -> Contract:
    return read_contract(_SCHEMAS / topic / "active" / "schema.json")


@cache
def _told(name: str, topic: str) -> tuple[list[Outcome], Truth]:
    return truth(messages(load_scenario(name).resized(topic=topic, messages=_COUNT), 11), _contract(topic), b"k")


@pytest.mark.parametrize(("name", "topic"), _CASES)
def test_each_message_ends_as_its_kind_allows(name: str, topic: str) -> None:
    outcomes, _ = _told(name, topic)
    for outcome in outcomes:
        kind = outcome.message.kind
        assert outcome.disposition in kinds.dispositions(kind), outcome
        assert outcome.reason == kinds.REASONS.get(kind)


@pytest.mark.parametrize(("name", "topic"), _CASES)
def test_an_accepted_row_is_rejected_exactly_when_it_was_made_invalid(name: str, topic: str) -> None:
    outcomes, told = _told(name, topic)
    made = {o.message_id for o in outcomes if o.disposition == "accepted" and o.message.kind in kinds.REJECTED}
    assert {rejection.version.message_id for rejection in told.rejected} == made
    assert all(rejection.violations for rejection in told.rejected)


@pytest.mark.parametrize(("name", "topic"), _CASES)
def test_every_raw_record_has_one_disposition_and_every_standing_row_a_place(name: str, topic: str) -> None:
    outcomes, told = _told(name, topic)
    raw: Counter[int] = Counter(
        m.batch for m in messages(load_scenario(name).resized(topic=topic, messages=_COUNT), 11)
    )
    assert Counter(outcome.batch for outcome in outcomes) == raw
    accepted = {o.message_id for o in outcomes if o.disposition == "accepted"}
    standing = {version.message_id for version in (*told.standardized.values(), *told.keyless)}
    assert standing <= accepted
    placed = {row["message_id"] for row in told.curated.values()} | {r.version.message_id for r in told.rejected}
    assert standing <= placed


@pytest.mark.parametrize("topic", TOPICS)
def test_everything_holds_every_disposition_and_every_violation_that_the_topic_can_have(topic: str) -> None:
    stream = messages(load_scenario("everything").resized(topic=topic, messages=4000), 11)
    outcomes, told = truth(stream, _contract(topic), b"k")
    assert {o.disposition for o in outcomes} == {"accepted", "network_duplicate", "superseded", "stale", "parse_error"}
    rules = {violation.rule for rejection in told.rejected for violation in rejection.violations}
    assert {"cde", "not_null", "cast", "enum", "length", "period"} <= rules


def test_a_late_correction_ends_as_one_row_with_its_values_and_the_first_period_of_its_original() -> None:
    outcomes, told = _told("cross_period_corrections", "payments")
    versions: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        assert outcome.key is not None
        versions[outcome.key].append(outcome)
    late = {key: found for key, found in versions.items() if len(found) > 1}
    assert {o.message.kind for found in late.values() for o in found} == {"clean", *kinds.MONTHS_LATE}
    for key, found in late.items():
        original = found[0].message
        last = max(found, key=_last_word)
        row = told.curated[key]
        assert row["message_id"] == last.message_id
        assert row["period_reference"] == _period(last.message) != _period(original)
        assert row["first_period_reference"] == _period(original) == "2026-01"
        assert str(row["amount"]) in _payload(last.message) or "E" in str(row["amount"])
        assert str(row["first_seen_ts"])[:19] == json.loads(original.body)["publishTime"][:19].replace("T", " ")


def _last_word(outcome: Outcome) -> tuple[str, int, str]:
    published = json.loads(outcome.message.body)["publishTime"]
    return published, outcome.message.ingestion_ts, outcome.message_id


def _payload(message: Message) -> str:
    return str(json.loads(message.body)["payload"])


def _period(message: Message) -> str:
    return str(json.loads(_payload(message))["_metadata"]["periodReference"])


def test_a_stale_correction_changes_nothing() -> None:
    stream = list(messages(load_scenario("stale_corrections").resized(topic="orders", messages=_COUNT), 11))
    _, told = _told("stale_corrections", "orders")
    _, without = truth([m for m in stream if m.kind != "stale_correction"], _contract("orders"), b"k")
    assert told.standardized == without.standardized
    assert told.curated == without.curated


@pytest.mark.parametrize("batches", [1, 2, 50])
@pytest.mark.parametrize("backwards", [False, True])
def test_rows_do_not_depend_on_the_split_nor_on_the_order_of_batches(batches: int, backwards: bool) -> None:
    stream = list(messages(load_scenario("everything").resized(topic="payments", messages=_COUNT), 11))
    _, told = _told("everything", "payments")
    size = len(stream) // batches
    # A duplicate that comes first is the delivery that is taken, with its own ingestion time: another version.
    split = [m._replace(batch=i // size) for i, m in enumerate(stream) if m.kind not in kinds.DUPLICATES]
    if backwards:
        split.sort(key=lambda message: -message.batch)
    _, other = truth(split, _contract("payments"), b"k")
    assert other.standardized == told.standardized
    assert other.curated == told.curated
