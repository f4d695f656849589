"""What alarms and the processor say is read with care: they come from outside this function."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambdas.circuit_breaker.alarm import Alarm, Ignored, alarm
from lambdas.circuit_breaker.probe import PAYLOAD_BYTES, fitting, reported
from leanops.core.naming import Environment

HERE = Environment("test", "000000000000", "eu-central-1")


def notice(**message: Any) -> dict[str, Any]:
    return {"EventSource": "aws:sns", "Sns": {"Message": json.dumps(message)}}


def test_an_alarm_names_its_topic_and_why() -> None:
    found = alarm(HERE, notice(AlarmName="lean-ops-test-errors-alpha_2", NewStateValue="ALARM", NewStateReason="7 %"))
    assert found == Alarm("alpha_2", "7 %")


def test_an_alarm_without_a_reason_still_counts() -> None:
    found = alarm(HERE, notice(AlarmName="lean-ops-test-errors-alpha", NewStateValue="ALARM"))
    assert found == Alarm("alpha", "the alarm gives no reason")


@pytest.mark.parametrize(
    "record",
    [
        None,
        [],
        {},
        {"Sns": None},
        {"Sns": {"Message": 5}},
        {"Sns": {"Message": "not json"}},
        {"Sns": {"Message": "[" * 100_000}},
        {"Sns": {"Message": "[]"}},
        notice(),
        notice(AlarmName=5, NewStateValue="ALARM"),
        notice(AlarmName="lean-ops-other-errors-alpha", NewStateValue="ALARM"),
        notice(AlarmName="lean-ops-test-dlq-age", NewStateValue="ALARM"),
        notice(AlarmName="lean-ops-test-errors-", NewStateValue="ALARM"),
        notice(AlarmName="lean-ops-test-errors-a*b", NewStateValue="ALARM"),
        notice(AlarmName="lean-ops-test-errors-select", NewStateValue="ALARM"),
        notice(AlarmName="lean-ops-test-errors-alpha", NewStateValue="OK"),
        notice(AlarmName="lean-ops-test-errors-alpha", NewStateValue="INSUFFICIENT_DATA"),
    ],
)
def test_everything_else_is_ignored_with_a_reason(record: object) -> None:
    found = alarm(HERE, record)
    assert isinstance(found, Ignored)
    assert found.reason


@pytest.mark.parametrize(
    ("payload", "failed"),
    [
        (b"", set()),
        (b"null", set()),
        (b"{}", set()),
        (b'{"batchItemFailures": null}', set()),
        (b'{"batchItemFailures": []}', set()),
        (b'{"batchItemFailures": [{"itemIdentifier": "a"}]}', {"a"}),
        (
            b'{"batchItemFailures": [{"itemIdentifier": "a"}, {"itemIdentifier": "a"}, {"itemIdentifier": "b"}]}',
            {"a", "b"},
        ),
        (b'{"batchItemFailures": [{"itemIdentifier": "z"}]}', None),
        (b'{"batchItemFailures": [{"itemIdentifier": ""}]}', None),
        (b'{"batchItemFailures": [{"itemIdentifier": null}]}', None),
        (b'{"batchItemFailures": [{}]}', None),
        (b'{"batchItemFailures": ["a"]}', None),
        (b'{"batchItemFailures": "a"}', None),
        (b"[]", None),
        (b"not json", None),
    ],
)
def test_an_answer_is_read_as_lambda_reads_it(payload: bytes, failed: set[str] | None) -> None:
    assert reported(payload, {"a", "b"}) == failed


@settings(deadline=None)
@given(st.binary())
def test_no_answer_breaks_the_reader(payload: bytes) -> None:
    assert reported(payload, {"a"}) in (None, set(), {"a"})


def test_a_probe_takes_as_many_as_one_invocation_carries() -> None:
    records = [{"body": '"' * 1_000_000}] * 10
    assert fitting(records) == 2
    assert len(json.dumps({"Records": records[:2]})) <= PAYLOAD_BYTES
    assert fitting([{"body": '"' * 4_000_000}]) == 1
    assert fitting([{"body": "x"}] * 10) == 10
