"""For any mix of messages and any conduct of the stream: what is reported as failed is exactly what is not there."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from lambdas.sqs_processor import delivery
from lambdas.sqs_processor.accepted import AcceptedMessages
from lambdas.sqs_processor.delivery import BATCH_BYTES, BATCH_RECORDS, DeliveryStream, batches
from lambdas.sqs_processor.handler import handler
from lambdas.sqs_processor.record import RECORD_BYTES
from leanops.core.naming import QUARANTINE_TABLE
from tests.lambdas.sqs_processor.conftest import Edge
from tests.lambdas.sqs_processor.double import Answer, Step
from tests.lambdas.sqs_processor.messages import pubsub, sqs

NUMBERS = itertools.count()
KINDS = ("data", "text", "object", "flat", "no json", "no id", "huge", "huge envelope", "no topic", "unreadable")


class Context:
    """Each look at the clock costs some of the time."""

    aws_request_id = "request"

    def __init__(self, looks: int = 10_000) -> None:
        self._left = looks

    def get_remaining_time_in_millis(self) -> int:
        self._left -= 1
        return 30_000 if self._left > 0 else 0


@dataclass(frozen=True)
class Sent:
    message: dict[str, Any]
    payload: str | None
    """What RAW or the archive must have of it; None for a message of which no record can be made."""

    @property
    def id(self) -> str:
        return str(self.message["messageId"])


def sent(edge: Edge, kind: str, text: str, environment: Any) -> Sent:
    """A message with an id that no other has, also in its payload: so a record shows whose it is."""
    number = f"n{next(NUMBERS)}"
    payload = json.dumps({"n": number, "t": text}, ensure_ascii=False)
    head = {"messageId": number, "publishTime": "2026-07-20T10:00:00Z"}
    topic, more = "events", {}
    if kind == "data":
        body = pubsub(payload, number)
    elif kind == "text":
        body = json.dumps(head | {"payload": payload})
    elif kind == "object":
        body = f'{json.dumps(head)[:-1]},"payload":{payload}}}'
    elif kind == "flat":
        payload = body = json.dumps(head | {"b": text}, ensure_ascii=False)
    elif kind == "no json":
        payload = body = f"{number} {text}"
    elif kind == "no id":
        body = json.dumps({"payload": payload})
    elif kind == "huge":
        payload = f"{number} {text}".ljust(RECORD_BYTES, "x")
        body = json.dumps(head | {"payload": payload})
    elif kind == "huge envelope":
        payload = body = json.dumps(head | {"messageId": number.ljust(RECORD_BYTES, "x"), "payload": payload})
    elif kind == "no topic":
        payload, topic = (body := pubsub(payload, number)), "No-Topic"
    else:
        body, more = "{}", {"attributes": None}
    prefix = environment.prefix
    message = sqs(body, topic, number, prefix, **more)
    return Sent(message, None if kind == "unreadable" else payload)


def content(edge: Edge, record: dict[str, Any]) -> str:
    if "_table" in record:
        assert record["_table"] == QUARANTINE_TABLE
        key = record["archive_key"]
        return str(record["body"]) if key is None else edge.archived(f"s3://{edge.whole.archive_bucket}/{key}").decode()
    url = record["payload_ref"]
    return str(record["json_payload"]) if url is None else edge.archived(url).decode()


def contents(edge: Edge, records: Sequence[bytes]) -> set[str]:
    return {content(edge, json.loads(record)) for record in records}


def check(edge: Edge, batch: Sequence[tuple[str, str]], script: Sequence[Step], looks: int, is_whole: bool) -> None:
    environment = edge.whole if is_whole else edge.bare
    edge.enter(environment)
    edge.stream.play(script)
    messages = [sent(edge, kind, text, environment) for kind, text in batch]
    answer = handler({"Records": [each.message for each in messages]}, Context(looks))
    named = [failure["itemIdentifier"] for failure in answer["batchItemFailures"]]

    assert len(named) == len(set(named))
    told, accepted = contents(edge, edge.stream.told), contents(edge, edge.stream.accepted)
    assert set(named) == {each.id for each in messages if each.payload not in told}
    assert all(each.payload in accepted for each in messages if each.id not in named)
    assert accepted <= {each.payload for each in messages}
    for call in edge.stream.calls:
        assert len(call) <= BATCH_RECORDS
        assert sum(map(len, call)) <= BATCH_BYTES
        assert max(map(len, call)) <= RECORD_BYTES


def refusal(share: int, seed: int) -> Callable[[bytes, int], bool]:
    return lambda record, position: (seed * 31 + len(record) * 7 + position * 13) % 10 < share


TEXT = st.text(st.characters(codec="utf-8"), max_size=20)
BATCH = st.lists(st.tuples(st.sampled_from(KINDS), TEXT), min_size=1, max_size=12)
STEP = st.builds(
    Step,
    st.sampled_from(get_args(Answer)),
    st.builds(refusal, st.sampled_from([0, 0, 3, 7, 10]), st.integers(0, 99)),
)
# Two of six refused, and both again: the second call's positions are not those of the batch.
TWICE = [Step(refused=lambda record, position: position in (2, 5)), Step(refused=lambda record, position: True)]
QUIET = (HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large)


@given(batch=BATCH, script=st.lists(STEP, max_size=5), looks=st.sampled_from([1, 4, 9, 10_000]), is_whole=st.booleans())
@example(batch=[("data", "")] * 6, script=TWICE, looks=10_000, is_whole=True)
@settings(max_examples=120, deadline=None, suppress_health_check=QUIET)
def test_exactly_the_messages_not_accepted_are_reported(
    edge: Edge, batch: list[tuple[str, str]], script: list[Step], looks: int, is_whole: bool
) -> None:
    check(edge, batch, script, looks, is_whole)


def _deaf(self: DeliveryStream, records: Sequence[bytes], batch: Sequence[int]) -> tuple[Sequence[int], bool]:
    """Looks at nothing but whether the call came through."""
    try:
        self._client.put_record_batch(DeliveryStreamName=self._name, Records=[{"Data": records[at]} for at in batch])
    except Exception:
        return batch, False
    return (), False


def _shifted(self: DeliveryStream, records: Sequence[bytes], batch: Sequence[int]) -> tuple[Sequence[int], bool]:
    """The seeds' fault: positions of a shortened list are taken for those of the whole one."""
    left, is_final = PUT_BATCH(self, records, batch)
    return [list(batch).index(position) for position in left], is_final


PUT_BATCH = DeliveryStream._put_batch
PHASES = (Phase.explicit, Phase.generate)


@pytest.mark.parametrize("mutant", [_deaf, _shifted])
def test_the_property_notices_a_function_that_reports_others(
    edge: Edge, mutant: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeliveryStream, "_put_batch", mutant)

    @given(batch=BATCH, script=st.lists(STEP, max_size=5), looks=st.sampled_from([4, 9]))
    @example(batch=[("data", "")] * 6, script=TWICE, looks=10_000)
    @settings(max_examples=120, deadline=None, database=None, phases=PHASES, suppress_health_check=QUIET)
    def broken(batch: list[tuple[str, str]], script: list[Step], looks: int) -> None:
        check(edge, batch, script, looks, is_whole=True)

    with pytest.raises((AssertionError, ExceptionGroup)):
        broken()


@pytest.mark.parametrize("limit", ["BATCH_RECORDS", "BATCH_BYTES"])
def test_the_property_notices_a_broken_limit(edge: Edge, limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    batch = [("data", "")] * 501 if limit == "BATCH_RECORDS" else [("data", "x" * 900_000)] * 5
    check(edge, batch, [], 10_000, is_whole=True)
    assert len(edge.stream.calls) == 2
    monkeypatch.setattr(delivery, limit, 1 << 40)
    with pytest.raises(AssertionError):
        check(edge, batch, [], 10_000, is_whole=True)


def test_many_messages_with_partial_failures_all_arrive(edge: Edge) -> None:
    script = [Step(refused=refusal(5, 1)), Step("throttled"), Step("cut after"), Step(refused=refusal(3, 2))]
    check(edge, [("data", str(number)) for number in range(1_200)], script, 10_000, is_whole=True)
    assert len(edge.stream.told) == 1_200


def test_a_call_that_can_never_succeed_is_made_once(edge: Edge) -> None:
    check(edge, [("data", "")] * 3, [Step("forbidden")], 10_000, is_whole=True)
    assert len(edge.stream.calls) == 1


def test_a_message_that_was_accepted_is_passed_over_for_a_day(edge: Edge) -> None:
    event = {"Records": [sent(edge, "data", "", edge.whole).message for _ in range(130)]}
    assert handler(event, Context()) == {"batchItemFailures": []}
    edge.stream.play([])
    assert handler(event, Context()) == {"batchItemFailures": []}
    assert edge.stream.calls == []
    table = edge.aws.client("dynamodb")
    key = {"id": {"S": f"sqs_processor#{event['Records'][0]['messageId']}"}}
    update = "SET expiration = :past"
    table.update_item(
        TableName=edge.whole.idempotency,
        Key=key,
        UpdateExpression=update,
        ExpressionAttributeValues={":past": {"N": "1"}},
    )
    handler(event, Context())
    assert len(edge.stream.accepted) == 1


def test_a_message_that_was_not_accepted_is_not_passed_over(edge: Edge) -> None:
    event = {"Records": [sent(edge, "data", "", edge.whole).message for _ in range(3)]}
    edge.stream.play([Step("answered", lambda record, position: position == 1)] * 1 + [Step("forbidden")])
    assert handler(event, Context()) == {"batchItemFailures": [{"itemIdentifier": event["Records"][1]["messageId"]}]}
    edge.stream.play([])
    assert handler(event, Context()) == {"batchItemFailures": []}
    assert [json.loads(record)["message_id"] for record in edge.stream.accepted] == [event["Records"][1]["messageId"]]


class Crash(BaseException):
    """As a killed process: nothing catches it."""


def killed_and_delivered_again(
    edge: Edge, monkeypatch: pytest.MonkeyPatch, place: type, method: str
) -> tuple[set[str], set[str]]:
    """What was sent, and what the stream has after a kill at this call and a second delivery."""
    messages = [sent(edge, "data", "", edge.whole) for _ in range(4)]
    event = {"Records": [each.message for each in messages]}

    def killed(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(place, method, killed)
        with pytest.raises(Crash):
            handler(event, Context())
    assert handler(event, Context()) == {"batchItemFailures": []}
    return {str(each.payload) for each in messages}, contents(edge, edge.stream.accepted)


@pytest.mark.parametrize(
    ("place", "method"), [(AcceptedMessages, "among"), (DeliveryStream, "put"), (AcceptedMessages, "add")]
)
def test_a_kill_at_any_step_loses_nothing(
    edge: Edge, monkeypatch: pytest.MonkeyPatch, place: type, method: str
) -> None:
    gone_in, there = killed_and_delivered_again(edge, monkeypatch, place, method)
    assert there == gone_in


def test_the_kill_notices_notes_that_are_made_too_early(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    among = AcceptedMessages.among

    def early(self: AcceptedMessages, ids: Any) -> set[str]:
        ids = list(ids)
        found = among(self, ids)
        self.add(ids)
        return found

    monkeypatch.setattr(AcceptedMessages, "among", early)
    gone_in, there = killed_and_delivered_again(edge, monkeypatch, DeliveryStream, "put")
    assert gone_in - there == gone_in


def test_counters_are_one_metric_each_and_told_per_topic_in_the_log(
    edge: Edge, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "sqs_processor")
    kinds = ["data", "no json", "no id", "huge", "no topic", "unreadable"]
    handler({"Records": [sent(edge, kind, "", edge.whole).message for kind in kinds]}, Context())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    (metrics,) = [line for line in lines if "_aws" in line]
    (told,) = [vars(record)["counts"] for record in caplog.records if hasattr(record, "counts")]
    names = ("received", "accepted", "oversize", "not_json", "no_id", "failed", "quarantined")
    assert [told["events"].get(name, 0) for name in names] == [5, 4, 1, 1, 2, 1, 0]
    assert [told["unknown"].get(name, 0) for name in names] == [1, 1, 0, 0, 0, 0, 1]
    assert [metrics[name] for name in names] == [[6], [5], [1], [1], [2], [1], [1]]
    assert metrics["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "lean-ops"


@given(sizes=st.lists(st.integers(1, 1_024_000), max_size=40), few=st.integers(0, 1_200))
@settings(deadline=None)
def test_batches_keep_the_order_and_the_limits(sizes: list[int], few: int) -> None:
    whole = b"x" * 1_024_000
    records = [memoryview(whole)[:size] for size in [*sizes, *[1] * few]]
    found = list(batches(records, range(len(records))))  # type: ignore[arg-type]
    assert [position for batch in found for position in batch] == list(range(len(records)))
    assert all(len(batch) <= 500 and sum(len(records[at]) for at in batch) <= 4 * 1024 * 1024 for batch in found)
