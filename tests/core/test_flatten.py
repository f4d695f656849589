from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core import flatten as flattening
from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import FlatRow, columns_to_add, flatten

KEYS = st.one_of(
    st.sampled_from(
        ["a", "A", "a_b", "b", "B", "a.b", "a-b", "", "_", "9", "message_id", "_batch", "userId", "userid"]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.text("aA_", min_size=120, max_size=140),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=25,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=6)
NESTED = st.dictionaries(
    KEYS, st.recursive(SCALARS, lambda inner: st.dictionaries(KEYS, inner, max_size=4), max_leaves=25), max_size=6
)


def expected_leaves(value: Any, path: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    """An independent walk: recursive, on plain json values."""
    if isinstance(value, dict) and (not path or (value and len(path) < 16)):
        return [leaf for key, inner in value.items() for leaf in expected_leaves(inner, (*path, key))]
    return [(path, value)]


def expected_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@given(DOCUMENTS)
@settings(max_examples=400)
def test_every_leaf_of_a_document_is_found_again_in_the_flat_row(document: dict[str, Any]) -> None:
    row = flatten(json.dumps(document))
    texts = sorted(repr(expected_text(value)) for _, value in expected_leaves(document))
    assert sorted(repr(value) for value in (*row.columns.values(), *row.rescued.values())) == texts


@given(NESTED, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_names_do_not_depend_on_the_order_of_keys(document: dict[str, Any], random: Any) -> None:
    def shuffled(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        keys = random.sample(list(value), len(value))
        return {key: shuffled(value[key]) for key in keys}

    assert flatten(json.dumps(shuffled(document))) == flatten(json.dumps(document))


@given(DOCUMENTS)
def test_names_are_columns_and_never_reserved(document: dict[str, Any]) -> None:
    for name in flatten(json.dumps(document)).columns:
        assert re.fullmatch(r"[a-z_][a-z0-9_]{0,127}", name)
        assert name not in flattening.RESERVED


@given(DOCUMENTS, st.sets(st.sampled_from(["a", "a_b", "b", "userid", "_"])))
def test_the_rescue_keeps_what_the_budget_leaves_out(document: dict[str, Any], allowed: set[str]) -> None:
    row = flatten(json.dumps(document))
    kept = row.within(allowed)
    assert set(kept.columns) <= allowed
    assert kept.columns | kept.rescued == row.columns | row.rescued
    assert json.loads(kept.rescued_text or "{}") == kept.rescued


def test_a_path_of_the_contract_owns_its_column_against_every_other() -> None:
    owners = {"userid": ("userId",)}
    assert flatten('{"userId": 1}', owners).columns == {"userid": "1"}
    (lower,) = flatten('{"userid": 2}', owners).columns
    assert re.fullmatch(r"userid__[0-9a-f]{16}", lower)
    assert flatten('{"userid": 2, "userId": 1}', owners).columns == {"userid": "1", lower: "2"}


def test_a_key_with_the_name_of_an_envelope_column_gets_a_column_of_its_own() -> None:
    (name,) = flatten('{"message_id": "forged"}').columns
    assert re.fullmatch(r"message_id__[0-9a-f]{16}", name)


def test_a_marked_name_cannot_be_written_by_hand() -> None:
    (marked,) = flatten('{"message_id": 1}').columns
    row = flatten(json.dumps({"message_id": "real", marked: "forged"}))
    assert row.columns[marked] == "real"
    assert len(row.columns) == 2


def test_paths_whose_marks_are_equal_are_rescued_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flattening, "_mark", lambda path: "0" * 16)
    row = flatten('{"a": 1, "A": 2, "á": 3, "é": 4, "_": 5}')
    assert row.columns == {"a": "2", "a__0000000000000000": "1", "_": "5"}
    assert row.rescued == {'["á"]': "3", '["é"]': "4"}


@pytest.mark.parametrize(
    "number",
    ["19.90", "12345678901234567.89", "-0", "0.10", "1E400", "1e-7", "9" * 5000, "-0.0", "1.0e+5"],
)
def test_digits_stay_as_written(number: str) -> None:
    assert flatten(f'{{"n": {number}, "list": [ {number} ]}}').columns == {"n": number, "list": f"[{number}]"}


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n", "empty"),
        ("\ufeff", "empty"),
        ("{", "not_json"),
        ("{'a': 1}", "not_json"),
        ('{"a": NaN}', "not_json"),
        ('{"a": [Infinity]}', "not_json"),
        ('{"a": 01}', "not_json"),
        ('{"a": 1.}', "not_json"),
        ('{"a": 1} x', "not_json"),
        ('{"a": "\n"}', "not_json"),
        ("null", "not_an_object"),
        ("[]", "not_an_object"),
        ('"text"', "not_an_object"),
        ("1", "not_an_object"),
        ('{"a": 1, "a": 1}', "duplicate_key"),
        ('{"x": [{"a": 1, "\\u0061": 2}]}', "duplicate_key"),
        ('{"a": "\\ud800"}', "lone_surrogate"),
        ('{"\\udc00": 1}', "lone_surrogate"),
        ('{"a": ["\\ud83d x"]}', "lone_surrogate"),
        ('{"a": "\ud800"}', "lone_surrogate"),
        ('{"a":' + "[" * 500 + "]" * 500 + "}", "too_deep"),
        ('{"a":' * 100_000, "too_deep"),
    ],
)
def test_an_unreadable_payload_names_its_reason(payload: str | None, reason: str) -> None:
    with pytest.raises(UnreadablePayload) as caught:
        flatten(payload)
    assert caught.value.reason_code == reason
    assert str(caught.value).startswith("Cannot flatten record, ")


def test_a_payload_over_the_limit_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flattening, "PAYLOAD_CHARACTERS", 10)
    with pytest.raises(UnreadablePayload, match="it has 12 characters"):
        flatten('{"a": "abc"}')


def test_a_position_is_given_where_the_json_breaks() -> None:
    with pytest.raises(UnreadablePayload, match=r"payload at character 7\.") as caught:
        flatten('{"a": }')
    assert caught.value.position == 6


@pytest.mark.parametrize(
    ("payload", "columns"),
    [
        ("{}", {}),
        ('\ufeff{"a": 1}', {"a": "1"}),
        (
            '{"event": {"userId": "u", "metadata": {"ipAddress": "::1"}}}',
            {"event_userid": "u", "event_metadata_ipaddress": "::1"},
        ),
        ('{"a": {}, "b": [], "c": "", "d": null, "e": true}', {"a": "{}", "b": "[]", "c": "", "d": None, "e": "true"}),
        ('{"a": [1, {"x": 1.0, "y": [true, null, "\\u00e9\\""]}]}', {"a": '[1,{"x":1.0,"y":[true,null,"é\\""]}]'}),
        ('{"9x": 1, "a-b": 2, "": 3, "ÄÖ": 4}', {"_9x": "1", "a_b": "2", "_": "3", "__": "4"}),
        ('{"\\ud83d\\ude00": "\\ud83d\\ude00"}', {"_": "😀"}),
        ('{"__proto__": {"a`; DROP TABLE x --": 1}}', {"__proto___a___drop_table_x___": "1"}),
    ],
)
def test_flat_rows(payload: str, columns: dict[str, str | None]) -> None:
    assert flatten(payload) == FlatRow(columns)


def test_objects_below_the_column_depth_stay_json_text() -> None:
    text = '{"k":' * 300 + "1" + "}" * 300
    assert flatten(text).columns == {"_".join("k" * 16): '{"k":' * 284 + "1" + "}" * 284}


def test_nesting_is_counted_outside_of_strings_only() -> None:
    brackets = "[{" * 1000
    assert flatten(json.dumps({"a": brackets, 'b\\"': "x"})).columns["a"] == brackets


def test_a_value_of_ten_megabytes_is_kept_whole() -> None:
    value = "x" * 10_000_000
    assert flatten(json.dumps({"a": value})).columns == {"a": value}


def test_the_longest_names_are_cut_and_stay_apart() -> None:
    row = flatten(json.dumps({"k" * 10_000 + end: end for end in "ab"}))
    assert sorted(row.columns.values(), key=str) == ["a", "b"]
    assert all(len(name) == 128 for name in row.columns)


def test_new_columns_are_added_by_name_until_the_budget_is_full() -> None:
    assert columns_to_add({"a", "b"}, {"b", "e", "d", "c"}, budget=4) == ["c", "d"]
    assert columns_to_add({"a", "b"}, {"c"}, budget=1) == []
