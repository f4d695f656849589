from __future__ import annotations

import base64
import csv
import hashlib
import os
import shutil
import subprocess
from email import message_from_bytes
from pathlib import Path
from zipfile import ZipFile

import pytest

import leanops
from local import package, zips
from local.setup.environments import SPARK


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, ...]:
    """Copies, which the test may change and nobody else does."""
    copies = tuple(tmp_path / "source" / path.name for path in package.PACKAGES)
    for source, copy in zip(package.PACKAGES, copies, strict=True):
        shutil.copytree(source, copy)
    monkeypatch.setattr(package, "PACKAGES", copies)
    return copies


def test_the_same_input_makes_the_same_bytes(tmp_path: Path, packages: tuple[Path, ...]) -> None:
    first = package.build(tmp_path / "a")
    for path in [*packages[0].rglob("*.py"), *packages[1].rglob("*.py")]:
        os.utime(path, (1, 1))
        path.chmod(0o600)
    second = package.build(tmp_path / "b")
    assert first.name == second.name == f"leanops-{leanops.__version__}-py3-none-any.whl"
    assert first.read_bytes() == second.read_bytes()
    assert list((tmp_path / "a").iterdir()) == [first]


def test_another_input_makes_other_bytes(tmp_path: Path, packages: tuple[Path, ...]) -> None:
    before = package.build(tmp_path / "a").read_bytes()
    (packages[1] / "more.py").write_text("")
    assert package.build(tmp_path / "b").read_bytes() != before


def test_the_wheel_records_every_file_of_it_and_names_what_it_needs(tmp_path: Path) -> None:
    with ZipFile(package.build(tmp_path)) as wheel:
        folder = f"leanops-{leanops.__version__}.dist-info"
        record = list(csv.reader(wheel.read(f"{folder}/RECORD").decode().splitlines()))
        assert [line[0] for line in record] == wheel.namelist()
        for name, digest, size in record[:-1]:
            content = wheel.read(name)
            sha256 = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, size) == (f"sha256={sha256}", str(len(content)))
        assert record[-1] == [f"{folder}/RECORD", "", ""]
        metadata = message_from_bytes(wheel.read(f"{folder}/METADATA"))
    assert metadata.get_all("Requires-Dist") == ["jsonschema==4.26.0", "msgspec==0.21.1"]
    tops = {name.split("/")[0] for name in wheel.namelist()}
    assert tops == {"leanops", "spark_jobs", folder}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.startswith("leanops/airflow/")]


@pytest.mark.parametrize("module", ["spark_jobs.arguments", "spark_jobs.standardize", "leanops.core.contract"])
def test_the_unpacked_wheel_is_enough_for(tmp_path: Path, module: str) -> None:
    with ZipFile(package.build(tmp_path / "dist")) as wheel:
        wheel.extractall(tmp_path / "unpacked")
    code = f"import {module}, leanops; print({module}.__file__); print(leanops.__version__)"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "unpacked")}
    # The interpreter of the jobs, whichever environment runs this test.
    command = [SPARK.interpreter, "-P", "-B", "-c", code]
    answer = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    where, version = answer.stdout.split()
    assert Path(where).is_relative_to(tmp_path / "unpacked")
    assert version == leanops.__version__


def test_the_command_tells_the_digests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(zips, "names", lambda: ["sqs_processor"])
    assert package.main(tmp_path) == 0
    told = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert [Path(path).name for _, path in told][:2] == [
        f"leanops-{leanops.__version__}-py3-none-any.whl",
        "sqs_processor.zip",
    ]
    assert {Path(path).parent.name for _, path in told[1:]} == {"arm64", zips.here()}
    for digest, path in told:
        assert digest == hashlib.sha256(Path(path).read_bytes()).hexdigest()
