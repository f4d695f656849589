"""The replay on the local AWS: what the index selects gets into the queue again, and a repeated request adds nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lambdas.circuit_breaker.probe import event_record
from lambdas.dlq_drainer.handler import handler as drainer
from lambdas.dlq_replay import replay as replay_module
from lambdas.dlq_replay.handler import handler
from lambdas.dlq_replay.replay import NoQueue, Replay
from lambdas.dlq_replay.request import Request
from leanops.aws import moments
from leanops.aws.dead_letters import Archive, Entry, Index, archive_key, entry
from tests.aws.deployment import Context, Deployment

START = datetime(2026, 11, 18, 10, tzinfo=UTC)
REQUEST: dict[str, Any] = {
    "topic": "alpha",
    "from": "2026-11-18T10:00:00Z",
    "to": "2026-11-18T12:00:00+01:00",
    "rate": 1000,
    "requested_by": "tests",
}


def archived(deployment: Deployment, count: int, topic: str = "alpha", reason: str = "undelivered") -> list[str]:
    """Bodies of messages that the drainer would have left behind, one a second."""
    environment = deployment.environment
    for place in range(count):
        moment, name = START + timedelta(seconds=place), f"{topic}-{reason}-{place}"
        key = archive_key(environment, topic, moment, name)
        document = {
            "sqs_message_id": name,
            "topic_name": topic,
            "body": f"body of {name}",
            "message_attributes": {},
        }
        Archive(environment).write(key, document)
        Index(environment).add(Entry(topic, entry(moment, name), name, key, reason), moment, {})
    return [f"body of {topic}-{reason}-{place}" for place in range(count)]


def replayed(seconds: float = 300.0, **more: Any) -> dict[str, Any]:
    return handler(REQUEST | more, Context(seconds))


def bodies(deployment: Deployment, topic: str = "alpha") -> list[str]:
    return sorted(each["Body"] for each in deployment.messages(deployment.environment.topic(topic).queue))


def counts(answer: dict[str, Any]) -> dict[str, int]:
    return {name: answer[name] for name in ("sent", "already_sent", "in_flight", "failed") if answer[name]}


def test_body_and_attributes_survive_the_way_from_queue_over_archive_to_queue(deployment: Deployment) -> None:
    names, sqs = deployment.environment.topic("alpha"), deployment.client("sqs")
    attributes = {
        "text": {"DataType": "String", "StringValue": "grün"},
        "number": {"DataType": "Number.int", "StringValue": "12345678901234567"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"},
    }
    body = ' {"messageId": "m1", "n": 1.10, "t": "\u2028 \\ud83d"} '
    sqs.send_message(QueueUrl=deployment.url(names.dead_letter_queue), MessageBody=body, MessageAttributes=attributes)
    (dead,) = deployment.messages(names.dead_letter_queue)
    record = event_record(dead, deployment.queue_arn(names.dead_letter_queue), deployment.environment.region)
    assert drainer({"Records": [record]}, Context()) == {"batchItemFailures": []}

    answer = replayed(**{"from": "2020-01-01T00:00:00Z", "to": "2100-01-01T00:00:00Z"})
    assert (answer["sent"], answer["complete"], answer["problems"]) == (1, True, [])
    (message,) = deployment.messages(names.queue)
    assert message["Body"] == body
    assert message["MessageAttributes"] == attributes
    (item,) = deployment.items(deployment.environment.dlq_index)
    assert item["replays"] == [answer["replay_id"]]
    assert (item["replayed_by"], item["replayed_as"]) == ("tests", message["MessageId"])
    assert "lease_until" not in item


def test_the_same_request_sends_nothing_twice(deployment: Deployment) -> None:
    expected = archived(deployment, 23)
    first = replayed()
    assert counts(first) == {"sent": 23}
    assert counts(replayed()) == {"already_sent": 23}
    assert counts(replayed(requested_by="another", rate=5)) == {"already_sent": 23}
    assert bodies(deployment) == sorted(expected)


def test_again_sends_once_more_and_then_no_more(deployment: Deployment) -> None:
    expected = archived(deployment, 3)
    replayed()
    assert counts(replayed(again=True)) == {"sent": 3}
    assert counts(replayed(again=True, replay_id="second")) == {"sent": 3}
    # Each of the three is done, whichever came last.
    assert counts(replayed(again=True)) == {"already_sent": 3}
    assert counts(replayed(again=True, replay_id="second")) == {"already_sent": 3}
    assert counts(replayed()) == {"already_sent": 3}
    assert bodies(deployment) == sorted(expected * 3)


def test_a_dry_run_counts_and_changes_nothing(deployment: Deployment) -> None:
    archived(deployment, 4)
    archived(deployment, 2, reason="too_large")
    before = deployment.items(deployment.environment.dlq_index)
    answer = replayed(dry_run=True)
    assert (answer["would_send"], answer["sent"], answer["selected"]) == (6, 0, 6)
    assert answer["reasons"] == {"undelivered": 4, "too_large": 2}
    assert bodies(deployment) == []
    assert deployment.items(deployment.environment.dlq_index) == before


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        ({"to": "2026-11-18T10:00:02Z"}, {"undelivered-0", "undelivered-1", "too_large-0", "too_large-1"}),
        ({"from": "2026-11-18T10:00:03Z"}, {"undelivered-3", "too_large-3"}),
        ({"reason": "too_large"}, {f"too_large-{place}" for place in range(4)}),
        ({"ids": ["alpha-undelivered-2", "elsewhere"]}, {"undelivered-2"}),
        ({"reason": "too_large", "ids": ["alpha-undelivered-2"]}, set()),
        ({"topic": "beta_2"}, set()),
    ],
)
def test_only_what_is_selected_is_sent(deployment: Deployment, selection: dict[str, Any], expected: set[str]) -> None:
    archived(deployment, 4)
    archived(deployment, 4, reason="too_large")
    assert replayed(**selection)["sent"] == len(expected)
    assert bodies(deployment) == sorted(f"body of alpha-{name}" for name in expected)


@pytest.mark.parametrize("operation", ["SQS.SendMessageBatch", "GET /", "DynamoDB.UpdateItem"])
@pytest.mark.parametrize("nth", [1, 2])
def test_a_refused_call_is_reported_and_made_up_for_by_a_repetition(
    deployment: Deployment, operation: str, nth: int
) -> None:
    expected = archived(deployment, 13)
    deployment.proxy.spoil_once(operation, "refuse", nth)
    first = replayed()
    assert first["problems"]
    assert first["sent"] + first["failed"] == 13
    assert first["failed"] >= 1

    deployment.proxy.heal()
    second = replayed()
    assert counts(second) == {"sent": first["failed"], "already_sent": first["sent"]}
    assert bodies(deployment) == sorted(expected)


def test_a_lost_answer_sends_again_rather_than_not_at_all(deployment: Deployment) -> None:
    expected = archived(deployment, 3)
    deployment.proxy.spoil_once("SQS.SendMessageBatch", "lose")
    assert counts(replayed()) == {"failed": 3}
    assert counts(replayed()) == {"sent": 3}
    assert bodies(deployment) == sorted(expected * 2)


def test_a_sent_message_that_can_not_be_marked_is_told_and_left_alone_until_its_mark_ends(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a crash between sending and marking."""
    expected = archived(deployment, 2)
    # Two claims, then the marks.
    calls = iter(range(100))
    deployment.proxy.spoil(lambda call: "refuse" if "UpdateItem" in call and next(calls) >= 2 else None)
    first = replayed(seconds=60)
    assert counts(first) == {"sent": 2}
    assert all("sent, but not marked" in problem for problem in first["problems"])

    deployment.proxy.heal()
    assert counts(replayed()) == {"in_flight": 2}
    assert bodies(deployment) == expected
    # The time of the function that sent, and a minute for clocks that differ.
    monkeypatch.setattr(moments, "now", lambda: datetime.now(UTC) + timedelta(seconds=121))
    assert counts(replayed()) == {"sent": 2}
    assert counts(replayed()) == {"already_sent": 2}
    assert bodies(deployment) == expected


def test_a_crash_before_sending_loses_nothing(deployment: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = archived(deployment, 3)

    def crash(*_: object) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Replay, "_send", crash)
        with pytest.raises(KeyboardInterrupt):
            replayed(seconds=60)
    assert counts(replayed()) == {"in_flight": 3}
    monkeypatch.setattr(moments, "now", lambda: datetime.now(UTC) + timedelta(seconds=121))
    assert counts(replayed()) == {"sent": 3}
    assert bodies(deployment) == sorted(expected)


def test_two_runs_at_once_share_the_messages_out(deployment: Deployment) -> None:
    expected = archived(deployment, 40)
    with ThreadPoolExecutor(3) as threads:
        answers = list(threads.map(lambda _: replayed(), range(3)))
    assert sum(answer["sent"] for answer in answers) == 40
    assert bodies(deployment) == sorted(expected)


def test_short_of_time_it_says_where_to_go_on(deployment: Deployment) -> None:
    expected = archived(deployment, 25)
    context = Context(replay_module.RESERVE_SECONDS + 1)

    def one_group_only(call: str) -> None:
        if "SendMessageBatch" in call:
            context.seconds = 0

    deployment.proxy.spoil(one_group_only)
    answer = handler(REQUEST, context)
    assert (answer["sent"], answer["selected"], answer["complete"]) == (10, 10, False)
    assert counts(replayed(0)) == {}

    rest = replayed(continuation=answer["continuation"])
    assert (rest["sent"], rest["complete"], rest["continuation"]) == (15, True, None)
    assert bodies(deployment) == sorted(expected)


def test_the_rate_is_kept(deployment: Deployment) -> None:
    archived(deployment, 8)
    now, waits = 0.0, []

    def pause(seconds: float) -> None:
        nonlocal now
        now += seconds
        waits.append(round(seconds, 3))

    request = Request.of(REQUEST | {"rate": 2.5})
    outcome = Replay(deployment.environment, request, lambda: 300.0, pause, lambda: now).run()
    # Two at a time, since no second may see more than the rate.
    assert (outcome.sent, waits) == (8, [0.8, 0.8, 0.8])


def test_a_rate_slower_than_the_time_left_still_sends_one(deployment: Deployment) -> None:
    archived(deployment, 2)
    answer = replayed(rate=0.001)
    assert (answer["sent"], answer["complete"]) == (1, False)


def damaged(change: Callable[[dict[str, Any]], None]) -> Callable[[Deployment, str], None]:
    def damage(deployment: Deployment, key: str) -> None:
        document = Archive(deployment.environment).read(key)
        change(document)
        Archive(deployment.environment).write(key, document)

    return damage


def deleted(deployment: Deployment, key: str) -> None:
    deployment.client("s3").delete_object(Bucket=deployment.environment.archive_bucket, Key=key)


def overwritten(content: bytes) -> Callable[[Deployment, str], None]:
    return lambda deployment, key: deployment.client("s3").put_object(
        Bucket=deployment.environment.archive_bucket, Key=key, Body=content
    )


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (deleted, "there is no such object"),
        (overwritten(b"no json"), "it is not JSON"),
        (overwritten(b"[]"), "it holds no message"),
        (damaged(lambda document: document.update(topic_name="beta_2")), "another message's"),
        (damaged(lambda document: document.update(sqs_message_id="b")), "another message's"),
        (damaged(lambda document: document.update(message_attributes=[])), "attributes are missing"),
        (damaged(lambda document: document.update(message_attributes={"x": {}})), "no type"),
        (damaged(lambda document: document.update(message_attributes={"x": {"dataType": "Binary"}})), "no value"),
    ],
)
def test_a_damaged_archive_is_a_problem_of_its_own_message_only(
    deployment: Deployment, damage: Callable[[Deployment, str], None], problem: str
) -> None:
    expected = archived(deployment, 3)
    damage(deployment, sorted(deployment.archived())[1])
    answer = replayed()
    assert counts(answer) == {"sent": 2, "failed": 1}
    assert problem in answer["problems"][0]
    assert bodies(deployment) == [expected[0], expected[2]]


def test_large_messages_go_in_several_requests(deployment: Deployment) -> None:
    expected = archived(deployment, 3)
    for key in deployment.archived():
        damaged(lambda document: document.update(body="x" * 600_000))(deployment, key)
    assert counts(replayed()) == {"sent": 3}
    assert bodies(deployment) == ["x" * 600_000] * len(expected)


def test_no_more_than_twenty_problems_are_listed(deployment: Deployment) -> None:
    archived(deployment, 25)
    deployment.proxy.spoil(lambda call: "refuse" if "SendMessageBatch" in call else None)
    answer = replayed()
    assert (answer["failed"], len(answer["problems"])) == (25, 20)
    assert len(json.dumps(answer)) < 10_000


def test_an_index_that_stops_answering_ends_the_run_with_what_was_done(deployment: Deployment) -> None:
    archived(deployment, 2)
    deployment.proxy.spoil_once("DynamoDB.Query", "refuse")
    answer = replayed()
    assert (answer["complete"], answer["sent"]) == (False, 0)
    assert "index stopped answering" in answer["problems"][0]


def test_a_topic_without_a_queue_is_refused_before_anything_is_marked(deployment: Deployment) -> None:
    with pytest.raises(NoQueue, match="Cannot replay, the topic has no queue"):
        replayed(topic="gamma")
