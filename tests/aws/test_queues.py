"""Which topic a queue belongs to: exactly those of this deployment, whatever an ARN holds."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.aws import moments, notifications, queues
from leanops.core.naming import Environment

HERE = Environment("dev", "123456789012", "eu-central-1")
ARN = "arn:aws:sqs:eu-central-1:123456789012:lean-ops-dev-"


@settings(deadline=None)
@given(st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True).filter(lambda name: queues._topic(name) is not None))
def test_names_lead_back_to_their_topic(topic: str) -> None:
    names = HERE.topic(topic)
    assert queues.topic_of_dead_letter_queue(HERE, queues.arn(HERE, names.dead_letter_queue)) == topic
    assert queues.topic_of_dead_letter_queue(HERE, queues.arn(HERE, names.queue)) is None


@pytest.mark.parametrize(
    "arn",
    [
        None,
        5,
        "",
        ARN,
        ARN + "-dlq",
        ARN + "select-dlq",
        ARN + "a/../b-dlq",
        ARN + "alpha-dlq:x",
        ARN + "alpha-dlq\n",
        ARN.replace("sqs", "sns") + "alpha-dlq",
        ARN.replace("dev", "prod") + "alpha-dlq",
        ARN.replace("123456789012", "123456789013") + "alpha-dlq",
        ARN.replace("eu-central-1", "us-east-1") + "alpha-dlq",
    ],
)
def test_any_other_arn_is_nobodys(arn: object) -> None:
    assert queues.topic_of_dead_letter_queue(HERE, arn) is None


@settings(deadline=None)
@given(st.text())
def test_no_text_breaks_the_reader(text: str) -> None:
    assert queues.topic_of_dead_letter_queue(HERE, text) is None


@settings(deadline=None)
@given(
    st.datetimes(min_value=moments.EPOCH.replace(tzinfo=None)),
    st.datetimes(min_value=moments.EPOCH.replace(tzinfo=None)),
)
def test_order_of_moments_is_order_of_their_text(one, other) -> None:  # type: ignore[no-untyped-def]
    one, other = one.replace(tzinfo=moments.UTC), other.replace(tzinfo=moments.UTC)
    assert (one < other) == (moments.text(one) < moments.text(other))
    assert len(moments.text(one)) == 27


@settings(deadline=None)
@given(st.text())
def test_only_numbers_are_milliseconds(text: str) -> None:
    found = moments.from_millis(text)
    assert found is None or text.strip().lstrip("+-").replace("_", "").isdigit()


@settings(deadline=None)
@given(st.text(max_size=300))
def test_any_text_becomes_a_subject_that_sns_takes(text: str) -> None:
    subject = notifications.as_subject(text)
    assert 0 < len(subject) < 100
    assert subject.isascii()
    assert subject.isprintable()


def test_a_long_message_is_cut_and_says_so() -> None:
    cut = notifications.as_message("я" * 200_000)
    assert len(cut.encode()) <= 262_144
    assert cut.endswith("(cut; the log has the rest)")
    assert notifications.as_message("") == "(no text)"
