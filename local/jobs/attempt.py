"""The process group of one run. It outlives the service, and a later service finds it again."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

# The shell outlives the job by a moment to tell how it ended: whoever starts a service anew is not the job's parent
# and could not ask the system for the code. It hears the polite signal only after the job, whose parent it is.
TELL: Final = (
    'trap : TERM; echo $$ >pid; cd scratch; "$@" >../output 2>../error; echo $? >../exit.part; mv ../exit.part ../exit'
)


class Attempt:
    """`folder` gets the job's output, error, pid and exit, as files of these names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.output = folder / "output"
        self.error = folder / "error"

    @property
    def scratch(self) -> Path:
        return self.folder / "scratch"

    def start(self, command: Sequence[str], variables: Mapping[str, str]) -> int:
        self.scratch.mkdir(parents=True, exist_ok=True)
        # The group holds this lock for as long as one of it lives. A pid says less: it may be another's by now.
        with (self.folder / "alive").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            process = subprocess.Popen(
                ["/bin/sh", "-c", TELL, "job", *command],
                cwd=self.folder,
                env={**variables, "TMPDIR": str(self.scratch), "SPARK_LOCAL_DIRS": str(self.scratch)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(lock.fileno(),),
                start_new_session=True,
            )
        # No zombie is left, whether or not the service still cares.
        threading.Thread(target=process.wait, name=f"reaper of {process.pid}", daemon=True).start()
        return process.pid

    def was_started(self) -> bool:
        return (self.folder / "pid").exists() or self.is_alive()

    def is_alive(self) -> bool:
        try:
            with (self.folder / "alive").open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except FileNotFoundError:
            return False
        return False

    def exit_code(self) -> int | None:
        return _number(self.folder / "exit")

    def pid(self) -> int | None:
        return _number(self.folder / "pid")

    def send(self, number: signal.Signals, known: int | None) -> None:
        """To the whole group, and only while it lives: the pid is then its own.

        `known` is what the starter knows before the shell has told.
        """
        pid = known or self.pid()
        if pid is not None and self.is_alive():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, number)


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    # The shell may be about to write it.
    return int(text) if text else None
