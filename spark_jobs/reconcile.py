"""The balance of a group of topics, from the tables. `--help` names the arguments, docs/jobs.md says the rest."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from spark_jobs import application
from spark_jobs.application import Task
from spark_jobs.reconciliation import reconcile
from spark_jobs.results import Result


def work(task: Task) -> list[Result]:
    return [reconcile(task.lake, task.names, task.contract, task.arguments.batch)]


def main(argv: Sequence[str] | None = None) -> int:
    return application.main("reconcile", work, argv)


if __name__ == "__main__" and (code := main()):
    # Glue takes any SystemExit for a failure, so success just ends.
    sys.exit(code)
