"""The Spark side flattens every text as the reference does."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core.flatten import Path
from tests.traffic import scenario_names

pa = pytest.importorskip("pyarrow")
pytest.importorskip("msgspec")

from tests.spark_jobs.agreement import (  # noqa: E402
    COLUMNS,
    DOCUMENTS,
    OWNERS,
    PLAIN,
    TWICE,
    WRITTEN,
    check,
    damaged,
    fresh,
    ordinary,
    outcomes,
    traffic,
)

pytestmark = pytest.mark.spark


@given(st.lists(DOCUMENTS, max_size=4), OWNERS, COLUMNS, st.booleans())
@settings(max_examples=200, deadline=None)
def test_any_document_is_flattened_as_by_the_reference(
    documents: list[dict[str, Any]], owners: dict[str, Path], columns: list[str], ascii_only: bool
) -> None:
    texts = [json.dumps(document, ensure_ascii=ascii_only) for document in documents]
    flattener = fresh(columns, owners)
    check(flattener, texts, columns, owners)
    check(flattener, [*reversed(texts), *texts], columns, owners)


@given(
    st.lists(st.one_of(WRITTEN, damaged(WRITTEN), damaged(ordinary()), st.text(max_size=20)), min_size=1, max_size=5)
)
@settings(max_examples=200, deadline=None)
def test_any_text_is_flattened_as_by_the_reference(texts: list[str]) -> None:
    flattener = fresh(["a", "b"])
    check(flattener, texts, ["a", "b"])
    check(flattener, texts, ["a", "b"])


@given(
    st.lists(ordinary(), min_size=1, max_size=30),
    st.lists(st.one_of(ordinary(), WRITTEN, damaged(ordinary()), st.none()), max_size=10),
    COLUMNS,
)
@settings(max_examples=200, deadline=None)
def test_a_learned_shape_changes_no_result(before: list[str], texts: list[str | None], columns: list[str]) -> None:
    flattener = fresh(columns)
    check(flattener, before, columns)
    check(flattener, [*before, *texts], columns)
    check(flattener, texts, columns)


@pytest.mark.parametrize("scenario", scenario_names())
def test_every_scenario_is_flattened_as_by_the_reference(scenario: str) -> None:
    texts = traffic(scenario)
    columns = ["_metadata_periodreference", "event_userid", "amount", "tags", "geo_city", "locale"]
    owners = {"event_userid": ("event", "userId")}
    flattener = fresh(columns, owners)
    for start in range(0, len(texts), 500):
        check(flattener, texts[start : start + 500], columns, owners)


def nested(levels: int, inner: str = "1") -> str:
    return '{"k":' * levels + inner + "}" * levels


HOSTILE: dict[str, str | None] = {
    "key with a quotation mark": r'{"a\"b":1}',
    "key with a backtick": '{"a`b":1,"`":2}',
    "key with dots": '{"a.b":1,"a":{"b":2}}',
    "key of an emoji": '{"😀":1,"o":{"😀":2}}',
    "key of 10,000 characters": f'{{"{"k" * 10_000}":1}}',
    "key of the prototype": '{"__proto__":{"x":1},"constructor":2}',
    "keys that differ in case": '{"a":1,"A":2}',
    "reserved keys": '{"message_id":1,"_batch":2,"_rescued":{"x":3}}',
    "keys that end like a mark": '{"a__0123456789abcdef":1,"a__0123456789ABCDEF":2}',
    "300 levels": nested(300),
    "600 levels": nested(600),
    "300 brackets": f'{{"a":{"[" * 300}{"]" * 300}}}',
    "600 brackets": f'{{"a":{"[" * 600}{"]" * 600}}}',
    "600 brackets in a text": f'{{"a":"{"[" * 600}"}}',
    "16 levels": nested(16, '{"x": 1, "y":[ ]}'),
    "15 levels": nested(15, '{"x": 1}'),
    "equal keys 17 levels down": nested(16, '{"x":1,"x":2}'),
    "5,000 new keys": json.dumps({f"key {number}": number for number in range(5000)}),
    "400 digits": f'{{"a":{"7" * 400}}}',
    "5,000 digits": f'{{"a":{"7" * 5000}}}',
    "minus zero": '{"a":-0,"b":-0.0,"c":-0e0}',
    "exponents": '{"a":1E400,"b":1e+5,"c":0.1e-7}',
    "not a number": '{"a":NaN}',
    "infinity": '{"a":-Infinity}',
    "leading zero": '{"a":01}',
    "lone surrogate as value": r'{"a":"\ud800"}',
    "lone surrogate as key": r'{"\udc00":1}',
    "lone surrogate in an array": r'{"t":["\ud83d"]}',
    "surrogate pair": r'{"a":"\ud83d\ude00","t":["\ud83d\ude00"]}',
    "no text": "",
    "no payload": None,
    "white space": " \t\r\n",
    "byte order mark": '\ufeff{"a":1}',
    "byte order mark alone": "\ufeff",
    "NUL in a text": '{"a":"\x00"}',
    "escaped NUL": r'{"a":"x\u0000y","t":["\u0000"]}',
    "NUL behind": '{"a":1}\x00',
    "control character": '{"a":"\x01"}',
    "text behind": '{"a":1} x',
    "not an object": "[1]",
    "null": "null",
    "empty object": "{}",
    "empty object inside": '{"a":{},"o":{ },"t":[{}]}',
    "object where a value was": '{"a":{"b":1}}',
    "value where an object was": '{"o":1}',
    "null where an object was": '{"o":null}',
    "white space everywhere": ' { "a" : [ 1 , { "b" : "c d" } ] , "o" : { "x" : 1 } } ',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_flattened_as_by_the_reference(text: str | None) -> None:
    columns = ["a", "o", "o_x", "k_k"]
    check(fresh(columns), [text], columns)
    check(fresh(columns), [text] * 3, columns)
    flattener = fresh(columns)
    check(flattener, [PLAIN] * 100, columns)
    check(flattener, [*[PLAIN] * 50, text, *[PLAIN] * 50], columns)
    check(flattener, [PLAIN, *[text] * 3], columns)


def test_all_hostile_texts_together_are_flattened_as_by_the_reference() -> None:
    flattener = fresh(["a"])
    for _ in range(3):
        check(flattener, [*HOSTILE.values(), *TWICE, PLAIN], ["a"])


def test_a_payload_of_5_mb_is_flattened_as_by_the_reference() -> None:
    text = f'{{"a":"{"é" * 2_500_000}","t":[1, 2]}}'
    flat = fresh(["a"]).flattened(pa.array([PLAIN, text]))
    assert flat.columns["a"].to_pylist() == ["1", "é" * 2_500_000]
    assert dict(flat.extra.to_pylist()[1]) == {"t": "[1,2]"}


def test_bytes_that_are_not_utf8_are_parse_errors_and_harm_no_other_record() -> None:
    good = b'{"a":"\xc3\xa9"}'
    bad = [b'{"a":"\xff"}', b'{"a":"\xed\xa0\x80"}', b'{"\xff":1}', b'{"t":["\xc3"]}', b'{"a":1}\xff', good[:-3]]
    flattener = fresh(["a"])
    for texts in ([good] * 100, [*bad, *[good] * 200]):
        data = pa.array(texts, pa.binary())
        flat = flattener.flattened(pa.Array.from_buffers(pa.string(), len(data), data.buffers()))
    assert flat.columns["a"].to_pylist() == [None] * 6 + ["é"] * 200
    assert flat.reason.to_pylist()[:6] == ["lone_surrogate"] * 4 + ["not_json"] * 2
    assert flat.reason.null_count == 200


def test_a_slice_and_large_strings_are_read_like_any_array() -> None:
    texts = [PLAIN, None, '{"a":"é"}', "x", PLAIN]
    for kind in (pa.string(), pa.large_string()):
        sliced = pa.array(["{", *texts, "}"], kind).slice(1, 5)
        assert outcomes(fresh(["a"]).flattened(sliced), ["a"]) == outcomes(
            fresh(["a"]).flattened(pa.array(texts)), ["a"]
        )


def test_a_call_that_no_string_array_can_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_jobs.payloads.CALL_BYTES", 10)
    with pytest.raises(ValueError, match=r"Cannot flatten, one call takes 10 bytes: 14\. Split the batch\."):
        fresh().flattened(pa.array(['{"a":1}', '{"b":1}'], pa.large_string()))


def test_no_text_at_all_gives_empty_columns() -> None:
    for empty in (pa.array([], pa.string()), pa.nulls(0, pa.large_string()), pa.array(["a"]).slice(1)):
        flat = fresh(["a"]).flattened(empty)
        assert [len(flat.columns["a"]), len(flat.extra), len(flat.reason)] == [0, 0, 0]
        assert flat.census == {}
