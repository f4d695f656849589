"""The whole service: its parts put together, started and stopped."""

from __future__ import annotations

import fcntl
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self, TextIO

from leanops.core.errors import LeanOpsError
from local.aws.emulator import LOOPBACK
from local.jobs import command as commands
from local.jobs import definitions as registry
from local.jobs.command import Command, SparkSubmit
from local.jobs.definitions import Definition
from local.jobs.emr import EmrServerless
from local.jobs.faults import Fault, Faults
from local.jobs.forwarding import Forwarding
from local.jobs.glue import Glue
from local.jobs.runs import Run
from local.jobs.scheduler import Limits, Scheduler
from local.jobs.server import Server

APPLICATION: Final = "00local"


class FolderTaken(LeanOpsError):
    def __init__(self, folder: Path) -> None:
        super().__init__(
            "start the job service", "another one works on its folder", str(folder), "Stop that one first."
        )


class Service:
    """Runs survive it: a new service on the same folder finds those that ended and those that still run.

    `stop` ends the jobs too, unless told to leave them; a service that is killed leaves them.
    """

    def __init__(
        self,
        folder: Path,
        emulator: str,
        *,
        definitions: Mapping[str, Definition] | None = None,
        applications: Iterable[str] = (APPLICATION,),
        command: Command | None = None,
        variables: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        faults: Iterable[Fault] = (),
        host: str = LOOPBACK,
        port: int = 0,
    ) -> None:
        self.folder = folder.resolve()
        self._lock: TextIO | None = None
        variables = dict(variables) if variables is not None else commands.variables(emulator)
        self.faults = Faults(faults)
        self._scheduler = Scheduler(
            self.folder / "runs", command or SparkSubmit(), variables, limits or Limits(), self.faults
        )
        self._server = Server(
            (host, port),
            Glue(self._scheduler, definitions if definitions is not None else registry.standard(), self.faults),
            EmrServerless(self._scheduler, applications, variables["AWS_REGION"], variables["AWS_ACCESS_KEY_ID"]),
            self.faults,
            Forwarding(emulator),
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="server", daemon=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def endpoint(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def runs(self) -> list[Run]:
        """Oldest first."""
        return list(self._scheduler.runs)

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._lock = (self.folder / "service.lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._lock.close()
            self._server.server_close()
            raise FolderTaken(self.folder) from error
        self._scheduler.start()
        self._thread.start()

    def stop(self, *, end_jobs: bool = True) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._scheduler.close(end_jobs=end_jobs)
        if self._lock is not None:
            self._lock.close()
