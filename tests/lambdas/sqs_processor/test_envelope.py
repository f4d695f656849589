from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.sqs_processor.envelope import Envelope, Keys, keys, read
from lambdas.sqs_processor.members import members
from tests.lambdas.sqs_processor.messages import pubsub

TIME = "2026-07-20T10:00:00.123456789Z"
EVENT = '{"a": 19.90,\t"b":[1 , 2], "a2":1E+2}'
DATA = base64.b64encode(EVENT.encode()).decode()
LITERAL = json.dumps(EVENT)

FORMS = {
    "data": f'{{"messageId":"m1","publishTime":"{TIME}","data":"{DATA}"}}',
    "snake": f'{{"message_id":"m1","publish_time":"{TIME}","data":"{DATA}"}}',
    "both cases": f'{{"message_id":"m1","messageId":"m1","publish_time":"{TIME}","publishTime":"{TIME}","data":"{DATA}"}}',
    "push": f'{{"message":{{"messageId":"m1","publishTime":"{TIME}","data":"{DATA}"}}}}',
    "payload text": f'{{"messageId":"m1","publishTime":"{TIME}","payload":{LITERAL}}}',
    "payload object": f'{{"messageId":"m1","publishTime":"{TIME}","payload": {EVENT} }}',
    "push with payload": f'{{"message":{{"messageId":"m1","publishTime":"{TIME}","payload":{EVENT}}}}}',
    "byte order mark": f'\ufeff{{"messageId":"m1","publishTime":"{TIME}","data":"{DATA}"}}',
    "escaped names": f'{{"message\\u0049d":"m1","publishTime":"{TIME}","d\\u0061ta":"{DATA}"}}',
}


@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS.keys())
def test_the_payload_is_the_text_that_was_received_in_the_form(body: str) -> None:
    assert read(body) == Envelope("m1", TIME, None, EVENT)


@pytest.mark.parametrize(
    "body",
    [
        '{"messageId":"m1","publishTime":"t","b":1}',
        '{"message_id":"m1","publish_time":"t","b":{"payload":1,"data":2}}',
        ' {"b":1,"_metadata":{"messageId":"m1","publishTime":"t"}}\n',
        '{"b":NaN,"_metadata":{"message_id":"m1","publish_time":"t"}}',
        '{"messageId":"m1","publishTime":"t","attributes":{"k":"v"}}',
        # A `data` or `payload` that is one member of an event among others.
        '{"messageId":"m1","publishTime":"t","data":{"b":1}}',
        '{"messageId":"m1","publishTime":"t","payload":{"b":1},"_metadata":{}}',
        '{"messageId":"m1","publishTime":"t","payload":{"b":1},"data":"eA=="}',
        # Named twice: choosing one would be a guess; Standardized names the repeated key.
        '{"messageId":"m1","publishTime":"t","payload":{"b":1},"payload":{"b":2}}',
        '{"messageId":"m1","publishTime":"t","data":"eA==","data":"eQ=="}',
    ],
)
def test_a_flat_event_is_its_own_payload(body: str) -> None:
    assert read(body) == Envelope("m1", "t", None, body)


@pytest.mark.parametrize(
    "body", ["", " ", "no", "[1]", '"x"', "17", "{", '{"a":1', '{"a":1,}', '{"a" 1}', "{} {}", '{"a":}', "\x00"]
)
def test_a_body_that_is_no_object_is_kept_as_payload(body: str) -> None:
    assert read(body) == Envelope(None, None, None, body, is_json=False)


@pytest.mark.parametrize("data", ["{}", "e30", "e30=\n", "e30==", "é", '{"a":1}', "gICA", "/////w=="])
def test_data_that_is_not_base64_of_utf_8_is_kept_as_it_is(data: str) -> None:
    assert read(json.dumps({"messageId": "m1", "data": data})).payload == data


def test_data_may_be_empty() -> None:
    assert read('{"messageId":"m1","data":""}') == Envelope("m1", None, None, "")


@pytest.mark.parametrize(
    ("given_id", "expected"),
    [
        ('"x"', "x"),
        ("17", "17"),
        ('""', None),
        ('" "', None),
        ("null", None),
        ("true", None),
        ("{}", None),
        ("1.50", "1.50"),
        ("9" * 5000, "9" * 5000),
    ],
)
def test_an_id_is_text_or_a_number(given_id: str, expected: str | None) -> None:
    assert read(f'{{"messageId":{given_id},"payload":"p"}}') == Envelope(expected, None, None, "p")


@pytest.mark.parametrize(
    ("members_", "expected"),
    [
        ('"attributes":{"k": "v"}', '{"k": "v"}'),
        ('"attributes":null', None),
        ('"attributes":{}', "{}"),
        ('"attributes":{"k": "v"},"orderingKey":"o"', '{"k": "v","envelope.orderingKey":"o"}'),
        ('"attributes":{ },"ordering_key":"o"', '{"envelope.ordering_key":"o"}'),
        ('"attributes":[1]', '{"envelope.attributes":[1]}'),
        ('"source":{"x":1.0}', '{"envelope.source":{"x":1.0}}'),
        ('"attributes":{"k":"\\ud800"}', '{"k":"\\ud800"}'),
    ],
)
def test_what_the_envelope_says_besides_is_kept_among_the_attributes(members_: str, expected: str | None) -> None:
    assert read(f'{{"messageId":"m1","payload":"p",{members_}}}') == Envelope("m1", None, expected, "p")


def test_what_a_push_says_besides_is_kept_among_the_attributes() -> None:
    body = '{"message":{"messageId":"m1","data":"eA==","attributes":{"k":"v"}},"subscription":"s","deliveryAttempt":2}'
    kept = '{"k":"v","envelope.subscription":"s","envelope.deliveryAttempt":2}'
    assert read(body) == Envelope("m1", None, kept, "x")
    without_data = '{"message":{"messageId":"m1","attributes":{"k":"v"}},"subscription":"s"}'
    inner = '{"messageId":"m1","attributes":{"k":"v"}}'
    assert read(without_data) == Envelope("m1", None, '{"envelope.subscription":"s"}', inner)


@pytest.mark.parametrize(
    ("payload", "kept"),
    [
        ('{"a":NaN}', '{"a":NaN}'),
        ('{"a":"\\ud800"}', '{"a":"\\ud800"}'),
        ("01", "01"),
        ("[" * 5000 + "]" * 5000, "[" * 5000 + "]" * 5000),
        ('"half \\ud83d pair"', "half \\ud83d pair"),
        ('"null \\u0000 byte"', "null \x00 byte"),
        ('"broken \\q escape"', '"broken \\q escape"'),
        ('"real\nline"', "real\nline"),
        ("null", "null"),
    ],
)
def test_an_envelope_is_read_around_a_payload_that_no_strict_parser_takes(payload: str, kept: str) -> None:
    body = f'{{"messageId":"m1","publishTime":"{TIME}","payload":{payload}}}'
    assert read(body) == Envelope("m1", TIME, None, kept)


def test_half_a_surrogate_pair_becomes_its_escape() -> None:
    assert read('{"a":"\ud800"}').payload == '{"a":"\\ud800"}'
    assert read("\udfff").payload == "\\udfff"


def test_the_keys_are_found_by_their_paths() -> None:
    metadata = (
        '"idempotencyKeyResource":"k","periodReference":"2026-07","correlationId":null,"lastUpdatedTs":1784541600123'
    )
    assert keys(f'{{"_metadata":{{{metadata}}},"b":1}}') == Keys("k", "2026-07", None, "1784541600123")
    assert keys(f'{{"b":NaN,"_metadata":{{{metadata}}}}}') == Keys("k", "2026-07", None, "1784541600123")
    assert keys(
        '{"_metadata":{"correlationId":1.50,"periodReference":[1, 2],"idempotencyKeyResource":"\\ud800"}}'
    ) == Keys("\\ud800", "[1, 2]", "1.50", None)
    assert keys("{}") == keys("") == keys("[]") == keys('{"_metadata":3}') == keys('{"_metadata":null}') == Keys()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(payload=st.text(st.characters(codec="utf-8")) | JSON.map(json.dumps), as_data=st.booleans())
def test_any_text_comes_out_as_it_went_in(payload: str, as_data: bool) -> None:
    body = pubsub(payload) if as_data else json.dumps({"messageId": "m-1", "publishTime": TIME, "payload": payload})
    found = read(body)
    assert (found.message_id, found.payload) == ("m-1", payload)


@given(event=st.dictionaries(st.text(), JSON, max_size=5), indent=st.sampled_from([None, 1]), is_ascii=st.booleans())
def test_any_object_comes_out_as_it_went_in(event: dict[str, Any], indent: int | None, is_ascii: bool) -> None:
    text = json.dumps(event, indent=indent, ensure_ascii=is_ascii)
    storable = text.encode("utf-8", "backslashreplace").decode()
    assert read(f'{{"messageId":"m1","payload":{text}}}') == Envelope("m1", None, None, storable)


@given(text=st.text(st.sampled_from('{}[]":,\\ab1 \n'), max_size=30) | st.text())
def test_any_body_is_read_and_none_is_lost(text: str) -> None:
    found = read(text)
    found.payload.encode()
    keys(found.payload)
    if not found.is_json:
        assert found.payload == text.encode("utf-8", "backslashreplace").decode()


@given(event=st.dictionaries(st.text(), JSON, max_size=5), indent=st.sampled_from([None, 1]))
def test_the_lenient_reader_agrees_with_the_strict_one_on_json(event: dict[str, Any], indent: int | None) -> None:
    found = members(json.dumps(event, indent=indent))
    assert found is not None
    assert [(name, json.loads(value)) for name, value in found] == list(event.items())
