"""Alerts on the local AWS: what people read, once where once is enough."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from leanops.aws.alerts import CLAIM_SECONDS, UNKNOWN_NEXT_STEP, Alert, Alerts, notice_key, of_error, useful_line
from leanops.aws.checkpoints import Checkpoints
from leanops.core.errors import InvalidName, LeanOpsError
from tests.aws.state import State, Way, state_of
from tests.emulator import Aws

KIND = "no_contract"


@pytest.fixture(scope="module")
def shared(aws: Aws) -> Iterator[State]:
    with state_of(aws) as found:
        environment = found.environment
        arn = found.client("sns").create_topic(Name=environment.notifications)["TopicArn"]
        queue = found.client("sqs").create_queue(QueueName=f"{environment.prefix}-mailbox")["QueueUrl"]
        attributes = found.client("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])
        found.client("sns").subscribe(TopicArn=arn, Protocol="sqs", Endpoint=attributes["Attributes"]["QueueArn"])
        yield found


@pytest.fixture
def state(shared: State) -> State:
    mail(shared)
    return shared.fresh()


def mail(state: State) -> list[dict[str, Any]]:
    """What people were told since the last look."""
    sqs = state.client("sqs")
    url = sqs.get_queue_url(QueueName=f"{state.environment.prefix}-mailbox")["QueueUrl"]
    found: list[dict[str, Any]] = []
    while page := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for each in page:
            found.append(json.loads(each["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=each["ReceiptHandle"])
    return found


def alerts(state: State) -> Alerts:
    return Alerts(state.environment, state.once("sns"), state.once("dynamodb"), pause=state.pauses.append)


def notice(state: State) -> Alert:
    return Alert(state.topic, KIND, "No contract is active", "Upload one to pending/.", severity="notice")


def stands(state: State) -> bool:
    return KIND in Checkpoints(state.environment).look_up(state.names, notices=(KIND,)).notices


def test_an_alert_says_what_happened_with_what_and_what_to_do(state: State) -> None:
    alert = Alert(
        topic=state.topic,
        kind="job_failed",
        headline="curate failed",
        next_step="Group violations by column, mend the contract, clear the run.",
        layer="curated",
        batch=7,
        error="Cannot publish Curated, 9 of 10 rows are rejected\nmore",
        link="https://airflow.example.com/dags/topic_events/runs/r",
        run_id="scheduled__1",
        route="data-alerts",
    )
    alerts(state).send(alert)
    (told,) = mail(state)
    assert told["Subject"] == f"[error] {state.topic}: curate failed, batch 7"
    assert told["Message"].splitlines() == [
        "curate failed",
        "",
        f"Topic: {state.topic}",
        "Layer: curated",
        "Batch: 7",
        "Error: Cannot publish Curated, 9 of 10 rows are rejected",
        "Next step: Group violations by column, mend the contract, clear the run.",
        "Link: https://airflow.example.com/dags/topic_events/runs/r",
        "Run: scheduled__1",
        f"Environment: test ({state.environment.account}, eu-central-1)",
    ]
    assert {name: each["Value"] for name, each in told["MessageAttributes"].items()} == {
        "topic": state.topic,
        "kind": "job_failed",
        "severity": "error",
        "layer": "curated",
        "route": "data-alerts",
    }


def test_an_alert_without_a_batch_has_no_empty_lines(state: State) -> None:
    text = notice(state).text(state.environment)
    assert "Batch" not in text
    assert "None" not in text


def test_a_headline_of_many_lines_and_letters_still_fits(state: State) -> None:
    alerts(state).send(replace(notice(state), headline="Größe\nund " + "x" * 300))
    (told,) = mail(state)
    assert "\n" not in told["Subject"]
    assert len(told["Subject"]) < 100


# Notices


def test_a_notice_is_sent_once_and_again_after_its_condition_ended(state: State) -> None:
    assert not stands(state)
    assert alerts(state).send_once(notice(state))
    assert stands(state)
    assert not alerts(state).send_once(notice(state))
    assert len(mail(state)) == 1
    assert alerts(state).rearm(state.topic, KIND)
    assert not alerts(state).rearm(state.topic, KIND)
    assert not stands(state)
    assert alerts(state).send_once(notice(state))
    assert len(mail(state)) == 1


def test_notices_of_other_kinds_and_topics_are_their_own(state: State) -> None:
    other = state.fresh()
    assert alerts(state).send_once(notice(state))
    assert alerts(state).send_once(replace(notice(state), kind="contract_refused"))
    assert alerts(state).send_once(notice(other))
    assert len(mail(state)) == 3


def test_of_many_at_once_one_sends(state: State) -> None:
    store = alerts(state)
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: store.send_once(notice(state)), range(8)))
    assert sum(sent) == 1
    assert len(mail(state)) == 1


def test_a_notice_that_could_not_be_sent_is_sent_by_the_next(state: State) -> None:
    """SNS speaks no JSON targets: its calls are plain POSTs."""
    state.proxy.spoil_once("POST /", "refuse")
    with pytest.raises(ClientError):
        alerts(state).send_once(notice(state))
    state.proxy.heal()
    assert not stands(state)
    # For a while it is left to whoever has claimed it.
    assert not alerts(state).send_once(notice(state))
    state.proxy.shift = CLAIM_SECONDS + 5
    assert alerts(state).send_once(notice(state))
    assert stands(state)
    assert len(mail(state)) == 1


@pytest.mark.parametrize("way", ["cut", "throttled", "broken", "garbage"])
def test_a_claim_whose_answer_got_lost_is_recognised(state: State, way: Way) -> None:
    state.proxy.way = way
    state.proxy.spoil_once("UpdateItem", "lose")
    assert alerts(state).send_once(notice(state))
    assert len(mail(state)) == 1
    assert stands(state)


def test_a_notice_whose_condition_ended_while_it_was_sent_stays_ended(state: State) -> None:
    store = alerts(state)
    send = store.send

    def send_and_end(alert: Alert) -> None:
        send(alert)
        store.rearm(state.topic, KIND)

    store.send = send_and_end  # type: ignore[method-assign]
    assert store.send_once(notice(state))
    assert not stands(state)
    assert state.item(state.environment.checkpoints, **notice_key(state.topic, KIND)) is None


@pytest.mark.parametrize("way", ["cut", "garbage"])
def test_an_outage_of_a_moment_is_waited_for(state: State, way: Way) -> None:
    state.proxy.way = way
    state.proxy.spoil_once("POST /", "refuse")
    alerts(state).send(notice(state))
    assert len(mail(state)) == 1
    assert len(state.pauses) == 1


@pytest.mark.parametrize("kind", ["", "No Contract", "a#b", "x" * 41])
def test_a_kind_is_a_short_word(state: State, kind: str) -> None:
    with pytest.raises(InvalidName):
        notice_key(state.topic, kind)


# What people read first

TRACE = """An error occurred while calling o12.sql.
: org.apache.spark.SparkException: Job aborted
\tat org.apache.spark.Foo(Foo.scala:1)
"""
WORKER = """  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "x.py", line 1, in f
    raise ValueError("bad")
ValueError: bad

"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("one\ntwo", "one"),
        (TRACE, "org.apache.spark.SparkException: Job aborted"),
        (WORKER, "ValueError: bad"),
        ("Traceback (most recent call last):\n  File", "File"),
        ("\n\n", "(no text)"),
        ("x" * 700, "x" * 600 + "…"),
    ],
)
def test_the_first_useful_line_is_found(text: str, line: str) -> None:
    assert useful_line(text) == line


def test_an_error_of_ours_brings_its_next_step() -> None:
    error = LeanOpsError("do it", "it is broken", "x", "Mend\n  it.")
    alert = of_error(error, topic="events", kind="job_failed", headline="curate failed", batch=3)
    assert (alert.next_step, alert.error, alert.batch) == ("Mend it.", str(error), 3)


def test_any_other_error_gets_one() -> None:
    alert = of_error(KeyError("x"), topic="events", kind="job_failed", headline="gate failed")
    assert (alert.next_step, alert.error) == (UNKNOWN_NEXT_STEP, "KeyError: 'x'")
    assert of_error(KeyError(), topic="e", kind="k", headline="h", next_step="Do.").next_step == "Do."
