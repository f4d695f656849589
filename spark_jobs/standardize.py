"""RAW → Standardized for a group of topics. `--help` names the arguments, docs/jobs.md says the rest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from spark_jobs import application
from spark_jobs.application import Task
from spark_jobs.reconciliation import reconcile
from spark_jobs.results import Result
from spark_jobs.standardization import standardize


def work(task: Task) -> list[Result]:
    given = task.arguments
    result = standardize(task.lake, task.names, task.contract, given.upto, given.most_rows)
    # With Curated the balance is known only after curate.
    if given.reconcile and not task.contract.is_curated and result.batch is not None:
        return [result, reconcile(task.lake, task.names, task.contract, result.batch)]
    return [result]


def main(argv: Sequence[str] | None = None) -> int:
    return application.main("standardize", work, argv)


if __name__ == "__main__" and (code := main()):
    # Glue takes any SystemExit for a failure, so success just ends.
    sys.exit(code)
