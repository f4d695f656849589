"""The service with a small Python script in place of a Spark job, and boto3 in front."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from local.jobs import command
from local.jobs.command import Plain
from local.jobs.definitions import Definition
from local.jobs.scheduler import Limits
from local.jobs.service import Service

# Nothing listens there.
NOWHERE = "http://127.0.0.1:9"
# A machine that is busy with other suites starts Spark slowly.
PATIENCE = 180.0
JOB = """
import json, os, subprocess, sys, time
told = dict(zip(sys.argv[1::2], sys.argv[2::2]))
names = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "PYTHONPATH", "LEANOPS_PII_KEY", "AWS_ENDPOINT_URL_GLUE")
print(json.dumps({"argv": sys.argv[1:], "variables": {name: os.environ.get(name) for name in names}}), flush=True)
if "--child" in told:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(told["--child"], "w") as file:
        file.write(str(child.pid))
if "--until" in told:
    while not os.path.exists(told["--until"]):
        time.sleep(0.01)
if "--mark" in told:
    open(told["--mark"], "a").write("done\\n")
sys.stderr.write(told.get("--say", ""))
sys.exit(int(told.get("--exit", 0)))
"""


class Jobs:
    """Services on one folder, one after the other, and the clients of the newest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.script = folder / "job.py"
        self.script.write_text(JOB)
        self._stack = ExitStack()
        self.service: Service

    def start(self, emulator: str = NOWHERE, **given: Any) -> Service:
        given.setdefault("command", Plain(sys.executable))
        given.setdefault("definitions", {"standardize": Definition(str(self.script), most_runs=5)})
        given.setdefault("variables", command.variables(emulator, {"PATH": "/usr/bin:/bin"}))
        given.setdefault("limits", Limits(places=3, grace_seconds=0.5, look_seconds=0.02))
        self.service = Service(self.folder / "state", emulator, **given)
        self.service.start()
        self._stack.callback(self._stop, self.service)
        return self.service

    def leave(self) -> None:
        """The service goes, its jobs stay."""
        self.service.stop(end_jobs=False)

    def close(self) -> None:
        self._stack.close()

    def _stop(self, service: Service) -> None:
        # Only the newest has jobs to end.
        if service is self.service:
            service.stop()

    def client(self, name: str, attempts: int = 1) -> Any:
        made = client(name, self.service.endpoint, attempts)
        self._stack.callback(made.close)
        return made

    @property
    def glue(self) -> Any:
        return self.client("glue")

    @property
    def emr(self) -> Any:
        return self.client("emr-serverless")

    def waiting(self, name: str) -> tuple[dict[str, str], Callable[[], None]]:
        """The argument that makes a job wait, and what lets it go."""
        signal = self.folder / name
        return {"--until": str(signal)}, signal.touch


def client(name: str, endpoint: str, attempts: int = 1) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client(
        name,
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id="000000000000",
        aws_secret_access_key="local",
        config=Config(retries={"mode": "standard", "total_max_attempts": attempts}),
    )


def eventually(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.02)
    raise AssertionError("it never came true")


def glue_state(glue: Any, run_id: str, *states: str) -> dict[str, Any]:
    """The run, once its state is one of these."""

    def look() -> dict[str, Any] | None:
        run: dict[str, Any] = glue.get_job_run(JobName="standardize", RunId=run_id)["JobRun"]
        return run if run["JobRunState"] in states else None

    found: dict[str, Any] = eventually(look)
    return found


def glue_end(glue: Any, run_id: str) -> dict[str, Any]:
    return glue_state(glue, run_id, "SUCCEEDED", "FAILED", "STOPPED", "TIMEOUT")


def output(run: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(Path(f"{run['LogGroupName']}/output").read_text())
    return told


def is_running(pid: int) -> bool:
    """A zombie that nobody has asked for yet has ended."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
