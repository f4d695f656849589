"""What a job is told at its start: the same keys on a command line and on Glue, which adds keys of its own."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import Environment, valid_topic
from leanops.core.period import Period
from spark_jobs.places import checked_place

Job = Literal["standardize", "curate", "reprocess", "reconcile"]
Catalog = Literal["glue", "hadoop"]

REQUIRED: Final[Mapping[str, str]] = {
    "topics": "names, with commas between",
    "environment": "name of the deployment",
    "account": "12 digits",
    "region": "AWS region",
    "schemas": "folder or s3:// prefix with <topic>/active/schema.json",
    "result": "path or s3:// URL of the result document",
    "warehouse": "path or s3:// URL of the tables",
}
OPTIONAL: Final[Mapping[str, str]] = {
    "catalog": "glue (default) or hadoop",
    "endpoint": "URL in place of AWS; else AWS_ENDPOINT_URL; on Glue only the variable",
    "pii-secret": "name of the PII key in Secrets Manager; else LEANOPS_PII_KEY",
    "run": "mark of the task that started the job, by which it is found again",
    "threads": "topics at a time, 4 unless told",
}
OF_JOB: Final[Mapping[Job, Mapping[str, str]]] = {
    "standardize": {
        "upto": "last RAW snapshot, one topic only",
        "most-rows": "about so many records at most",
        "reconcile": "true: reconcile topics without Curated at once",
    },
    "curate": {"reconcile": "true: reconcile at once"},
    "reprocess": {"batch": "number of a batch, one topic only", "period": "YYYY-MM"},
    "reconcile": {"batch": "number of a batch, one topic only; else the newest"},
}
ALL: Final = frozenset({*REQUIRED, *OPTIONAL, *(key for keys in OF_JOB.values() for key in keys)})

# Named by kind, since Glue's reference of job parameters grows: a job must not stop for one that it need not know.
GLUE: Final = re.compile(
    r"JOB_\w+|TempDir|RedshiftTempDir|SECURITY_CONFIGURATION|scriptLocation|class|conf|debug|mode|stage|library-set"
    r"|(additional-python|auto-scale|continuous-log|customer|datalake|disable|enable|encryption|executor|extra|job"
    r"|number-of|python|spark-event-logs|transformer|use|user-jars|write-shuffle)-[\w-]+"
)
# Glue's reference keeps this name for itself, so on Glue it is not ours.
GLUE_INTERNAL: Final = "endpoint"
MARKS_OF_GLUE: Final = frozenset({"JOB_NAME", "JOB_RUN_ID"})

NUMBER: Final = re.compile(r"[0-9]{1,19}")
MOST_THREADS: Final = 64
LONG: Final = 2**63 - 1


class InvalidArgument(LeanOpsError):
    def __init__(self, job: Job, reason: str, subject: str, remedy: str) -> None:
        self.job = job
        super().__init__(f"start {job}", reason, subject, remedy)


@dataclass(frozen=True)
class Arguments:
    environment: Environment
    topics: tuple[str, ...]
    schemas: str
    result: str
    warehouse: str
    catalog: Catalog = "glue"
    endpoint: str | None = None
    pii_secret: str | None = None
    threads: int = 4
    upto: int | None = None
    most_rows: int | None = None
    batch: int | None = None
    period: Period | None = None
    reconcile: bool = False


def parsed(job: Job, argv: Sequence[str], variables: Mapping[str, str] = os.environ) -> Arguments:
    """The job's arguments, or a LeanOpsError that says what is wrong with them."""
    return _Reader(job, _values(job, argv)).arguments(variables)


def usage(job: Job) -> str:
    lines = [f"usage: {job} --KEY VALUE …"]
    for heading, keys in (("required", REQUIRED), ("optional", {**OF_JOB[job], **OPTIONAL})):
        lines += [f"{heading}:", *(f"  --{key:<12} {meaning}" for key, meaning in keys.items())]
    return "\n".join(lines)


def _values(job: Job, argv: Sequence[str]) -> dict[str, str]:
    pairs = _pairs(job, argv)
    is_glue = any(key in MARKS_OF_GLUE for key, _ in pairs)
    values: dict[str, str] = {}
    for key, value in pairs:
        if GLUE.fullmatch(key) or (is_glue and key == GLUE_INTERNAL):
            continue
        _prove_known(job, key)
        if key in values:
            raise InvalidArgument(job, "argument is given twice", f"--{key}", "Give it once.")
        if not value.strip():
            raise InvalidArgument(job, "argument has no value", f"--{key}", f"Give --{key} VALUE.")
        values[key] = value.strip()
    return values


def _pairs(job: Job, argv: Sequence[str]) -> list[tuple[str, str]]:
    """(key, value) of `--key value` and `--key=value`. Glue's flags may lack a value."""
    pairs: list[tuple[str, str]] = []
    waits = False
    for token in argv:
        if token.startswith("--"):
            key, equals, value = token.removeprefix("--").partition("=")
            pairs.append((key, value))
            waits = not equals
        elif waits:
            pairs[-1] = (pairs[-1][0], token)
            waits = False
        else:
            raise InvalidArgument(job, "no key before a value", shown(token), "Write --key value.")
    return pairs


def _prove_known(job: Job, key: str) -> None:
    own = {*REQUIRED, *OPTIONAL, *OF_JOB[job]}
    if key in own:
        return
    if key in ALL:
        jobs = " and ".join(name for name, keys in OF_JOB.items() if key in keys)
        raise InvalidArgument(job, f"argument belongs to {jobs}", f"--{key}", "Leave it out.")
    near = get_close_matches(key.lower().replace("_", "-"), sorted(own), n=1, cutoff=0.5)
    remedy = f"Use --{near[0]}." if near else f"Use one of {', '.join(f'--{name}' for name in sorted(own))}."
    raise InvalidArgument(job, "unknown argument", shown(f"--{key}"), remedy)


class _Reader:
    def __init__(self, job: Job, values: Mapping[str, str]) -> None:
        self._job = job
        self._values = values

    def arguments(self, variables: Mapping[str, str]) -> Arguments:
        missing = [f"--{key}" for key in REQUIRED if key not in self._values]
        if missing:
            raise InvalidArgument(self._job, "arguments are missing", ", ".join(missing), "Give them all.")
        given = self._values
        arguments = Arguments(
            environment=Environment(given["environment"], given["account"], given["region"]),
            topics=self._topics(),
            schemas=checked_place(given["schemas"]),
            result=checked_place(given["result"]),
            warehouse=checked_place(given["warehouse"]),
            catalog=self._catalog(),
            endpoint=given.get("endpoint") or variables.get("AWS_ENDPOINT_URL") or None,
            pii_secret=given.get("pii-secret"),
            threads=self._number("threads", 1, MOST_THREADS) or Arguments.threads,
            upto=self._number("upto", 0, LONG),
            most_rows=self._number("most-rows", 1, LONG),
            batch=self._number("batch", 0, LONG),
            period=Period.parse(given["period"]) if "period" in given else None,
            reconcile=self._flag("reconcile"),
        )
        self._prove_fit(arguments)
        return arguments

    def _prove_fit(self, arguments: Arguments) -> None:
        for key, value in (("upto", arguments.upto), ("batch", arguments.batch)):
            if value is not None and len(arguments.topics) > 1:
                # Snapshots and batches are counted by each table for itself.
                subject = ", ".join(arguments.topics)
                raise InvalidArgument(self._job, f"--{key} is for one topic", subject, "Start one job per topic.")
        if self._job == "reprocess" and (arguments.batch is None) == (arguments.period is None):
            subject = "--batch and --period"
            raise InvalidArgument(self._job, "exactly one is needed", subject, "Give a batch or a period.")

    def _topics(self) -> tuple[str, ...]:
        topics = tuple(valid_topic(name.strip()) for name in self._values["topics"].split(","))
        if twice := sorted({topic for topic in topics if topics.count(topic) > 1}):
            raise InvalidArgument(self._job, "topics are given twice", ", ".join(twice), "Name each topic once.")
        return topics

    def _catalog(self) -> Catalog:
        match self._values.get("catalog", "glue"):
            case "glue":
                return "glue"
            case "hadoop":
                return "hadoop"
            case other:
                raise InvalidArgument(self._job, "no such catalog", shown(other), "Use --catalog glue or hadoop.")

    def _flag(self, key: str) -> bool:
        text = self._values.get(key, "false")
        if text not in ("true", "false"):
            raise InvalidArgument(self._job, f"--{key} is neither true nor false", shown(text), "Give one of them.")
        return text == "true"

    def _number(self, key: str, least: int, most: int) -> int | None:
        text = self._values.get(key)
        if text is None:
            return None
        if not NUMBER.fullmatch(text) or not least <= int(text) <= most:
            reason = f"--{key} is no whole number from {least} to {most}"
            raise InvalidArgument(self._job, reason, shown(text), f"Give such a number as --{key}.")
        return int(text)
