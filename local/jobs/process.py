"""The job service as a process of our own: started, stopped, and in tests killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from leanops.core.errors import LeanOpsError
from local.aws.emulator import ROOT
from local.jobs.command import INHERITED

SHOWN_LINES: Final = 15


class JobServiceNotStarted(LeanOpsError):
    def __init__(self, log: Path) -> None:
        self.log = log
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
        tail = "\n".join(["Its last lines:", *(f"  {line}" for line in lines)])
        super().__init__("start the job service", "it ended at once", str(log), tail)


class JobService:
    """Its runs survive `stop`, `kill` and a new `start` on the same folder, and so does its port."""

    def __init__(
        self, folder: Path, emulator: str, variables: Mapping[str, str], options: Mapping[str, object] | None = None
    ) -> None:
        self.folder = folder
        self.log = folder / "jobs.log"
        self._emulator = emulator
        self._variables = variables
        self._options = dict(options or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = ""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs, beside the emulator's variables, so that its job calls come here."""
        return {"AWS_ENDPOINT_URL_GLUE": self.endpoint, "AWS_ENDPOINT_URL_EMR_SERVERLESS": self.endpoint}

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        port = self.endpoint.rpartition(":")[2] or "0"
        options = {"emulator": self._emulator, "folder": self.folder, "port": port, **self._options}
        flags = [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local.jobs", "--end-with-stdin", *flags],
                env={
                    **{name: os.environ[name] for name in INHERITED if name in os.environ},
                    **self._variables,
                    "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}",
                },
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        pipe = self._process.stdout
        self.endpoint = pipe.readline().decode().strip() if pipe else ""
        if not self.endpoint:
            self.kill()
            raise JobServiceNotStarted(self.log)

    def stop(self) -> None:
        self._end(hard=False)

    def kill(self) -> None:
        """Its jobs go on without it."""
        self._end(hard=True)

    def add_fault(self, kind: str, **details: object) -> None:
        self._faults("POST", {"kind": kind, **details})

    def clear_faults(self) -> None:
        self._faults("DELETE", {})

    def faults(self) -> list[dict[str, Any]]:
        pending: list[dict[str, Any]] = self._faults("GET", {})["faults"]
        return pending

    def _faults(self, method: str, body: Mapping[str, object]) -> dict[str, Any]:
        data = json.dumps(body).encode() if method == "POST" else None
        request = urllib.request.Request(f"{self.endpoint}/_faults", data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:  # nosec B310: loopback
            document: dict[str, Any] = json.load(answer)
        return document

    def _end(self, *, hard: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if hard:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
