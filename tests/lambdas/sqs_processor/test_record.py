from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lambdas.sqs_processor.record import RECORD_BYTES, RawRecord, from_millis, moment, outgoing, sent_millis
from leanops.core import layout
from leanops.core.naming import QUARANTINE_TABLE, Environment
from leanops.core.types import NotOfType, timestamp
from tests.lambdas.sqs_processor.messages import SENT, SENT_TEXT, pubsub, sqs

DEV = Environment("dev", "000000000000", "eu-central-1")


def made(message: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(outgoing(message, DEV).data)
    return found


def test_the_records_have_the_columns_of_their_tables() -> None:
    assert list(made(sqs(pubsub("{}")))) == [field.name for field in layout.RAW_FIELDS]
    quarantined = made(sqs("{}", topic="No-Topic"))
    assert quarantined.pop("_table") == layout.QUARANTINE.table
    assert list(quarantined) == [field.name for field in layout.QUARANTINE.fields]


def test_a_message_becomes_a_raw_record() -> None:
    payload = '{"_metadata":{"idempotencyKeyResource":"k","periodReference":"2026-07","correlationId":"c","lastUpdatedTs":"t"}, "n":1.0}'
    assert made(sqs(pubsub(payload, attributes={"origin": "g"}))) == {
        "message_id": "m-1",
        "topic_name": "events",
        "publish_time": "2026-07-20T09:59:59.500000Z",
        "ingestion_ts": SENT,
        "json_payload": payload,
        "payload_ref": None,
        "attributes": '{"origin": "g"}',
        "idempotency_key": "k",
        "period_reference": "2026-07",
        "correlation_id": "c",
        "last_updated_ts": "t",
    }


def test_a_repeated_delivery_makes_the_same_record() -> None:
    first, second = sqs("no json"), sqs("no json")
    second["attributes"] |= {"ApproximateReceiveCount": "4", "ApproximateFirstReceiveTimestamp": str(SENT + 9)}
    assert outgoing(first, DEV) == outgoing(second, DEV)


def test_a_message_that_is_not_json_lands_with_an_id_of_its_content_and_the_queues_time() -> None:
    found = outgoing(sqs("no json"), DEV)
    record = json.loads(found.data)
    assert record["message_id"] == f"sha256-{hashlib.sha256(b'no json').hexdigest()}"
    assert (record["json_payload"], record["publish_time"], record["ingestion_ts"]) == ("no json", SENT_TEXT, SENT)
    assert found.notes == ("no_id", "not_json")


@pytest.mark.parametrize("time", ["", "yesterday", "2026-13-01T00:00:00Z", "2026-07-20", "2026-07-20T10:00:60Z"])
def test_an_unreadable_time_gives_way_to_the_queues(time: str) -> None:
    assert made(sqs(pubsub("{}", time=time)))["publish_time"] == SENT_TEXT


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ({"SentTimestamp": "5", "ApproximateFirstReceiveTimestamp": "7"}, 5),
        ({"SentTimestamp": "x", "ApproximateFirstReceiveTimestamp": "7"}, 7),
        ({"SentTimestamp": "9" * 14999}, 0),
        ({"SentTimestamp": "999999999999999"}, 0),
        ({}, 0),
    ],
)
def test_the_time_of_ingestion_is_when_the_queue_took_it(system: dict[str, str], expected: int) -> None:
    assert sent_millis(system) == expected


@given(
    st.from_regex(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,10})?)?(Z|[+-][0-9]{2}:[0-9]{2})?",
        fullmatch=True,
    )
    | st.text(st.sampled_from("0123456789-:.TZ+ W"), min_size=18, max_size=31)
    | st.datetimes().map(lambda time: f"{time.isoformat()}Z")
)
@example("2026-07-20T10:00:00.Z")
@example("20260720T100000.0000Z")
@example("2026-W29-1T10:00:00Z")
@example("2026-07-20T10:00:00,5Z")
@example("٢٠٢٦-07-20T10:00:00Z")
def test_times_are_read_by_the_rule_for_timestamps(text: str) -> None:
    try:
        expected: datetime | None = timestamp(text)
    except NotOfType:
        expected = None
    found = moment(text)
    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert len(found) == 27
        assert datetime.fromisoformat(found) == expected


def test_milliseconds_become_utc() -> None:
    assert from_millis(SENT) == SENT_TEXT
    assert from_millis(0) == datetime(1970, 1, 1, tzinfo=UTC).strftime("%Y-%m-%dT%H:%M:%S.000000Z")


@pytest.mark.parametrize(
    "arn",
    [
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-dev-events-dlq",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-prod-events",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-dev-",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-dev-quarantine",
        "arn:aws:sqs:eu-central-1:000000000000:lean-ops-dev-x;drop table",
        "\ud800",
        "",
    ],
)
def test_a_queue_without_a_topic_leads_to_quarantine_with_the_whole_body(arn: str) -> None:
    body = pubsub("{}")
    record = made(sqs(body, eventSourceARN=arn))
    assert (record["_table"], record["reason"], record["body"]) == (QUARANTINE_TABLE, "unknown_topic", body)
    assert (record["sqs_message_id"], record["message_id"], record["receive_count"]) == ("sqs-1", "m-1", 1)
    assert record["sent_at"] == record["quarantined_at"] == SENT_TEXT


def test_a_payload_too_large_for_the_stream_goes_to_the_archive_and_a_pointer_goes_on() -> None:
    # Each quote is two letters in a record.
    payload = '"' * (RECORD_BYTES // 2)
    found = outgoing(sqs(pubsub(payload)), DEV)
    record = json.loads(found.data)
    assert found.oversize is not None
    assert found.oversize.content == payload.encode()
    digest = hashlib.sha256(payload.encode()).hexdigest()
    assert found.oversize.key == f"oversize/topic=events/day=2026-07-20/{digest}"
    assert (record["json_payload"], record["payload_ref"]) == (None, f"s3://{DEV.archive_bucket}/{found.oversize.key}")
    assert (record["message_id"], found.notes) == ("m-1", ("oversize",))


def test_the_limit_is_kept_to_the_byte() -> None:
    empty = len(outgoing(sqs(pubsub("")), DEV).data)
    fits = outgoing(sqs(pubsub("x" * (RECORD_BYTES - empty))), DEV)
    assert (len(fits.data), fits.oversize) == (RECORD_BYTES, None)
    assert outgoing(sqs(pubsub("x" * (RECORD_BYTES - empty + 1))), DEV).oversize is not None


@pytest.mark.parametrize("topic", ["events", "No-Topic"])
def test_an_envelope_too_large_for_the_stream_is_quarantined_with_its_body_in_the_archive(topic: str) -> None:
    body = json.dumps({"messageId": "m" * RECORD_BYTES, "payload": "{}"})
    found = outgoing(sqs(body, topic=topic), DEV)
    record = json.loads(found.data)
    assert found.oversize is not None
    assert found.oversize.content == body.encode()
    assert (record["body"], record["archive_key"]) == (None, found.oversize.key)
    assert record["reason"] == ("too_large" if topic == "events" else "unknown_topic")
    assert len(found.data) < 4096


def test_attributes_of_the_queue_stand_beside_those_of_the_message() -> None:
    given_ = {
        "trace": {"dataType": "String", "stringValue": "é\ud800"},
        "bin": {"dataType": "Binary", "binaryValue": "AA=="},
    }
    expected = {"sqs.trace": "é\\ud800", "sqs.bin": "AA=="}
    assert json.loads(made(sqs("{}", messageAttributes=given_))["attributes"]) == expected
    both = made(sqs(pubsub("{}", attributes={"k": "v"}), messageAttributes=given_))["attributes"]
    assert json.loads(both) == {"k": "v"} | expected


@given(body=st.text(), topic=st.sampled_from(["events", "-"]))
def test_any_body_becomes_a_record_in_utf_8(body: str, topic: str) -> None:
    record = json.loads(outgoing(sqs(body, topic=topic), DEV).data.decode())
    kept = record["body"] if "_table" in record else record["json_payload"]
    assert kept == body.encode("utf-8", "backslashreplace").decode()


def test_the_struct_names_all_raw_columns() -> None:
    assert RawRecord.__struct_fields__ == tuple(field.name for field in layout.RAW_FIELDS)
