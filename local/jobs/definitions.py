"""Which jobs there are: what Terraform defines on AWS is a small registry here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from leanops.core.errors import LeanOpsError, shown

# Glue's own default for Spark jobs, 8 hours.
TIMEOUT_SECONDS: Final = 480 * 60.0
KEYS: Final = frozenset({"script", "arguments", "most_runs", "timeout_seconds"})


class InvalidDefinition(LeanOpsError):
    def __init__(self, name: str, reason: str, remedy: str) -> None:
        super().__init__("register job", reason, shown(name), remedy)


@dataclass(frozen=True)
class Definition:
    """A Glue job. `script` is a path, from the project's root unless absolute, or an s3:// URL."""

    script: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    most_runs: int = 1
    timeout_seconds: float = TIMEOUT_SECONDS


JOBS: Final = ("standardize", "curate", "reprocess", "reconcile")
# Runs of different topics go side by side.
MOST_RUNS: Final = 50


def standard(prefix: str = "") -> dict[str, Definition]:
    """The product's jobs, from the work tree. `prefix` is the deployment's, as in `leanops-dev-standardize`."""
    return {
        f"{prefix}-{name}" if prefix else name: Definition(f"spark_jobs/{name}.py", most_runs=MOST_RUNS)
        for name in JOBS
    }


def read(path: Path) -> dict[str, Definition]:
    """`{"standardize": {"script": …, "arguments": {…}, "most_runs": 5}}`"""
    document = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise InvalidDefinition(str(path), "the file is not an object", "Write {name: {script: …}}.")
    return {name: _definition(name, values) for name, values in document.items()}


def _definition(name: str, values: Any) -> Definition:
    if not isinstance(values, dict) or not isinstance(values.get("script"), str):
        raise InvalidDefinition(name, "it has no script", "Give a path or an s3:// URL as script.")
    if unknown := sorted(values.keys() - KEYS):
        raise InvalidDefinition(name, f"unknown {', '.join(unknown)}", f"Use {', '.join(sorted(KEYS))}.")
    return Definition(**values)
