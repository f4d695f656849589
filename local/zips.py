"""The zips of the Lambda functions: every folder of lambdas/ with a handler.py, for AWS and for this machine.

A zip holds the function, `leanops.core`, `leanops.aws`, and the packages that its requirements.txt names, at the
versions and hashes of edge.lock. boto3 comes with Lambda. Same input, same bytes: times, modes and order are fixed,
and what differs between two installations of the same package is left out.
"""

from __future__ import annotations

import hashlib
import platform
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from local.setup import uv
from local.setup.environments import EDGE
from local.setup.errors import SetupError

ROOT: Final = Path(__file__).resolve().parents[1]
DIST: Final = ROOT / "build" / "dist"
INSTALLED: Final = ROOT / "build" / "installed"
LAMBDAS: Final = ROOT / "lambdas"
LIBRARY: Final = ROOT / "plugins" / "leanops"
LIBRARY_PARTS: Final = ("core", "aws")
# Lambda's architectures, by the names that Python has for them.
ARCHITECTURES: Final = {"aarch64": "arm64", "arm64": "arm64", "x86_64": "x86_64", "AMD64": "x86_64"}
TARGETS: Final = {"arm64": "aarch64-unknown-linux-gnu", "x86_64": "x86_64-unknown-linux-gnu"}
AWS: Final = "arm64"
# Lambda's Python has them, and theirs with them.
BROUGHT: Final = frozenset(("boto3", "botocore", "s3transfer"))
MOMENT: Final = (1980, 1, 1, 0, 0, 0)
LEVEL: Final = 6
UNZIPPED_BYTES: Final = 250 * 1024 * 1024

# 40 MB that no function loads: Arrow's remote procedure calls and C++ tests, the second build of zstandard, for PyPy.
UNUSED: Final = re.compile(
    r"^pyarrow/(lib(arrow|arrow_python)_|_)?flight\b|^pyarrow/\w*_cpp_tests\b|^zstandard/_cffi\b"
)

LOCKED: Final = re.compile(r"^([a-z0-9][a-z0-9._-]*)==.*\n(?:^[ \t]+.*\n?)+", re.MULTILINE)
VIA: Final = re.compile(r"^ +# +(?:via )?([a-z0-9][a-z0-9._-]*)$", re.MULTILINE)
# Built for people, tools and compilers.
LEFT_OUT: Final = re.compile(
    r"(^|/)(tests?|__pycache__|include|bin)/|\.(pyc|pyi|pxd|pyx|h|hpp|c|cc|cpp)$"
    r"|\.dist-info/(RECORD|INSTALLER|REQUESTED|direct_url\.json|uv_[a-z_]+\.json)$|^\.lock$"
)


@dataclass(frozen=True)
class Zip:
    function: str
    architecture: str
    path: Path
    unzipped: int

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.path.read_bytes()).hexdigest()

    def __str__(self) -> str:
        size, unzipped = self.path.stat().st_size / 1e6, self.unzipped / 1e6
        return f"{self.sha256}  {self.path}  {size:.2f} MB, {unzipped:.2f} MB unzipped"


def names() -> list[str]:
    return sorted(handler.parent.name for handler in LAMBDAS.glob("*/handler.py"))


def here() -> str:
    found = ARCHITECTURES.get(platform.machine())
    if found is None:
        known = ", ".join(sorted(ARCHITECTURES))
        raise SetupError(f"Cannot package, Lambda has no such architecture: {platform.machine()}. Use one of {known}.")
    return found


def build(function: str, architecture: str, folder: Path = DIST) -> Zip:
    """Writes <folder>/<architecture>/<function>.zip."""
    target = folder / architecture / f"{function}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as work:
        content = Path(work) / "content"
        for source, name in _sources(function, architecture):
            place = content / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, place)
        _compile(content)
        files = sorted(path for path in content.rglob("*") if path.is_file())
        unzipped = sum(path.stat().st_size for path in files)
        if unzipped > UNZIPPED_BYTES:
            raise SetupError(
                f"Cannot package, {unzipped / 1e6:.0f} MB are more than Lambda unzips: {function}. "
                f"Drop packages from lambdas/{function}/requirements.txt."
            )
        part = Path(work) / "part"
        with ZipFile(part, "w", ZIP_DEFLATED, compresslevel=LEVEL) as archive:
            for path in files:
                archive.writestr(_info(path.relative_to(content).as_posix()), path.read_bytes(), compresslevel=LEVEL)
        part.replace(target)
    return Zip(function, architecture, target, unzipped)


def required(function: str) -> list[str]:
    """The names in the function's requirements.txt, and those that they need in turn, as far as Lambda lacks them."""
    locked = _locked()
    path = LAMBDAS / function / "requirements.txt"
    if not path.exists():
        raise SetupError(f"Cannot package, it has no requirements.txt: lambdas/{function}. List its packages by name.")
    waiting = [line for line in path.read_text(encoding="utf-8").split("\n") if line and not line.startswith("#")]
    unknown = [name for name in waiting if name not in locked]
    if unknown:
        known = "Name them as local/setup/edge.lock does; a new one goes into edge.in first, then `make lock`."
        raise SetupError(f"Cannot package {function}, not in the lock: {', '.join(unknown)}. {known}")
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name not in found and name not in BROUGHT:
            found.add(name)
            waiting += [child for child, text in locked.items() if name in VIA.findall(text)]
    return sorted(found)


def _locked() -> dict[str, str]:
    """Name → its lines in the lock. Who needs it stands there as a comment."""
    text = EDGE.lock.read_text(encoding="utf-8")
    return {match[1]: match[0] for match in LOCKED.finditer(text)}


def _sources(function: str, architecture: str) -> Iterator[tuple[Path, str]]:
    """Files, and their names in the zip."""
    installed = _installed(required(function), architecture)
    yield from _files(installed, installed)
    yield LAMBDAS / "__init__.py", "lambdas/__init__.py"
    yield from _files(LAMBDAS / function, ROOT)
    yield LIBRARY / "__init__.py", "leanops/__init__.py"
    for part in LIBRARY_PARTS:
        yield from _files(LIBRARY / part, LIBRARY.parent)


def _files(folder: Path, root: Path) -> Iterator[tuple[Path, str]]:
    for path in folder.rglob("*"):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not LEFT_OUT.search(name) and not UNUSED.match(name):
            yield path, name


def _installed(packages: Sequence[str], architecture: str) -> Path:
    """A folder with exactly these packages. It is named by what it holds, so it is made once."""
    locked = _locked()
    text = "".join(locked[name] for name in packages)
    digest = hashlib.sha256(f"{TARGETS[architecture]}\n{text}".encode()).hexdigest()[:16]
    folder = INSTALLED / architecture / digest
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        requirements = Path(work) / "requirements.txt"
        requirements.write_text(text, encoding="utf-8")
        target = Path(work) / "target"
        target.mkdir()
        uv.run(
            *("pip", "install", "--quiet", "--target", target, "--requirement", requirements),
            *("--require-hashes", "--no-deps", "--only-binary", ":all:", "--link-mode", "copy"),
            *("--python", EDGE.interpreter, "--python-version", EDGE.python),
            *("--python-platform", TARGETS[architecture]),
        )
        try:
            target.rename(folder)
        except OSError:
            # Another run was first; what it made is the same.
            if not folder.exists():
                raise
    return folder


def _compile(content: Path) -> None:
    """Lambda cannot write bytecode beside the code and would compile at every cold start."""
    command = [str(EDGE.interpreter), "-I", "-m", "compileall", "-q", "-j", "1"]
    command += ["--invalidation-mode", "unchecked-hash"]
    # Paths in tracebacks as they are on Lambda, not as they are here.
    command += ["-s", str(content), "-p", "/var/task", str(content)]
    answer = subprocess.run(command, capture_output=True, text=True)
    if answer.returncode != 0:
        raise SetupError(f"Cannot package, Python does not compile it: {answer.stdout[-500:]}{answer.stderr[-500:]}")


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name, MOMENT)
    # Deflated, since a function may hold 150 MB: the bytes are the same wherever zlib is the same.
    info.compress_type = ZIP_DEFLATED
    info.create_system = 3
    info.external_attr = (0o100755 if name.endswith(".so") else 0o100644) << 16
    return info
