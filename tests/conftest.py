"""What tests of more than one folder share."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[1]

# The fixture `aws`: the local AWS.
pytest_plugins = ["tests.emulator"]


def spark_settings(folder: Path) -> dict[str, str]:
    """A small Spark on this machine that leaves nothing outside `folder`."""
    from local.setup.jars import locked

    # PySpark hands moments out in the process's own zone; its workers are processes of their own.
    os.environ |= {"TZ": "UTC", "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}", "PYSPARK_PYTHON": sys.executable}
    time.tzset()
    return {
        "spark.master": "local[2]",
        "spark.jars": ",".join(str(jar.path) for jar in locked() if "spark-runtime" in jar.artifact),
        "spark.driver.memory": "3g",
        # Tests are many small plans: the second compiler and a parallel collector cost more than they give.
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.warehouse.dir": str(folder / "unused"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark with a hadoop catalog in a temporary folder for the whole run."""
    from spark_jobs.session import CatalogSettings, spark_session

    folder: Path = tmp_path_factory.mktemp("spark")
    catalog = CatalogSettings(warehouse=str(folder / "warehouse"), kind="hadoop")
    session = spark_session(catalog, "tests", spark_settings(folder))
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
