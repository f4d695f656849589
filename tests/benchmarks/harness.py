"""Runs benchmarks: a benchmark is a module of this package with a function `measures() -> Iterable[Measure]`."""

import importlib
import json
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

PACKAGE = Path(__file__).parent
RESULTS = PACKAGE.parent.parent / "build" / "benchmarks"


@dataclass(frozen=True)
class Measure:
    """One measured value. `ratio_to` names the measure that it is to be read against, `aim` what it should reach."""

    measure: str
    value: float
    unit: str
    ratio_to: str | None = None
    aim: str | None = None


def known(package: Path = PACKAGE) -> list[str]:
    names = (module.name for module in pkgutil.iter_modules([str(package)]))
    return sorted(name for name in names if name not in {"__main__", "harness"} and not name.startswith("test_"))


def load(name: str) -> Callable[[], Iterable[Measure]]:
    measures: Callable[[], Iterable[Measure]] = importlib.import_module(f"{__package__}.{name}").measures
    return measures


def table(measures: Sequence[Measure]) -> str:
    head = [field.name for field in fields(Measure)]
    rows = [head, *([_cell(value) for value in asdict(measure).values()] for measure in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    aligned = (
        "  ".join(
            cell.rjust(width) if title == "value" else cell.ljust(width)
            for title, cell, width in zip(head, row, widths, strict=True)
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in aligned)


def write(name: str, measures: Sequence[Measure], folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps([asdict(measure) for measure in measures], indent=2, ensure_ascii=False) + "\n")
    return path


def main(wanted: Sequence[str], names: Sequence[str] | None = None, folder: Path = RESULTS) -> int:
    names = known() if names is None else names
    unknown = [name for name in wanted if name not in names]
    if unknown:
        print(f"Cannot run, unknown benchmark: {', '.join(unknown)}; known: {', '.join(names)}", file=sys.stderr)
        return 1
    chosen = wanted or names
    for number, name in enumerate(chosen, start=1):
        print(f"[{number}/{len(chosen)}] {name} …", flush=True)
        measures = []
        for measure in load(name)():
            print(f"  {measure.measure}: {_cell(measure.value)} {measure.unit}", flush=True)
            measures.append(measure)
        path = write(name, measures, folder)
        print(f"\n{table(measures)}\n\n{path}\n")
    return 0


def _cell(value: float | str | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    return f"{value:,.0f}" if abs(value) >= 1000 or value == int(value) else f"{value:.4g}"
