"""The core's rules against the oracle of tests/traffic, which shares no code with them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core.accounting import RawBalance
from leanops.core.contract import load
from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import flatten
from leanops.core.period import filed_period
from leanops.core.types import timestamp
from leanops.core.version import Version
from tests.traffic import Message, load_scenario, messages, scenario_names
from tests.traffic.oracle import Ledger, read_contract
from tests.traffic.oracle.payload import ParseError, parse
from tests.traffic.oracle.records import raw, record

SCHEMAS = Path(__file__).parents[2] / "schemas"


def outcome_of(payload: str | None) -> str:
    try:
        flatten(payload)
    except UnreadablePayload as error:
        return error.reason_code
    return "readable"


def oracle_of(payload: str | None) -> str:
    try:
        parse(payload)
    except ParseError as error:
        return error.reason
    return "readable"


def payload_of(message: Message) -> str | None:
    payload: str | None = json.loads(message.body).get("payload")
    return payload


@pytest.mark.parametrize("name", scenario_names())
def test_core_and_oracle_read_the_same_payloads_and_give_the_same_reasons(name: str) -> None:
    for message in messages(load_scenario(name).resized(messages=1500), seed=11):
        payload = payload_of(message)
        assert outcome_of(payload) == oracle_of(payload), payload


@given(st.text('{}[]":,0123.eE+-\\u dDnultrfasNI\ufeff\ud800', max_size=30))
@settings(max_examples=500)
def test_core_and_oracle_agree_on_any_text(text: str) -> None:
    assert outcome_of(text) == oracle_of(text)


@pytest.mark.parametrize("topic", ["events", "orders", "payments"])
def test_core_and_oracle_find_the_same_key_version_and_period(topic: str) -> None:
    path = SCHEMAS / topic / "active" / "schema.json"
    contract, known = load(path.read_text(encoding="utf-8")), read_contract(path)
    checked = 0
    for message in messages(load_scenario("everything").resized(topic=topic, messages=1500), seed=5):
        source = raw(message)
        try:
            row = flatten(source.json_payload, contract.owners).columns
            truth = record(known, source, parse(source.json_payload))
        except (UnreadablePayload, ParseError):
            continue
        key, period, updated = (
            row.get(contract.standardized_column(contract.by_name[name]))
            for name in ("idempotency_key", "period_reference", "last_updated_ts")
        )
        version = Version.of(updated, timestamp(source.publish_time_text), source.ingestion_ts, source.message_id)
        assert (key if key and key.strip() else None) == truth.key
        assert str(filed_period(period, version.publish_time)) == truth.period
        assert (
            version.last_updated_ts,
            version.publish_time,
            version.ingestion_ts,
            version.message_id,
        ) == truth.version
        checked += 1
    assert checked > 1000


@given(st.sampled_from(scenario_names()), st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=25, deadline=None)
def test_accounting_balances_for_any_generated_stream(name: str, seed: int, batches: int) -> None:
    ledger = Ledger(read_contract(SCHEMAS / "events" / "active" / "schema.json"))
    scenario = load_scenario(name).resized(topic="events", messages=120, batches=batches)
    by_batch: dict[int, list[Message]] = {}
    for message in messages(scenario, seed):
        by_batch.setdefault(message.batch, []).append(message)
    for batch, deliveries in by_batch.items():
        dispositions = [outcome.disposition for outcome in ledger.take(batch, deliveries)]
        balance = RawBalance.of(len(deliveries), dispositions)
        balance.prove()
        assert balance.counts == Counter(dispositions)
