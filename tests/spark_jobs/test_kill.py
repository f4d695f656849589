"""P1 with a real process: a driver is killed by the system, again and again, in the middle of its work."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import ROOT
from tests.traffic import load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.faults]

KILLS = 20
BATCHES = 8


class Driver:
    def __init__(self, warehouse: str, document: Path) -> None:
        command = [sys.executable, "-m", "tests.spark_jobs.driver", warehouse, str(document)]
        # A session of the system's own, so that the JVM and the workers can be killed with it.
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True
        )

    def killed_after(self, changes: int, seconds: float) -> str | None:
        """Kills it a moment after it has announced so many changes; None if it had ended before."""
        assert self._process.stdout is not None
        last = ""
        for _ in range(changes):
            last = self._process.stdout.readline().strip()
            if not last:
                self.finished()
                return None
        time.sleep(seconds)
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._process.stdout.close()
        return last

    def finished(self) -> None:
        self._process.communicate(timeout=300)
        assert self._process.returncode == 0


def test_a_driver_that_is_killed_again_and_again_leaves_what_an_undisturbed_run_leaves(
    spark: SparkSession, tmp_path: Path
) -> None:
    from tests.spark_jobs.lakehouse import Topic

    stream = list(messages(load_scenario("everything").resized(topic="events", messages=240, batches=BATCHES), seed=9))
    calm, shot = Topic.new(spark, "events"), Topic.new(spark, "events")
    for topic in (calm, shot):
        for number in range(1, BATCHES + 1):
            topic.land(message for message in stream if message.batch == number)
    while calm.standardize(most_rows=1).status == "published":
        calm.curate()
    document = tmp_path / "schema.json"
    document.write_text(json.dumps(shot.document))
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    moments = random.Random(5)
    deaths = []
    while len(deaths) < KILLS:
        death = Driver(warehouse, document).killed_after(moments.randint(1, 9), moments.uniform(0, 0.4))
        assert death is not None, f"the work was done after {len(deaths)} kills: {deaths}"
        deaths.append(death)
    Driver(warehouse, document).finished()
    assert len({death.split()[0] for death in deaths}) >= 4, deaths
    assert shot.state() == calm.state()
