"""What is sent into the queues, and what must be found of it afterwards. It shares no code with the product."""

from __future__ import annotations

import hashlib
import json
from base64 import b64encode
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from tests.traffic import load_scenario, messages, scenario_names

TOPICS = ("events", "orders", "payments")
POISON = "the delivery stream never takes this"
BATCH_BYTES = 1_048_576


class Sending(NamedTuple):
    """`message_id` and `payload` are what RAW must hold of the body."""

    topic: str
    body: str
    message_id: str
    payload: str


def traffic(count: int) -> Iterator[Sending]:
    """That many messages, spread evenly over all scenarios."""
    names = scenario_names()
    for number, name in enumerate(names):
        share = count * (number + 1) // len(names) - count * number // len(names)
        for message in messages(load_scenario(name).resized(messages=share), seed=number):
            # The traffic's own form: Pub/Sub's envelope with the payload as text.
            envelope = json.loads(message.body)
            yield Sending(message.topic, message.body, envelope["messageId"], envelope["payload"])


def poisoned(count: int) -> Iterator[Sending]:
    """Messages that end in a dead letter queue."""
    for number in range(count):
        payload = json.dumps({"n": number, "why": POISON})
        body = json.dumps({"messageId": f"poison-{number}", "publishTime": "2026-01-15T00:00:00Z", "payload": payload})
        yield Sending(TOPICS[number % len(TOPICS)], body, f"poison-{number}", payload)


def hostile() -> Iterator[Sending]:
    """Every kind once per topic."""
    for topic in TOPICS:
        for body in _without_envelope():
            yield Sending(topic, body, f"sha256-{hashlib.sha256(body.encode()).hexdigest()}", body)
        for number, (body, payload) in enumerate(_with_envelope()):
            message_id = f"{topic}-hostile-{number}"
            text = body.replace('"ID"', json.dumps(message_id))
            yield Sending(topic, text, message_id, payload.replace('"ID"', json.dumps(message_id)))
        odd = "'; drop table curated; -- ../../${x} {{ ds }} \u202e😀"
        yield Sending(topic, json.dumps({"messageId": odd, "payload": "{}"}), odd, "{}")


def _without_envelope() -> tuple[str, ...]:
    return (
        "not JSON at all",
        " ",
        "{",
        '{"messageId":',
        "[1, 2, 3]",
        "null",
        "-0.0",
        '"text"',
        '{"a": 1.10, "a": 2}',
        "[" * 5000,
        '{"é": "😀", "rtl": "\u202e"}',
        "tab\tline\nreturn\r",
        "x" * 900_000,
    )


def _with_envelope() -> tuple[tuple[str, str], ...]:
    """(body, payload); "ID" stands for the message's own id."""
    event = '{"amount":  12345678901234567.890, "_metadata": {"idempotencyKeyResource": "k"}}'
    data = b64encode(event.encode()).decode()
    flat = '{"messageId": "ID", "amount": 19.90}'
    twice = '{"messageId": "ID", "payload": "a", "payload": "b"}'
    huge = "y" * (1_048_576 - 100)
    return (
        (f'{{"messageId": "ID", "publishTime": "2026-01-15T00:00:00Z", "data": "{data}"}}', event),
        (f'{{"message": {{"messageId": "ID", "data": "{data}"}}, "subscription": "s"}}', event),
        (f'{{"messageId": "ID", "publishTime": "not a time", "payload": {event}}}', event),
        (f'{{"messageId": "ID", "payload": {json.dumps(event)}}}', event),
        ('{"messageId": "ID", "data": "%%% no base64"}', "%%% no base64"),
        (flat, flat),
        (twice, twice),
        (f'{{"messageId": "ID", "payload": "{huge}"}}', huge),
    )


def batches(sendings: Sequence[Sending]) -> Iterator[tuple[str, list[Sending]]]:
    """(topic, messages) within the limits of SendMessageBatch, in order within a topic."""
    waiting: dict[str, list[Sending]] = {}
    sizes: dict[str, int] = {}
    for sending in sendings:
        size = len(sending.body.encode())
        batch = waiting.setdefault(sending.topic, [])
        if batch and (len(batch) == 10 or sizes[sending.topic] + size > BATCH_BYTES):
            yield sending.topic, batch
            batch = waiting[sending.topic] = []
        sizes[sending.topic] = size + (sizes[sending.topic] if batch else 0)
        batch.append(sending)
    yield from ((topic, batch) for topic, batch in waiting.items() if batch)


def entries(batch: Sequence[Sending]) -> list[dict[str, Any]]:
    attributes = {"bridge": {"DataType": "String", "StringValue": "test"}}
    return [
        {"Id": str(number), "MessageBody": each.body, "MessageAttributes": attributes}
        for number, each in enumerate(batch)
    ]
