"""The Python environments under .venv, each an exact image of its lock."""

import hashlib
import shutil
from dataclasses import dataclass
from pathlib import Path

from local.setup import pythons, uv
from local.setup.places import HERE, VENV


@dataclass(frozen=True)
class Environment:
    name: str
    python: str

    @property
    def folder(self) -> Path:
        return VENV / self.name

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def lock(self) -> Path:
        return HERE / f"{self.name}.lock"

    @property
    def stamp(self) -> Path:
        return self.folder / "stamp"

    def is_current(self) -> bool:
        return self.stamp.exists() and self.stamp.read_text() == self._stamp_text()

    def install(self) -> None:
        """The stamp goes first and comes back last, so that a run broken off in between is seen."""
        if not self._is_whole():
            shutil.rmtree(self.folder, ignore_errors=True)
            uv.run("venv", "--quiet", "--python", pythons.find(self.python), self.folder)
        self.stamp.unlink(missing_ok=True)
        uv.run("pip", "sync", "--quiet", "--require-hashes", "--python", self.interpreter, self.lock)
        self.stamp.write_text(self._stamp_text())

    def _is_whole(self) -> bool:
        """Installed in full once, and neither the environment nor its Python has moved since."""
        return self.stamp.exists() and self.stamp.read_text().splitlines()[1:] == self._stamp_text().splitlines()[1:]

    def _stamp_text(self) -> str:
        digest = hashlib.sha256(self.lock.read_bytes()).hexdigest()
        return f"{digest}\n{pythons.version_of(self.interpreter)}\n{self.folder}\n"


AIRFLOW = Environment("airflow", "3.12")
SPARK = Environment("spark", "3.11")
# What the Lambdas run with; the emulator of AWS pins its own botocore.
EDGE = Environment("edge", "3.12")
EMULATOR = Environment("emulator", "3.12")
TOOLS = Environment("tools", "3.12")
# checkov pins a hundred packages of its own.
SCAN = Environment("scan", "3.12")
ALL = (AIRFLOW, SPARK, EDGE, EMULATOR, TOOLS, SCAN)
