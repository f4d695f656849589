"""What the reference says of a list of texts, and texts to ask it about."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cache

import pyarrow as pa
from hypothesis import strategies as st

from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import MARKED, RESERVED, Digits, Path, column_name, flatten, leaves, marked_name, parse
from spark_jobs.flattening import Flattened, Flattener, Sighting
from tests.traffic import load_scenario, messages

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


@cache
def traffic(scenario: str, topic: str | None = None, count: int = 1500) -> list[str | None]:
    plan = load_scenario(scenario).resized(messages=count)
    if topic is not None:
        plan = plan.resized(topic=topic)
    return [json.loads(message.body)["payload"] for message in messages(plan, 7)]
