"""Spark settings that a request brings along. What sizes or furnishes AWS's machines has no meaning on this one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final

OF_AWS: Final = re.compile(
    r"spark\.(emr-serverless|jars|archives|files|submit|master|driver|executor|executorEnv|dynamicAllocation|pyspark)(\.|=|$)"
)


def honoured(settings: Iterable[str]) -> tuple[str, ...]:
    return tuple(each for each in settings if not OF_AWS.match(each))


def of_glue(arguments: Mapping[str, str]) -> list[str]:
    """`--conf` is one key with one value on Glue, so further settings hide in it: `a=1 --conf b=2`."""
    return of_parameters(f"--conf {arguments['--conf']}") if "--conf" in arguments else []


def of_emr(driver: Mapping[str, Any], overrides: Mapping[str, Any]) -> list[str]:
    defaults = [
        f"{key}={value}"
        for each in overrides.get("applicationConfiguration") or ()
        if each.get("classification") == "spark-defaults"
        for key, value in (each.get("properties") or {}).items()
    ]
    # Later ones win at spark-submit, as those of the job win over its defaults on EMR.
    return [*defaults, *of_parameters(driver.get("sparkSubmitParameters") or "")]


def of_parameters(parameters: str) -> list[str]:
    words = ["", *shlex.split(parameters)]
    found = []
    for before, word in pairwise(words):
        if word.startswith("--conf="):
            found.append(word.removeprefix("--conf="))
        elif before == "--conf":
            found.append(word)
    return found
