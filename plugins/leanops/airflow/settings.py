"""What the deployment tells Airflow, in the section [leanops] of its configuration.

On MWAA these are configuration options (`leanops.environment = prod`); anywhere else variables such as
AIRFLOW__LEANOPS__ENVIRONMENT.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from airflow.configuration import conf

from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment

SECTION: Final = "leanops"
MOST_ROWS: Final = 1_000_000
POLL_SECONDS: Final = 15


class MissingOption(LeanOpsError):
    def __init__(self, name: str) -> None:
        self.name = name
        super().__init__(
            "read settings",
            "an option is missing",
            f"[{SECTION}] {name}",
            f"Set {SECTION}.{name} in MWAA's configuration options, or AIRFLOW__{SECTION.upper()}__{name.upper()}.",
        )


@dataclass(frozen=True)
class Settings:
    environment: Environment

    @property
    def schemas(self) -> str:
        return f"s3://{self.environment.schema_bucket}/schemas"

    @property
    def results(self) -> str:
        """Under this, jobs leave their answers."""
        return f"s3://{self.environment.lake_bucket}/results"

    def job(self, name: str) -> str:
        """The name of a Glue job."""
        return f"{self.environment.prefix}-{name}"

    def option(self, name: str) -> str:
        """An option that only some engines need."""
        found: str = conf.get(SECTION, name, fallback="")
        if not found:
            raise MissingOption(name)
        return found

    def optional(self, name: str) -> str | None:
        return conf.get(SECTION, name, fallback="") or None

    @property
    def most_rows(self) -> int:
        """A backlog is eaten in bites of about this size."""
        return int(conf.getint(SECTION, "most_rows", fallback=MOST_ROWS))

    @property
    def poll_seconds(self) -> int:
        return int(conf.getint(SECTION, "poll_seconds", fallback=POLL_SECONDS))


@cache
def settings() -> Settings:
    values = []
    for name in ("environment", "account", "region"):
        found = conf.get(SECTION, name, fallback="")
        if not found:
            raise MissingOption(name)
        values.append(found)
    return Settings(Environment(*values))


def registry_file() -> Path:
    """The compiled registry that the DAGs are made from, beside them unless the deployment says otherwise."""
    given = conf.get(SECTION, "registry_file", fallback="")
    return Path(given) if given else Path(conf.get("core", "dags_folder")) / "topics.json"
