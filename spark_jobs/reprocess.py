"""A batch or a period done again. `--help` names the arguments, docs/jobs.md says the rest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from spark_jobs import application, curation
from spark_jobs.application import Task
from spark_jobs.reprocessing import redo_batch, redo_period
from spark_jobs.results import Result, Status


def work(task: Task) -> list[Result]:
    given = task.arguments
    if given.batch is not None:
        return redo_batch(task.lake, task.names, task.contract, task.pii_key, given.batch)
    if given.period is None or not task.contract.is_curated:
        return [Result(task.names.topic, curation.LAYER, Status.NOTHING)]
    return [redo_period(task.lake, task.names, task.contract, task.pii_key, given.period)]


def main(argv: Sequence[str] | None = None) -> int:
    return application.main("reprocess", work, argv)


if __name__ == "__main__" and (code := main()):
    # Glue takes any SystemExit for a failure, so success just ends.
    sys.exit(code)
