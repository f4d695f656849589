"""Finds a Python of a given version on the machine."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from local.setup import uv
from local.setup.errors import SetupError

# A Python built without these headers starts well and fails only once Airflow is imported.
PROBE = "import ssl, sqlite3, sys; print('%d.%d.%d' % sys.version_info[:3])"


def version_of(python: Path) -> str | None:
    """The version that this interpreter reports, or None if it does not run: a pyenv shim may be there and fail."""
    try:
        answer = subprocess.run([python, "-c", PROBE], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def find(version: str) -> Path:
    for candidate in _candidates(version):
        if (version_of(candidate) or "").startswith(f"{version}."):
            return candidate
    if managed := _from_uv(version):
        return managed
    raise SetupError(f"Cannot find Python {version}: install python{version}, or `pyenv install {version}`")


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    yield from (folder / name for folder in folders if (folder / name).exists())
    roots = [folder.parent for folder in folders if folder.name == "shims"]
    roots += [Path(os.environ["PYENV_ROOT"])] if "PYENV_ROOT" in os.environ else [Path.home() / ".pyenv"]
    for root in dict.fromkeys(roots):
        yield from sorted(root.glob(f"versions/{version}*/bin/{name}"), reverse=True)


def _from_uv(version: str) -> Path | None:
    find_managed = ["python", "find", "--managed-python", "--no-python-downloads", version]
    if found := uv.try_output(*find_managed):
        return Path(found)
    if uv.try_output("python", "install", version, timeout=300) is None:
        return None
    found = uv.try_output(*find_managed)
    return Path(found) if found else None
