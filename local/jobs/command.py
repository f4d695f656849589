"""How a job is run on this machine: the command line and the environment of its process."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from local.aws.emulator import ACCOUNT, REGION, ROOT
from local.setup.environments import SPARK
from local.setup.jars import locked
from local.setup.places import JAVA_HOME

INHERITED: Final = ("PATH", "HOME", "USER", "LANG")
LOCAL: Final[Mapping[str, str]] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Many small plans: the second compiler and a parallel collector cost more than they give.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True)
class Submission:
    name: str
    script: Path
    arguments: Sequence[str]
    settings: Sequence[str] = ()


Command = Callable[[Submission], Sequence[str]]


@dataclass(frozen=True)
class SparkSubmit:
    master: str = "local[2]"
    memory: str = "2g"
    settings: Mapping[str, str] = field(default_factory=lambda: LOCAL)

    def __call__(self, submission: Submission) -> list[str]:
        ours = [f"{key}={value}" for key, value in self.settings.items()]
        return [
            str(SPARK.folder / "bin" / "spark-submit"),
            *("--master", self.master),
            *("--driver-memory", self.memory),
            *("--name", submission.name),
            *("--jars", ",".join(str(jar.path) for jar in locked())),
            # The last one wins: a request may not move the driver off loopback.
            *(word for each in [*submission.settings, *ours] for word in ("--conf", each)),
            str(submission.script),
            *submission.arguments,
        ]


@dataclass(frozen=True)
class Plain:
    """Scripts run by a program of choice: for tests that need no Spark."""

    program: str

    def __call__(self, submission: Submission) -> list[str]:
        return [self.program, str(submission.script), *submission.arguments]


def variables(endpoint: str, given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The job's environment. Nothing of the service's own comes in by chance, a developer's AWS least of all."""
    key = given.get("AWS_ACCESS_KEY_ID", "")
    region = given.get("AWS_REGION") or given.get("AWS_DEFAULT_REGION") or REGION
    java = {"JAVA_HOME": JAVA_HOME.read_text(encoding="utf-8").strip()} if JAVA_HOME.exists() else {}
    return {
        **{name: given[name] for name in INHERITED if name in given},
        **{name: value for name, value in given.items() if name.startswith("LEANOPS_")},
        **java,
        "AWS_ENDPOINT_URL": endpoint,
        # The emulator reads the account off the key; any other key is not for it.
        "AWS_ACCESS_KEY_ID": key if len(key) == len(ACCOUNT) and key.isdigit() else ACCOUNT,
        "AWS_SECRET_ACCESS_KEY": "local",  # nosec B105: the emulator takes any
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "LEANOPS_PII_KEY": given.get("LEANOPS_PII_KEY") or "local",
        "PYSPARK_PYTHON": str(SPARK.interpreter),
        "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "TZ": "UTC",
    }
