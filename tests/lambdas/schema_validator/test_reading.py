"""Uploads that no well-meaning owner would make end as faults in words, quickly, whatever they are."""

from __future__ import annotations

import json
import time
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.schema_validator.reading import readable
from leanops.aws.contracts import MOST_BYTES, Stored
from leanops.core.errors import Fault, InvalidContract
from leanops.core.naming import Environment
from tests.core.contract.documents import document

NAMES = Environment("test", "123456789012", "eu-central-1").topic("readings")
# On a busy machine; a function has minutes.
MOST_SECONDS = 30


def stored(content: bytes) -> Stored:
    return Stored("schemas/readings/pending/schema.json", content, '"1"', datetime(2026, 11, 18, tzinfo=UTC))


def faults(content: bytes) -> tuple[Fault, ...]:
    started = time.monotonic()
    with pytest.raises(InvalidContract) as refused:
        readable(stored(content), NAMES)
    assert time.monotonic() - started < MOST_SECONDS
    return refused.value.faults


def changed(**changes: Any) -> bytes:
    return json.dumps(document() | changes).encode()


def test_a_valid_contract_is_read() -> None:
    contract = readable(stored(changed()), NAMES)
    assert (contract.topic, contract.schema_version) == ("readings", "1.0.0")


def test_a_byte_order_mark_is_no_fault() -> None:
    assert readable(stored(b"\xef\xbb\xbf" + changed()), NAMES).topic == "readings"


BAD_BYTES = {
    "empty": (b"", "Expecting value"),
    "blank": (b"  \n", "Expecting value"),
    "not JSON": (b"table_name: readings", "Expecting value"),
    "cut off": (changed()[:-10], "Unterminated string"),
    "null": (b"null", "None"),
    "a list": (b"[]", "[]"),
    "Latin-1": ('{"table_name": "läufe"}'.encode("latin-1"), "not UTF-8 (byte 18)"),
    "UTF-16": (changed().decode().encode("utf-16"), "not UTF-8 (byte 1)"),
    "a zero byte": (b"\x00" + changed(), "Expecting value"),
    "a key twice": (b'{"table_name": "readings", "table_name": "orders"}', "the key 'table_name' twice"),
    "NaN": (b'{"column_budget": NaN}', "NaN"),
    "deep lists": (b"[" * 200_000, "deep nesting"),
    "deep objects": (b'{"a":' * 100 + b"1" + b"}" * 100, "deep nesting"),
    "a huge integer": (b'{"column_budget": ' + b"9" * 5_000 + b"}", "the number"),
    "a huge exponent": (b'{"column_budget": 1e999999999}', "the number '1e999999999'"),
    "a tiny exponent": (b'{"column_budget": 1e-999999999999}', "the number"),
    "half a pair": (b'{"description": "\\ud800"}', "half of a surrogate pair"),
    "half a pair in a key": (b'{"\\udfff": 1}', "half of a surrogate pair"),
    "too large": (b" " * (MOST_BYTES + 1), f"more than {MOST_BYTES} bytes"),
    "a long list": (b"[" + b"0," * 1_000 + b"0]", "more than 1000 members"),
    "many keys": (json.dumps({f"k{n}": n for n in range(51)}).encode(), "more than 50 keys"),
    "too many parts": (json.dumps([[0] * 50] * 600).encode(), "more than 25000 parts"),
}


@pytest.mark.parametrize(("content", "found"), BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_bytes_that_are_no_contract_are_named(content: bytes, found: str) -> None:
    told = faults(content)
    assert any(found in fault.found or found in str(fault) for fault in told)
    assert all(fault.path and fault.allowed and fault.remedy for fault in told)
    # They go to stores that take UTF-8 only.
    "".join(map(str, told)).encode()


def test_every_fault_is_told_at_once() -> None:
    told = faults(changed(table_name="orders", owner={"team": "a"}, column_budget=1))
    assert [fault.path for fault in told] == ["column_budget", "owner.email", "table_name"]


def test_a_contract_in_another_topics_folder_is_refused() -> None:
    (fault,) = faults(changed(table_name="orders"))
    assert (fault.path, fault.found) == ("table_name", "'orders'")
    assert "'readings'" in fault.allowed


def test_a_name_that_is_no_topic_is_told_once() -> None:
    (fault,) = faults(changed(table_name="Orders; DROP TABLE x"))
    assert fault.path == "table_name"


@pytest.mark.parametrize(
    "column",
    [{}, {"name": "x" * 900}, {f"key{n}": n for n in range(8)}, {"name": "x", "json_path": "$.x", "type": "MONEY"}],
)
def test_a_contract_full_of_faults_is_judged_in_time(column: dict[str, Any]) -> None:
    assert len(faults(changed(payload_columns=[column] * 1000))) >= 1000


def test_a_contract_with_a_key_as_long_as_itself_is_judged_in_time() -> None:
    assert faults(changed(**{"x" * 900_000: 1}))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_with_faults(content: bytes) -> None:
    assert faults(content)


@given(st.sampled_from([*document(), "rules", "quality", "compute", "retention", "maintenance"]), json_values)
def test_any_value_in_place_of_another_gives_a_contract_or_faults(key: str, value: Any) -> None:
    try:
        assert readable(stored(changed(**{key: value})), NAMES).topic == "readings"
    except InvalidContract as error:
        assert error.faults
        str(error).encode()
