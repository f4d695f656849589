"""`python -m local.package`: the wheel for Glue and EMR Serverless, and the functions' zips. Same input, same bytes."""

from __future__ import annotations

import hashlib
import re
import sys
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from local import zips

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "build" / "dist"
PACKAGES = (ROOT / "plugins" / "leanops", ROOT / "spark_jobs")
# Runs on MWAA, from plugins.zip.
LEFT_OUT = ROOT / "plugins" / "leanops" / "airflow"
# What the engines do not bring along; the pins are those that the tests run with.
REQUIRED = ("jsonschema", "msgspec")
PINS = ROOT / "local" / "setup" / "spark.in"
# The earliest moment that a zip can say.
MOMENT = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644


def build(folder: Path = DIST) -> Path:
    """Writes the wheel into the folder and returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"leanops-{version()}-py3-none-any.whl"
    part = wheel.with_suffix(".part")
    entries = sorted(_entries())
    with ZipFile(part, "w") as archive:
        for name, content in [*entries, *_dist_info(entries)]:
            archive.writestr(_info(name), content)
    return part.replace(wheel)


def functions(folder: Path = DIST) -> dict[str, Path]:
    """Each function's zip for this machine, which the local AWS runs, made anew."""
    return {name: zips.build(name, zips.here(), folder).path for name in zips.names()}


def version() -> str:
    text = (ROOT / "plugins" / "leanops" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"$', text, re.MULTILINE)
    if found is None:
        raise SystemExit("Cannot build wheel, there is no __version__: plugins/leanops/__init__.py. Set it there.")
    return found[1]


def _entries() -> Iterator[tuple[str, bytes]]:
    for package in PACKAGES:
        for path in package.rglob("*"):
            is_cache = "__pycache__" in path.parts or path.suffix == ".pyc"
            if path.is_file() and not is_cache and not path.is_relative_to(LEFT_OUT):
                yield path.relative_to(package.parent).as_posix(), path.read_bytes()


def _dist_info(entries: Sequence[tuple[str, bytes]]) -> list[tuple[str, bytes]]:
    """What makes the zip a wheel. RECORD comes last and has all the others."""
    folder = f"leanops-{version()}.dist-info"
    files = [
        (f"{folder}/METADATA", _metadata().encode()),
        (
            f"{folder}/WHEEL",
            b"Wheel-Version: 1.0\nGenerator: local.package\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        ),
        (f"{folder}/top_level.txt", "".join(f"{package.name}\n" for package in PACKAGES).encode()),
    ]
    lines = [f"{name},{_digest(content)},{len(content)}\n" for name, content in [*entries, *files]]
    record = f"{folder}/RECORD"
    return [*files, (record, "".join([*lines, f"{record},,\n"]).encode())]


def _metadata() -> str:
    pins = dict(re.findall(r"^([\w-]+)==(\S+)$", PINS.read_text(encoding="utf-8"), re.MULTILINE))
    lines = [
        "Metadata-Version: 2.1",
        "Name: leanops",
        f"Version: {version()}",
        "Summary: lean-ops' shared library and its Spark jobs",
        "Requires-Python: >=3.11",
        *(f"Requires-Dist: {name}=={pins[name]}" for name in REQUIRED),
    ]
    return "".join(f"{line}\n" for line in lines)


def _digest(content: bytes) -> str:
    return "sha256=" + urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def _info(name: str) -> ZipInfo:
    info = ZipInfo(name, MOMENT)
    # Stored: what deflate makes of the same text depends on zlib's build.
    info.compress_type = ZIP_STORED
    info.create_system = 3
    info.external_attr = MODE << 16
    return info


def main(folder: Path = DIST) -> int:
    wheel = build(folder)
    print(f"{hashlib.sha256(wheel.read_bytes()).hexdigest()}  {wheel}")
    # For AWS, and for the local AWS on this machine.
    for architecture in sorted({zips.AWS, zips.here()}):
        for function in zips.names():
            print(zips.build(function, architecture, folder), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
