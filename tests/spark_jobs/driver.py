"""A process that takes in whatever is landed, batch by batch, and says each change of state before it makes it.

python -m tests.spark_jobs.driver WAREHOUSE CONTRACT
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from leanops.core.contract import load
from spark_jobs import tables
from spark_jobs.results import Status
from spark_jobs.session import CatalogSettings, spark_session
from tests.conftest import spark_settings
from tests.spark_jobs.lakehouse import ENVIRONMENT, Topic

T = TypeVar("T")


def main(warehouse: str, document: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        spark = spark_session(CatalogSettings(warehouse, kind="hadoop"), "driver", spark_settings(Path(folder)))
        contract = load(Path(document).read_text(encoding="utf-8"))
        topic = Topic(
            tables.Lake(spark), ENVIRONMENT.topic(contract.topic), contract, json.loads(Path(document).read_text())
        )
        do = tables._changed

        def told(what: str, call: Callable[[], T]) -> T:
            print(what, flush=True)
            return do(what, call)

        tables._changed = told
        while topic.standardize(most_rows=1).status == Status.PUBLISHED or topic.curate().status == Status.PUBLISHED:
            topic.curate()
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
