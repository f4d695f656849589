"""One row of counts under Great Expectations."""

from __future__ import annotations

import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

pytestmark = [
    pytest.mark.spark,
    # Great Expectations imports such modules.
    pytest.mark.filterwarnings("ignore:module 'sre_.*' is deprecated:DeprecationWarning"),
]


def test_great_expectations_judges_every_check_and_count_and_calls_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    from spark_jobs.expectations import Check, judged

    good, bad = Check("good", 3, 3), Check("bad", 3, 2, ("m1",))
    assert judged("x", {"rows": 3}, [good]).ok

    def refused(*_: object) -> None:
        raise AssertionError("nothing goes out to the network")

    monkeypatch.setattr(socket.socket, "connect", refused)
    verdict = judged("x", {"rows": 3}, [good, bad])
    assert (verdict.ok, verdict.failed, verdict.difference) == (False, (bad,), 1)
    kinds = Counter(
        result["expectation_config"]["type"] for result in verdict.document["results"] if not result["success"]
    )
    assert kinds == {"expect_column_pair_values_to_be_equal": 1, "expect_column_values_to_be_in_set": 1}
    negative = judged("x", {"rows": -1}, [good])
    assert (negative.ok, negative.failed) == (False, ())


def test_topics_in_threads_are_judged_each_for_itself() -> None:
    from spark_jobs.expectations import Check, judged

    with ThreadPoolExecutor(4) as pool:
        verdicts = list(pool.map(lambda n: judged(f"t{n}", {"rows": n}, [Check("even", 0, n % 2)]), range(12)))
    assert [verdict.ok for verdict in verdicts] == [n % 2 == 0 for n in range(12)]
