import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks import harness
from tests.benchmarks.harness import Measure

SAMPLE = [
    Measure("flatten", 12_345.6, "rows/s", aim="≥ 10,000"),
    Measure("flatten, wide", 1.5, "s", ratio_to="flatten"),
]


@pytest.fixture(autouse=True)
def sample_benchmark(monkeypatch: pytest.MonkeyPatch) -> None:
    def measures() -> Iterator[Measure]:
        yield from SAMPLE

    monkeypatch.setattr(harness, "load", lambda name: measures)


def test_every_module_with_another_name_than_the_harness_or_a_test_is_a_benchmark(tmp_path: Path) -> None:
    for name in ("__init__", "__main__", "harness", "test_harness", "late", "core"):
        (tmp_path / f"{name}.py").touch()
    assert harness.known(tmp_path) == ["core", "late"]


def test_each_known_benchmark_has_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert all(callable(harness.load(name)) for name in harness.known())


def test_the_result_is_a_list_of_objects_with_the_five_keys(tmp_path: Path) -> None:
    assert harness.main(["sample"], names=["sample"], folder=tmp_path) == 0
    assert json.loads((tmp_path / "sample.json").read_text()) == [
        {"measure": "flatten", "value": 12345.6, "unit": "rows/s", "ratio_to": None, "aim": "≥ 10,000"},
        {"measure": "flatten, wide", "value": 1.5, "unit": "s", "ratio_to": "flatten", "aim": None},
    ]


def test_no_name_runs_all(tmp_path: Path) -> None:
    assert harness.main([], names=["one", "two"], folder=tmp_path) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.json", "two.json"]


def test_the_table_is_aligned() -> None:
    assert harness.table(SAMPLE).splitlines() == [
        "measure         value  unit    ratio_to  aim",
        "flatten        12,346  rows/s  -         ≥ 10,000",
        "flatten, wide     1.5  s       flatten   -",
    ]


def test_an_unknown_name_gives_one_line_that_lists_the_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert harness.main(["cor"], names=["core", "late"], folder=tmp_path) == 1
    assert capsys.readouterr().err == "Cannot run, unknown benchmark: cor; known: core, late\n"
    assert list(tmp_path.iterdir()) == []
