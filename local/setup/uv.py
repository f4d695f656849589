"""Finds or installs uv, and runs it with the settings that the machine has for pip."""

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from local.setup.errors import SetupError
from local.setup.places import HERE, VENV

LOCK = HERE / "uv.lock.txt"
OWN = VENV / "uv"


def pinned() -> tuple[int, ...]:
    found = re.search(r"^uv==(\S+)", LOCK.read_text(), re.MULTILINE)
    if found is None:
        raise SetupError(f"Cannot read the version of uv, no pin in it: {LOCK}")
    return _numbers(found[1])


def run(*arguments: str | Path) -> None:
    answer = subprocess.run([executable(), *arguments], env=environment())
    if answer.returncode != 0:
        raise SetupError(f"Cannot finish, uv failed (see above): uv {' '.join(map(str, arguments[:2]))}; run it again")


def try_output(*arguments: str, timeout: float = 60) -> str | None:
    """What uv answers, or None if it fails."""
    try:
        answer = subprocess.run(
            [executable(), *arguments], env=environment(), capture_output=True, text=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


@functools.cache
def executable() -> Path:
    for candidate in (shutil.which("uv"), OWN / "bin" / "uv"):
        if candidate and (_version(Path(candidate)) or ()) >= pinned():
            return Path(candidate)
    return _install()


@functools.cache
def environment() -> Mapping[str, str]:
    """uv does not read pip's settings: pass on the index and the certificates, unless uv has its own."""
    variables = dict(os.environ)
    settings = _pip_settings()
    certificates = os.environ.get("PIP_CERT") or os.environ.get("REQUESTS_CA_BUNDLE") or settings.get("cert")
    if certificates:
        variables.setdefault("SSL_CERT_FILE", certificates)
    index = os.environ.get("PIP_INDEX_URL") or settings.get("index-url")
    if index and "UV_INDEX_URL" not in variables:
        variables.setdefault("UV_DEFAULT_INDEX", index)
    return variables


def _pip_settings() -> dict[str, str]:
    answer = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True)
    found = re.findall(r"^global\.([\w-]+)='(.*)'$", answer.stdout, re.MULTILINE)
    return {key.replace("_", "-"): value for key, value in found}


def _install() -> Path:
    shutil.rmtree(OWN, ignore_errors=True)
    python = OWN / "bin" / "python"
    made = subprocess.run([sys.executable, "-m", "venv", OWN], capture_output=True)
    if made.returncode != 0:
        raise SetupError("Cannot create a virtual environment, python3 has no venv: install python3-venv, or uv")
    install: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*install, "--require-hashes", "--requirement", LOCK]).returncode != 0:
        raise SetupError("Cannot install uv, pip failed (see above): check the network, or put uv on PATH")
    return OWN / "bin" / "uv"


def _version(uv: Path) -> tuple[int, ...] | None:
    try:
        answer = subprocess.run([uv, "--version"], capture_output=True, text=True)
    except OSError:
        return None
    found = re.match(r"uv (\d+\.\d+\.\d+)", answer.stdout)
    return _numbers(found[1]) if answer.returncode == 0 and found else None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
