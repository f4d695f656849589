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


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark with a hadoop catalog in a temporary folder for the whole run."""
    from local.setup.jars import locked
    from spark_jobs.session import CatalogSettings, spark_session

    # PySpark hands moments out in the process's own zone; its workers are processes of their own.
    os.environ |= {"TZ": "UTC", "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}", "PYSPARK_PYTHON": sys.executable}
    time.tzset()
    folder: Path = tmp_path_factory.mktemp("spark")
    session = spark_session(
        CatalogSettings(warehouse=str(folder / "warehouse"), kind="hadoop"),
        "tests",
        {
            "spark.master": "local[2]",
            "spark.jars": ",".join(str(jar.path) for jar in locked() if "spark-runtime" in jar.artifact),
            "spark.driver.memory": "3g",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "unused"),
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
        },
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
