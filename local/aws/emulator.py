"""AWS on this machine: ministack as a process of our own, on loopback, with its state in a folder."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from leanops.core.errors import LeanOpsError

ROOT: Final = Path(__file__).resolve().parents[2]
PYTHON: Final = ROOT / ".venv" / "emulator" / "bin" / "python"
SERVE: Final = Path(__file__).with_name("serve.py")
LOOPBACK: Final = "127.0.0.1"
ACCOUNT: Final = "000000000000"
REGION: Final = "eu-central-1"
STARTS: Final = 3
SHOWN_LINES: Final = 15


class EmulatorFailed(LeanOpsError):
    def __init__(self, reason: str, log: Path) -> None:
        self.log = log
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        tail = "\n".join(["Its last lines:", *(f"  {line}" for line in lines[-SHOWN_LINES:])]) if lines else ""
        super().__init__("start the local AWS", reason, str(log), tail or "Run `make setup`, then try again.")


class Emulator:
    """One emulator. What it holds survives `stop` and a new `start` on the same folder."""

    def __init__(
        self, folder: Path, *, account: str = ACCOUNT, region: str = REGION, log_level: str = "WARNING"
    ) -> None:
        self.folder = folder
        self.account = account
        self.region = region
        self.log = folder / "emulator.log"
        self._log_level = log_level
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self._port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise EmulatorFailed("it was not started", self.log)
        return self._process.pid

    @property
    def variables(self) -> dict[str, str]:
        """What a process needs in its environment so that unchanged boto3 code finds this AWS and no other."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            # The emulator reads the account off the key.
            "AWS_ACCESS_KEY_ID": self.account,
            "AWS_SECRET_ACCESS_KEY": "local",  # nosec B105: it takes any
            "AWS_DEFAULT_REGION": self.region,
            "AWS_REGION": self.region,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service: str, *, account: str | None = None) -> Any:
        from boto3.session import Session

        # The emulator takes any secret.
        session = Session(account or self.account, "local", region_name=self.region)
        return session.client(service, endpoint_url=self.endpoint)

    def start(self, timeout: float = 60.0) -> None:
        if not PYTHON.exists():
            raise EmulatorFailed("its environment is not there", PYTHON)
        for name in ("state", "s3", "tmp"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        for attempt in range(STARTS):
            self._port = self._chosen_port()
            self._process = self._launched()
            try:
                return self._await_health(self._process, time.monotonic() + timeout)
            except EmulatorFailed:
                self.stop()
                # Between choosing a free port and binding it another process may have taken it.
                if attempt == STARTS - 1 or "already in use" not in self.log.read_text(errors="replace"):
                    raise
                self._port_file.unlink()
        raise AssertionError("unreachable")

    def stop(self, timeout: float = 20.0) -> None:
        """SIGTERM lets it save its state; what of its process group is left then is killed."""
        process, self._process = self._process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout)
        self._end_group(process)

    def kill(self) -> None:
        """An outage: nothing is saved."""
        process, self._process = self._process, None
        if process is not None:
            self._end_group(process)

    def _end_group(self, process: subprocess.Popen[bytes]) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
        # Unpacked function code and the like; the state lies elsewhere.
        shutil.rmtree(self.folder / "tmp", ignore_errors=True)

    @property
    def _port_file(self) -> Path:
        return self.folder / "port"

    def _chosen_port(self) -> int:
        """The folder's own port where it has one: the URLs of kept queues hold it."""
        if not self._port_file.exists():
            self._port_file.write_text(str(_free_port()))
        return int(self._port_file.read_text())

    def _launched(self) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                # -P: what lies beside serve.py is not the emulator's to import.
                [PYTHON, "-P", SERVE],
                env=self._environment(),
                cwd=self.folder,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _environment(self) -> dict[str, str]:
        """Nothing is inherited: with our PYTHONPATH functions would import the work tree instead of their zips."""
        return {
            "PATH": f"{PYTHON.parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.folder),
            "LANG": "C.UTF-8",
            "TZ": "UTC",
            "TMPDIR": str(self.folder / "tmp"),
            "GATEWAY_PORT": str(self._port),
            "BIND_HOST": LOOPBACK,
            "MINISTACK_HOST": LOOPBACK,
            "MINISTACK_REGION": self.region,
            "IOT_MTLS_ENABLED": "0",
            "SFTP_ENABLED": "0",
            "PERSIST_STATE": "1",
            "STATE_DIR": str(self.folder / "state"),
            "S3_PERSIST": "1",
            "S3_DATA_DIR": str(self.folder / "s3"),
            "LOG_LEVEL": self._log_level,
            # Functions are processes of the emulator and inherit these.
            **self.variables,
        }

    def _await_health(self, process: subprocess.Popen[bytes], deadline: float) -> None:
        while time.monotonic() < deadline:
            if process.poll() is not None:
                raise EmulatorFailed(f"it ended with {process.returncode}", self.log)
            try:
                with urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=2):  # nosec B310: loopback
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)
        raise EmulatorFailed("it does not answer", self.log)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])
