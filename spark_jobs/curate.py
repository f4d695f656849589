"""Standardized → Curated for a group of topics. `--help` names the arguments, docs/jobs.md says the rest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from spark_jobs import application
from spark_jobs.application import Task
from spark_jobs.curation import LAYER, curate
from spark_jobs.reconciliation import reconcile
from spark_jobs.results import Result, Status


def work(task: Task) -> list[Result]:
    if not task.contract.is_curated:
        return [Result(task.names.topic, LAYER, Status.NOTHING)]
    result = curate(task.lake, task.names, task.contract, task.pii_key)
    if task.arguments.reconcile and result.batch is not None:
        return [result, reconcile(task.lake, task.names, task.contract, result.batch)]
    return [result]


def main(argv: Sequence[str] | None = None) -> int:
    return application.main("curate", work, argv)


if __name__ == "__main__" and (code := main()):
    # Glue takes any SystemExit for a failure, so success just ends.
    sys.exit(code)
