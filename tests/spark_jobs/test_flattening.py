"""The Spark side's flattening is the reference's, whatever the text."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import (
    MARKED,
    RESERVED,
    Digits,
    FlatRow,
    Path,
    column_name,
    flatten,
    leaves,
    marked_name,
    parse,
)
from tests.traffic import load_scenario, messages, scenario_names

pa = pytest.importorskip("pyarrow")
pytest.importorskip("msgspec")

from spark_jobs import flattening, shape  # noqa: E402
from spark_jobs.flattening import Flattened, Flattener, Sighting, rescued_text  # noqa: E402

pytestmark = pytest.mark.spark

Outcome = tuple[dict[str, str | None], str | None, str | None, str | None, int | None]
KIND_NAMES = {Digits: "number", str: "text", bool: "boolean", list: "array", dict: "object", type(None): "null"}


def expected_outcome(text: str | None, owners: Mapping[str, Path]) -> Outcome:
    try:
        row = flatten(text, owners)
    except UnreadablePayload as error:
        return {}, None, error.reason_code, str(error), error.position
    return row.columns, row.rescued_text, None, None, None


def outcomes(flat: Flattened, columns: Sequence[str]) -> list[Outcome]:
    """Rows with the nulls that are present: a null in a column of its own can't be told from an absent value."""
    own = {name: flat.columns[name].to_pylist() for name in columns}
    extra = [dict(entries or ()) for entries in flat.extra.to_pylist()]
    return [
        ({name: own[name][row] for name in columns if own[name][row] is not None} | extra[row], *rest)
        for row, rest in enumerate(
            zip(
                flat.rescued.to_pylist(),
                flat.reason.to_pylist(),
                flat.detail.to_pylist(),
                flat.position.to_pylist(),
                strict=True,
            )
        )
    ]


def expected_census(texts: Sequence[str | None], owners: Mapping[str, Path]) -> dict[str, Sighting]:
    """By the rules' own words, not by the reference's row."""
    paths: dict[str, set[Path]] = defaultdict(set)
    shapes: dict[str, Counter[str]] = defaultdict(Counter)
    for text in texts:
        try:
            found = list(leaves(parse(text)))
        except UnreadablePayload:
            continue
        first: dict[str, Path] = {}
        for path in sorted(path for path, _ in found):
            first.setdefault(column_name(path), path)
        for path, value in found:
            name = column_name(path)
            if name in RESERVED or MARKED.fullmatch(name) or owners.get(name, first[name]) != path:
                name = marked_name(name, path)
            paths[name].add(path)
            shapes[name][KIND_NAMES[type(value)]] += 1
    return {name: Sighting(min(paths[name]), dict(shapes[name])) for name in paths}


def check(
    flattener: Flattener, texts: Sequence[str | None], columns: Sequence[str], owners: Mapping[str, Path] | None = None
) -> Flattened:
    flat = flattener.flattened(pa.array(texts, pa.string()))
    for array in (*flat.columns.values(), flat.extra, flat.rescued, flat.reason, flat.detail, flat.position):
        array.validate(full=True)
        assert len(array) == len(texts)
    assert list(flat.columns) == list(columns)
    for text, outcome in zip(texts, outcomes(flat, columns), strict=True):
        values, *rest = expected_outcome(text, owners or {})
        own = {name: value for name, value in values.items() if value is not None or name not in columns}
        assert outcome == (own, *rest), text
    assert flat.census == expected_census(texts, owners or {})
    return flat


def fresh(columns: Sequence[str] = (), owners: Mapping[str, Path] | None = None) -> Flattener:
    return Flattener(owners or {}, columns)


# ---- made-up text -------------------------------------------------------------------------------------------------

KEYS = st.one_of(
    st.sampled_from(
        ["a", "A", "a_b", "b", "B", "a.b", "a-b", "", "_", "9", "message_id", "_batch", "userId", "é", "😀"]
    ),
    st.sampled_from(["a__0123456789abcdef", 'q"', "\\", "\x00", "\n", "`", "__proto__", "x" * 130]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=6),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(["", "null", '"', "\\", "a\x00b", "\x01", "é😀", "\x7f", "\u2028"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(KEYS, inner, max_size=4)),
    max_leaves=20,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, max_size=6)
OWNERS = st.dictionaries(
    st.sampled_from(["a", "a_b", "b", "userid", "_"]),
    st.sampled_from([("a",), ("A",), ("a", "b"), ("a_b",), ("b",), ("userId",), ("",)]),
    max_size=3,
)
COLUMNS = st.lists(st.sampled_from(["a", "a_b", "b", "_", "_9", "userid", "never"]), unique=True)

# Few keys, so that the same shapes come again, and each of them in any place.
GOOD_TOKENS = [
    *("1", "-0", "0", "19.90", "1e5", "true", "false", "null", '""', '"x"', '"é"', '"a b"', r'"\"\\\/\b\u00e9"'),
    *(r'"\ud83d\ude00"', "[]", "[ ]", "[1, 2]", '["a","b"]', '["a", "\\u0062"]', '[{"k": 1}]', "[null,[],{}]", "{ }"),
]
BAD_TOKENS = [
    *("01", "1.", "-", ".5", "NaN", "Infinity", r'"\x"', r'"\ud800"', '"\t"', "[1,]", '"', "{", "tru", "\x0b1"),
    *('[{"k":1,"k":2}]', r'["\ud800"]', r'[{"k":1,"\u006b":2}]'),
]
TOKENS = st.sampled_from([*GOOD_TOKENS, *BAD_TOKENS])
FEW_KEYS = st.sampled_from(['"a"', '"b"', '"c"', '"A"', '"a_b"', '"d"', r'"\u0061"', '"_batch"', r'"\""'])
GAPS = st.sampled_from(["", "", "", " ", "\n", "\t "])


@st.composite
def objects(draw: st.DrawFn, members: st.SearchStrategy[str]) -> str:
    """JSON objects as somebody might write them: equal keys, white space, escapes."""
    written = [
        f"{draw(GAPS)}{draw(FEW_KEYS)}{draw(GAPS)}:{draw(GAPS)}{draw(members)}{draw(GAPS)}"
        for _ in range(draw(st.integers(0, 4)))
    ]
    return f"{{{','.join(written)}}}"


WRITTEN = objects(st.recursive(TOKENS, objects, max_leaves=8))


@st.composite
def ordinary(draw: st.DrawFn) -> str:
    token = st.sampled_from(GOOD_TOKENS)
    parts = [f'"{key}":{draw(token)}' for key in "abc" if draw(st.integers(0, 5))]
    inner = [f'"{key}":{draw(token)}' for key in "xy" if draw(st.integers(0, 5))]
    nested = draw(st.sampled_from([f'"o":{{{",".join(inner)}}}', '"o":null', '"o":{"p":{"q":1}}', '"o":7', ""]))
    return f"{{{','.join(part for part in [*parts, nested] if part)}}}"


@st.composite
def damaged(draw: st.DrawFn, texts: st.SearchStrategy[str]) -> str:
    text = draw(texts)
    start = draw(st.integers(0, len(text)))
    end = draw(st.integers(start, min(len(text), start + 3)))
    return text[:start] + draw(st.text('{}[]",:\\u0019eE.-+ \t\ntrue\x00\x1f\ufeffé\u00a0', max_size=3)) + text[end:]


@given(st.lists(DOCUMENTS, max_size=4), OWNERS, COLUMNS, st.booleans())
@settings(max_examples=300, deadline=None)
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
@settings(max_examples=300, deadline=None)
def test_any_text_is_flattened_as_by_the_reference(texts: list[str]) -> None:
    flattener = fresh(["a", "b"])
    check(flattener, texts, ["a", "b"])
    check(flattener, texts, ["a", "b"])


@given(
    st.lists(ordinary(), min_size=1, max_size=30),
    st.lists(st.one_of(ordinary(), WRITTEN, damaged(ordinary()), st.none()), max_size=10),
    COLUMNS,
)
@settings(max_examples=300, deadline=None)
def test_a_learned_shape_changes_no_result(before: list[str], texts: list[str | None], columns: list[str]) -> None:
    flattener = fresh(columns)
    check(flattener, before, columns)
    check(flattener, [*before, *texts], columns)
    check(flattener, texts, columns)


# ---- traffic ------------------------------------------------------------------------------------------------------


@cache
def traffic(scenario: str, topic: str | None = None, count: int = 1500) -> list[str | None]:
    plan = load_scenario(scenario).resized(messages=count)
    if topic is not None:
        plan = plan.resized(topic=topic)
    return [json.loads(message.body)["payload"] for message in messages(plan, 7)]


@pytest.mark.parametrize("scenario", scenario_names())
def test_every_scenario_is_flattened_as_by_the_reference(scenario: str) -> None:
    texts = traffic(scenario)
    columns = ["_metadata_periodreference", "event_userid", "amount", "tags", "geo_city", "locale"]
    owners = {"event_userid": ("event", "userId")}
    flattener = fresh(columns, owners)
    for start in range(0, len(texts), 500):
        check(flattener, texts[start : start + 500], columns, owners)


@pytest.fixture
def referred(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The texts that reach the reference."""
    texts: list[str | None] = []

    def spying(text: str | None, owners: Mapping[str, Path]) -> FlatRow:
        texts.append(text)
        return flatten(text, owners)

    monkeypatch.setattr(flattening, "flatten", spying)
    return texts


def test_clean_traffic_never_reaches_the_reference(referred: list[str | None]) -> None:
    texts = traffic("clean", "events")
    columns = list(flatten(texts[0]).columns)
    flat = check(fresh(columns), texts, columns)
    assert not referred
    assert len(columns) == 28
    assert flat.extra.null_count == len(texts)


def test_only_the_records_with_an_unknown_path_reach_the_reference(referred: list[str | None]) -> None:
    texts = list(traffic("clean", "events"))
    odd = [f'{{"new_{number}":{number}}}' for number in range(20)]
    check(fresh(), [*texts, *odd], [])
    assert referred == odd


# ---- equal keys ---------------------------------------------------------------------------------------------------

PLAIN = '{"a":"1","o":{"x":1,"y":"2"},"n":null,"t":[]}'
TWICE = [
    '{"a":"1","a":"1"}',
    '{"a":"1","o":{"x":1},"a":null}',
    '{"o":{"x":1,"x":1}}',
    '{"o":{"x":1},"o":{"y":"2"}}',
    '{"o":{"x":1},"o":{}}',
    '{"o":{},"o":{"x":1}}',
    '{"o":null,"o":{"x":1}}',
    '{"o":{"x":1},"o":null}',
    '{"a" :1,"a"\n:2}',
    r'{"a":1,"\u0061":2}',
    r'{"\u0061":1,"\u0061":2}',
    '{"t":[{"k":1,"k":2}]}',
    '{"t":[[{"k" :1, "k":2}]]}',
    r'{"t":[{"k":1,"\u006b":2}]}',
    '{"a":"1","n":1,"n":2,"t":["\\""]}',
]


@pytest.mark.parametrize("text", TWICE)
def test_an_equal_key_is_found_among_records_of_a_known_shape(text: str) -> None:
    flattener = fresh(["a", "o_x"])
    check(flattener, [PLAIN] * 100, ["a", "o_x"])
    flat = check(flattener, [PLAIN] * 50 + [text] + [PLAIN] * 50, ["a", "o_x"])
    assert flat.reason.to_pylist()[50] == "duplicate_key"


# ---- hostile text -------------------------------------------------------------------------------------------------


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


def test_no_text_at_all_gives_empty_columns() -> None:
    for empty in (pa.array([], pa.string()), pa.nulls(0, pa.large_string()), pa.array(["a"]).slice(1)):
        flat = fresh(["a"]).flattened(empty)
        assert [len(flat.columns["a"]), len(flat.extra), len(flat.reason)] == [0, 0, 0]
        assert flat.census == {}


# ---- learning -----------------------------------------------------------------------------------------------------


@pytest.fixture
def shapes_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of paths of each shape that is compiled."""
    made: list[int] = []

    class Counted(shape.Shape):
        def __init__(self, paths: Any, owners: Any) -> None:
            super().__init__(paths, owners)
            made.append(len(self.paths))

    monkeypatch.setattr(flattening, "Shape", Counted)
    return made


def test_keys_that_never_come_again_are_not_learned_for_ever(shapes_made: list[int]) -> None:
    flattener = fresh()
    for call in range(5):
        made = len(shapes_made)
        flattener.flattened(pa.array([f'{{"k{call}_{row}":{row}}}' for row in range(400)]))
        assert len(shapes_made) - made <= flattening.LEARNINGS_PER_CALL
    assert len(flattener._shapes) <= flattening.SHAPES


def test_a_shape_has_an_end_to_its_paths(shapes_made: list[int]) -> None:
    wide = json.dumps({f"k{number}": number for number in range(3000)})
    check(fresh(), [wide] * 3, [])
    assert max(shapes_made) == shape.PATH_LIMIT


def test_new_paths_are_learned_from_the_records_that_were_slow(referred: list[str | None]) -> None:
    flattener = fresh()
    check(flattener, [PLAIN] * 100, [])
    drifted = [PLAIN[:-1] + ',"new":1,"deep":{"er":[1]}}'] * 100
    check(flattener, [*[PLAIN] * 100, *drifted], [])
    assert not referred


@pytest.mark.parametrize(
    "other", ['{"a":1,"o":null}', '{"a":1,"o":{}}', '{"a":1,"o":"text"}', '{"a":{"b":1},"o":{"x":1}}']
)
def test_a_path_that_is_now_an_object_and_now_a_value_is_learned_both_ways(
    other: str, referred: list[str | None]
) -> None:
    check(fresh(), [PLAIN, other] * 100, [])
    assert not referred


def test_two_paths_with_one_column_are_told_apart(referred: list[str | None]) -> None:
    one, two, both = '{"a_b":1}', '{"a":{"b":2}}', '{"a_b":1,"a":{"b":2}}'
    flat = check(fresh(["a_b"]), [one] * 50 + [two] * 50 + [both] * 2, ["a_b"])
    assert flat.columns["a_b"].to_pylist() == ["1"] * 50 + ["2"] * 50 + ["2"] * 2
    assert referred == [both] * 2


# ---- rescue -------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.one_of(DOCUMENTS.map(json.dumps), ordinary(), st.none()), max_size=6),
    st.sets(st.sampled_from(["a", "a_b", "b", "_", "c", "o_x"])),
)
@settings(max_examples=200, deadline=None)
def test_the_rescue_is_what_the_reference_leaves_outside_of_the_kept_columns(
    texts: list[str | None], kept: set[str]
) -> None:
    flat = fresh(["a"]).flattened(pa.array(texts, pa.string()))
    expected = []
    for text in texts:
        try:
            expected.append(flatten(text).within(kept | {"a"}).rescued_text)
        except UnreadablePayload:
            expected.append(None)
    assert rescued_text(flat.extra, flat.rescued, kept | {"a"}).to_pylist() == expected
    assert rescued_text(flat.extra[1:], flat.rescued[1:], kept | {"a"}).to_pylist() == expected[1:]


def test_what_a_record_rescued_by_itself_stays_beside_the_names_outside() -> None:
    extra = pa.array([[("b", "1"), ("c", None)], [("b", "2")], None], pa.map_(pa.string(), pa.string()))
    rescued = pa.array(['{"[\\"x\\"]":"é"}', None, '{"[\\"x\\"]":null}'])
    assert rescued_text(extra, rescued, {"b"}).to_pylist() == [
        '{"[\\"x\\"]":"é","c":null}',
        None,
        '{"[\\"x\\"]":null}',
    ]
