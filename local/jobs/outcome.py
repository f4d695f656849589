"""Why a run failed, in one line for the person who reads the state."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

# Enough for the last stack trace, and a log may be huge.
READ_BYTES: Final = 64 * 1024
SHOWN_CHARACTERS: Final = 1000
SPARK_CHATTER: Final = re.compile(r"\d\d/\d\d/\d\d \d\d:\d\d:\d\d (?:TRACE|DEBUG|INFO|WARN) ")


def first_useful_line(error: Path) -> str | None:
    """The last error that our jobs logged; else the last line that is not Spark's chatter."""
    lines = [line for line in _tail(error) if line.strip()]
    for line in reversed(lines):
        if message := _logged_error(line):
            return message[:SHOWN_CHARACTERS]
    spoken = [line.strip() for line in lines if not SPARK_CHATTER.match(line) and not line.startswith("{")]
    return spoken[-1][:SHOWN_CHARACTERS] if spoken else None


def failure(exit_code: int | None, error: Path) -> str:
    if exit_code is None:
        reason = "the job's processes are gone and have left no exit code: killed, or the machine was restarted"
    else:
        reason = f"exit code {exit_code}"
        if line := first_useful_line(error):
            reason = f"{line} ({reason})"
    return f"{reason}. Log: {error}"


def _tail(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - READ_BYTES))
            return file.read().decode(errors="replace").splitlines()
    except FileNotFoundError:
        return []


def _logged_error(line: str) -> str | None:
    if not line.startswith("{"):
        return None
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    if not isinstance(entry, dict) or entry.get("level") != "ERROR":
        return None
    return str(entry.get("message") or "") or None
