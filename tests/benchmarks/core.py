"""The reference in plain Python: what its exactness costs against a bare parse of the same payloads."""

import json
import time
from collections.abc import Callable, Iterable, Iterator

from leanops.core.flatten import flatten
from tests.benchmarks.harness import Measure
from tests.traffic import load_scenario, messages

MESSAGES = 40_000


def measures() -> Iterator[Measure]:
    scenario = load_scenario("clean").resized(topic="events", messages=MESSAGES)
    generated, bodies = _seconds(lambda: [message.body for message in messages(scenario, seed=1)])
    yield Measure("traffic generated", MESSAGES / generated / 1000, "thousand messages/s", None, "≥ 17 (1 M in 60 s)")
    payloads = [json.loads(body)["payload"] for body in bodies]
    yield Measure("payload size", sum(map(len, payloads)) / MESSAGES, "characters")
    parsed, _ = _seconds(lambda: [json.loads(payload) for payload in payloads])
    yield Measure("bare parse", MESSAGES / parsed / 1000, "thousand rows/s")
    flattened, rows = _seconds(lambda: [flatten(payload) for payload in payloads])
    yield Measure("leaves", len(rows[0].columns), "columns a row")
    yield Measure("reference flatten", MESSAGES / flattened / 1000, "thousand rows/s")
    yield Measure("reference flatten, times as long", flattened / parsed, "ratio", "bare parse")


def _seconds[T](work: Callable[[], Iterable[T]]) -> tuple[float, list[T]]:
    start = time.process_time()
    result = list(work())
    return time.process_time() - start, result
