"""The Iceberg jars for Spark, fetched once into the cache and checked against jars.lock."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from local.setup.environments import SPARK
from local.setup.errors import SetupError
from local.setup.places import HERE, JAVA_HOME, cache

LOCK = HERE / "jars.lock"
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


@dataclass(frozen=True)
class Jar:
    group: str
    artifact: str
    version: str
    sha256: str

    @property
    def path(self) -> Path:
        return cache() / "jars" / f"{self.artifact}-{self.version}.jar"

    def is_current(self) -> bool:
        return self.path.exists() and _sha256(self.path) == self.sha256

    def fetch(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Beside the target, so that the rename below stays on one file system and is atomic.
        with tempfile.TemporaryDirectory(dir=self.path.parent, prefix="fetch-") as folder:
            for command in _commands(self, Path(folder)):
                arrived = _download(command, Path(folder) / "out")
                if arrived is not None and _sha256(arrived) == self.sha256:
                    arrived.replace(self.path)
                    return
        raise SetupError(
            f"Cannot fetch a jar that matches jars.lock: {self.group}:{self.artifact}:{self.version}; "
            "check the network, or Maven's mirror in ~/.m2/settings.xml"
        )


def locked() -> list[Jar]:
    jars = []
    for line in LOCK.read_text().splitlines():
        coordinates, sha256 = line.split()
        group, artifact, version = coordinates.split(":")
        jars.append(Jar(group, artifact, version, sha256))
    return jars


def _download(command: Sequence[str | Path], out: Path) -> Path | None:
    shutil.rmtree(out, ignore_errors=True)
    # Maven says on stdout what went wrong.
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        return None
    return next(out.glob("*.jar"), None)


def _commands(jar: Jar, folder: Path) -> list[list[str | Path]]:
    out = folder / "out"
    if mvn := shutil.which("mvn"):
        artifact = f"-Dartifact={jar.group}:{jar.artifact}:{jar.version}"
        copy: list[str | Path] = [mvn, "-q", "-B", COPY, artifact, f"-DoutputDirectory={out}"]
        # The second goes around the user's local repository, where a broken copy may lie.
        return [copy, [*copy, f"-Dmaven.repo.local={folder / 'repository'}"]]
    return [_ivy(jar, folder)]


def _ivy(jar: Jar, folder: Path) -> list[str | Path]:
    """Spark brings Ivy along, which knows the public repository by itself."""
    java = Path(JAVA_HOME.read_text().strip()) / "bin" / "java"
    ivy = next(SPARK.folder.glob("lib/python*/site-packages/pyspark/jars/ivy-*.jar"), None)
    if ivy is None:
        raise SetupError("Cannot fetch the jars, neither Maven nor Ivy is there: install Maven (mvn)")
    return [
        java, "-jar", ivy, "-error", "-notransitive", "-types", "jar", "-cache", folder / "ivy",
        "-dependency", jar.group, jar.artifact, jar.version,
        "-retrieve", f"{folder}/out/[artifact]-[revision].[ext]",
    ]  # fmt: skip


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
