"""The delivery service as a process of our own: started, stopped, and in tests killed."""

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
from leanops.core.naming import Environment

ROOT: Final = Path(__file__).resolve().parents[2]
SHOWN_LINES: Final = 15


class DeliveryNotStarted(LeanOpsError):
    def __init__(self, log: Path) -> None:
        self.log = log
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-SHOWN_LINES:]
        tail = "\n".join(["Its last lines:", *(f"  {line}" for line in lines)])
        super().__init__("start the delivery service", "it ended at once", str(log), tail)


class Delivery:
    """What it accepted survives `stop`, `kill` and a new `start`, and so do its port and its faults."""

    def __init__(
        self,
        folder: Path,
        environment: Environment,
        variables: Mapping[str, str],
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.folder = folder
        self.log = folder / "delivery.log"
        self._environment = environment
        self._variables = variables
        self._options = dict(options or {})
        self._process: subprocess.Popen[bytes] | None = None
        self.endpoint = ""
        self.faults: dict[str, float | str] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        port = self.endpoint.rpartition(":")[2] or "0"
        options = {"folder": self.folder, "port": port, "faults": json.dumps(self.faults), **self._options}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "local.delivery", "--end-with-stdin", *_flags(options)],
                env=self._variables_of_process(),
                cwd=ROOT,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        told = self._process.stdout
        self.endpoint = "" if told is None else told.readline().decode().strip()
        if not self.endpoint:
            self.kill()
            raise DeliveryNotStarted(self.log)

    def stop(self) -> None:
        self._end(hard=False)

    def kill(self) -> None:
        self._end(hard=True)

    def state(self) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.endpoint}/_local/state", timeout=30) as answer:  # nosec B310: loopback
            state: dict[str, Any] = json.load(answer)
        return state

    def set_faults(self, **faults: float | str) -> None:
        self._post("faults", faults)
        self.faults |= faults

    def flush(self) -> None:
        self._post("flush", {})

    def _post(self, action: str, body: Mapping[str, object]) -> None:
        request = urllib.request.Request(f"{self.endpoint}/_local/{action}", json.dumps(body).encode(), method="POST")
        with urllib.request.urlopen(request, timeout=600) as answer:  # nosec B310: loopback
            answer.read()

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

    def _variables_of_process(self) -> dict[str, str]:
        return {
            **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
            **self._variables,
            "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}",
            "LEANOPS_ENVIRONMENT": self._environment.name,
            "LEANOPS_ACCOUNT": self._environment.account,
            "LEANOPS_REGION": self._environment.region,
            "POWERTOOLS_SERVICE_NAME": "firehose_transform",
            "POWERTOOLS_METRICS_NAMESPACE": "lean-ops",
        }


def _flags(options: Mapping[str, object]) -> list[str]:
    return [part for name, value in options.items() for part in (f"--{name.replace('_', '-')}", str(value))]
