from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def small_demo(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    from local import demo

    monkeypatch.setattr(demo, "MESSAGES", 120)
    monkeypatch.setattr(demo, "BATCHES", 1)
    monkeypatch.setattr(demo, "_spark", lambda: spark)
    monkeypatch.setattr(type(spark), "stop", lambda self: None)


@pytest.mark.usefixtures("small_demo")
def test_the_demo_agrees_with_the_oracle(capsys: pytest.CaptureFixture[str]) -> None:
    from local import demo

    assert demo.main() == 0
    out = capsys.readouterr().out
    assert "an independent oracle agrees" in out
    assert "Cannot load contract, 3 faults" in out


@pytest.mark.usefixtures("small_demo")
def test_the_demo_fails_when_a_record_is_lost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from local import demo
    from tests.spark_jobs.lakehouse import Topic

    land = Topic.land
    monkeypatch.setattr(Topic, "land", lambda self, messages: land(self, list(messages)[:-1]))
    assert demo.main() == 1
    assert "≠" in capsys.readouterr().out
