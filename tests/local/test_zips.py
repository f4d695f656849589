from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from local import zips
from local.setup.environments import EDGE
from local.setup.errors import SetupError

# Of the ELF header.
MACHINES = {"arm64": 0xB7, "x86_64": 0x3E}


@pytest.fixture
def lambdas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, which the test may change and nobody else does."""
    copy = tmp_path / "source" / "lambdas"
    shutil.copytree(zips.LAMBDAS, copy)
    monkeypatch.setattr(zips, "LAMBDAS", copy)
    monkeypatch.setattr(zips, "ROOT", copy.parent)
    return copy


def test_the_same_input_makes_the_same_bytes(tmp_path: Path, lambdas: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "INSTALLED", tmp_path / "installed once")
    first = zips.build("sqs_processor", zips.here(), tmp_path / "a")
    for path in lambdas.rglob("*.py"):
        os.utime(path, (1, 1))
        path.chmod(0o600)
    monkeypatch.setattr(zips, "INSTALLED", tmp_path / "installed twice")
    second = zips.build("sqs_processor", zips.here(), tmp_path / "b")
    assert first.path.read_bytes() == second.path.read_bytes()
    assert list((tmp_path / "a" / zips.here()).iterdir()) == [first.path]
    (lambdas / "sqs_processor" / "envelope.py").write_text("")
    assert zips.build("sqs_processor", zips.here(), tmp_path / "b").sha256 != first.sha256


@pytest.mark.parametrize("architecture", ["arm64", "x86_64"])
def test_a_zip_holds_what_its_function_needs_and_nothing_else(tmp_path: Path, architecture: str) -> None:
    with ZipFile(zips.build("sqs_processor", architecture, tmp_path).path) as archive:
        names = archive.namelist()
        libraries = [name for name in names if name.endswith(".so")]
        machines = {int.from_bytes(archive.read(name)[18:20], "little") for name in libraries}
        bytecode = {name: archive.read(name)[4:8] for name in names if name.endswith(".pyc")}
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {
        *("aws_lambda_powertools", "jmespath", "msgspec", "typing_extensions.py"),
        *("__pycache__", "lambdas", "leanops"),
    }
    parts = {tuple(name.split("/")[:2]) for name in names if name.startswith(("lambdas/", "leanops/"))}
    assert {part for _, part in parts if "." not in part and part != "__pycache__"} == {"sqs_processor", "core", "aws"}
    assert machines == {MACHINES[architecture]}
    # Bytecode by hash of the source, unchecked: nothing is compiled or compared when a function starts.
    sources = [name for name in names if name.endswith(".py")]
    assert len(bytecode) == len(sources)
    assert set(bytecode.values()) == {b"\x01\x00\x00\x00"}
    assert names == sorted(names, key=lambda name: name.split("/"))


@pytest.mark.parametrize("function", [name for name in zips.names() if name != "schema_validator"])
def test_the_unpacked_zip_is_enough_for(tmp_path: Path, function: str) -> None:
    """schema_validator, which is 70 MB, is run from its zip by the tests of the edge."""
    with ZipFile(zips.build(function, zips.here(), tmp_path).path) as archive:
        archive.extractall(tmp_path / "unpacked")
    code = f"import lambdas.{function}.handler as found; print(found.__file__, callable(found.handler))"
    # Without the packages of the environment; boto3 is loaded by the first call of AWS only.
    command = [str(EDGE.interpreter), "-P", "-S", "-B", "-c", code]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "unpacked")}
    answer = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert answer.returncode == 0, answer.stderr
    where, is_callable = answer.stdout.split()
    assert Path(where).is_relative_to(tmp_path / "unpacked")
    assert is_callable == "True"


def test_packages_bring_along_what_they_need_but_not_what_lambda_has() -> None:
    assert zips.required("sqs_processor") == ["aws-lambda-powertools", "jmespath", "msgspec", "typing-extensions"]
    heavy = zips.required("schema_validator")
    assert {"pyarrow", "pyiceberg", "pydantic-core", "jsonschema", "urllib3"} <= set(heavy)
    assert not {"boto3", "botocore", "s3transfer", "pytest", "hypothesis"} & set(heavy)


def test_a_function_must_say_what_it_needs(lambdas: Path) -> None:
    path = lambdas / "sqs_processor" / "requirements.txt"
    path.write_text("msgspec\nrequestz\n")
    with pytest.raises(SetupError, match="Cannot package sqs_processor, not in the lock: requestz"):
        zips.required("sqs_processor")
    path.unlink()
    with pytest.raises(SetupError, match=r"it has no requirements\.txt: lambdas/sqs_processor"):
        zips.required("sqs_processor")


def test_every_folder_with_a_handler_is_a_function(lambdas: Path) -> None:
    (lambdas / "more").mkdir()
    assert "more" not in zips.names()
    (lambdas / "more" / "handler.py").write_text("")
    assert "more" in zips.names()


def test_a_function_too_large_for_lambda_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zips, "UNZIPPED_BYTES", 1_000_000)
    with pytest.raises(SetupError, match="more than Lambda unzips: sqs_processor"):
        zips.build("sqs_processor", zips.here(), tmp_path)
