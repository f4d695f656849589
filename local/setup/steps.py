"""The steps of setup in their order, each skipped if there is nothing to do."""

import fcntl
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from local.setup import environments, jars, java
from local.setup.errors import SetupError
from local.setup.places import VENV


@dataclass(frozen=True)
class Step:
    title: str
    is_current: Callable[[], bool]
    run: Callable[[], object]


def steps() -> list[Step]:
    return [
        *(
            Step(f"{each.name} environment (Python {each.python})", each.is_current, each.install)
            for each in environments.ALL
        ),
        Step(f"Java {java.VERSION}", java.is_current, java.record),
        *(Step(f"{jar.artifact} {jar.version}", jar.is_current, jar.fetch) for jar in jars.locked()),
    ]


def main() -> int:
    VENV.mkdir(exist_ok=True)
    try:
        with (VENV / "setup.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            _run(steps())
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; run it again to go on from here", file=sys.stderr)
        return 130
    return 0


def _run(todo: list[Step]) -> None:
    done = 0
    for number, step in enumerate(todo, start=1):
        if step.is_current():
            continue
        print(f"[{number}/{len(todo)}] {step.title} …", flush=True)
        start = time.monotonic()
        step.run()
        print(f"[{number}/{len(todo)}] {step.title}: done in {time.monotonic() - start:.0f} s", flush=True)
        done += 1
    if not done:
        print("setup: all is up to date")
