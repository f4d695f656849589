"""Which records a shape reads by itself, and how it is learned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from leanops.core.flatten import FlatRow, Path, flatten, marked_name

pa = pytest.importorskip("pyarrow")
pytest.importorskip("msgspec")

from spark_jobs import flattening, shape  # noqa: E402
from tests.spark_jobs.agreement import PLAIN, TWICE, check, fresh, traffic  # noqa: E402

pytestmark = pytest.mark.spark


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


@pytest.mark.parametrize("text", TWICE)
def test_an_equal_key_is_found_among_records_of_a_known_shape(text: str) -> None:
    flattener = fresh(["a", "o_x"])
    check(flattener, [PLAIN] * 100, ["a", "o_x"])
    flat = check(flattener, [PLAIN] * 50 + [text] + [PLAIN] * 50, ["a", "o_x"])
    assert flat.reason.to_pylist()[50] == "duplicate_key"


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


def test_a_null_object_with_the_column_of_another_path_is_told_apart() -> None:
    whole, null = '{"a_b":1,"a":{"b":{"c":2}}}', '{"a_b":1,"a":{"b":null}}'
    flat = check(fresh(["a_b"]), [*[whole] * 50, *[null] * 50], ["a_b"])
    assert flat.columns["a_b"].to_pylist() == ["1"] * 50 + [None] * 50


def test_a_name_that_the_contract_gives_to_another_path_is_marked_in_a_known_shape() -> None:
    owners: dict[str, Path] = {"user": ("user",)}
    text = '{"USER":1}'
    flat = check(fresh(["user"], owners), [text] * 50, ["user"], owners)
    assert flat.columns["user"].null_count == 50
    assert list(flat.census) == [marked_name("user", ("USER",))]


def test_what_was_known_stays_known_beside_what_is_learned(referred: list[str | None]) -> None:
    flattener = fresh()
    check(flattener, ['{"a":1}'] * 100, [])
    check(flattener, ['{"b":1}'] * 100, [])
    check(flattener, ['{"a":1}'] * 95 + ['{"a":1,"b":1}'] * 5, [])
    assert not referred


def test_a_few_wide_records_do_not_widen_the_shape_of_all(shapes_made: list[int]) -> None:
    wide = json.dumps({f"k{number}": number for number in range(500)})
    texts = [PLAIN] * 1000
    texts[::50] = [wide] * 20
    fresh().flattened(pa.array(texts))
    assert shapes_made == [5]
