import hashlib
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from local.setup import jars
from local.setup.places import HERE

GOOD = b"what the lock asks for"
JAR = "org.example:sample:1.0"

UV = """
echo "uv $*" >> "$CALLS"
case "$1" in
    --version) echo "uv 99.0.0" ;;
    venv) mkdir -p "$5/bin" && cp "$4" "$5/bin/python" ;;
    pip) [ ! -e "$FAKES/uv_fails" ] ;;
    *) exit 1 ;;
esac
"""
MVN = """
echo "mvn $*" >> "$CALLS"
for argument in "$@"; do
    case "$argument" in -DoutputDirectory=*) out="${argument#*=}" ;; esac
done
mkdir -p "$out" && cp "$FAKES/served" "$out/sample-1.0.jar"
"""


@dataclass
class Machine:
    """A machine with nothing on PATH but what the test puts there; the setup under test is a copy of ours."""

    root: Path

    @property
    def fakes(self) -> Path:
        return self.root / "fakes"

    @property
    def jar(self) -> Path:
        return self.root / "cache" / "jars" / "sample-1.0.jar"

    def command(self, name: str, body: str) -> Path:
        path = self.fakes / name
        path.write_text(f"#!/bin/sh\n{body}")
        path.chmod(0o755)
        return path

    def calls(self) -> list[str]:
        """What has been called since the last time this was asked."""
        log = self.root / "calls"
        found = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return found

    def setup(self) -> subprocess.CompletedProcess[str]:
        variables = {
            "PATH": str(self.fakes),
            "HOME": str(self.root),
            "PYENV_ROOT": str(self.root / "no-pyenv"),
            "JAVA_HOME": str(self.root / "java"),
            "LEANOPS_CACHE": str(self.root / "cache"),
            "CALLS": str(self.root / "calls"),
            "FAKES": str(self.fakes),
        }
        command = [sys.executable, "-m", "local.setup"]
        return subprocess.run(command, cwd=self.root, env=variables, capture_output=True, text=True, check=False)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    shutil.copytree(HERE, tmp_path / "local" / "setup", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "local" / "__init__.py").touch()
    (tmp_path / "local" / "setup" / "jars.lock").write_text(f"{JAR} {hashlib.sha256(GOOD).hexdigest()}\n")
    machine = Machine(tmp_path)
    machine.fakes.mkdir()
    (machine.fakes / "served").write_bytes(GOOD)
    machine.command("uv", UV)
    machine.command("mvn", MVN)
    for version in ("3.11", "3.12"):
        machine.command(f"python{version}", f"echo {version}.1\n")
    for tool in ("cp", "mkdir"):
        (machine.fakes / tool).symlink_to(shutil.which(tool) or tool)
    java = tmp_path / "java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.touch()
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="17.0.9"\n')
    return machine


@pytest.fixture
def ready(machine: Machine) -> Machine:
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    machine.calls()
    return machine


def test_the_first_run_makes_every_environment_and_shows_each_step(machine: Machine) -> None:
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    steps = ("airflow", "spark", "edge", "emulator", "tools", "scan", "Java", "sample")
    assert re.findall(r"^\[(\d/8)\] (\S+) .*…$", answer.stdout, re.MULTILINE) == [
        (f"{number}/8", step) for number, step in enumerate(steps, start=1)
    ]
    assert machine.jar.read_bytes() == GOOD
    assert (machine.root / ".venv" / "java_home").read_text() == f"{machine.root}/java\n"


def test_the_second_run_calls_nothing_and_says_so(ready: Machine) -> None:
    answer = ready.setup()
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "setup: all is up to date\n", "")
    assert ready.calls() == []


def test_a_changed_lock_updates_only_its_own_environment(ready: Machine) -> None:
    lock = ready.root / "local" / "setup" / "tools.lock"
    lock.write_text(lock.read_text() + "# changed\n")
    assert ready.setup().returncode == 0
    synced = [call for call in ready.calls() if call.startswith("uv pip sync")]
    assert [call.rsplit("/", 1)[1] for call in synced] == ["tools.lock"]


def test_an_environment_broken_off_half_way_is_made_again(machine: Machine) -> None:
    (machine.fakes / "uv_fails").touch()
    assert machine.setup().returncode == 1
    leftover = machine.root / ".venv" / "airflow" / "leftover"
    leftover.touch()
    (machine.fakes / "uv_fails").unlink()
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr
    assert not leftover.exists()


def test_an_environment_whose_python_is_gone_is_made_again(ready: Machine) -> None:
    python = ready.root / ".venv" / "spark" / "bin" / "python"
    python.unlink()
    assert ready.setup().returncode == 0
    assert python.exists()


@pytest.mark.parametrize("shim", [None, "echo 'pyenv: python3.12: command not found' >&2; exit 127\n"])
def test_a_missing_python_gives_one_line_that_says_what_to_install(machine: Machine, shim: str | None) -> None:
    (machine.fakes / "python3.12").unlink()
    if shim:
        machine.command("python3.12", shim)
    answer = machine.setup()
    assert answer.returncode == 1
    assert answer.stderr == ("Cannot find Python 3.12: install python3.12, or `pyenv install 3.12`\n")


def test_a_python_behind_a_broken_shim_is_found_among_pyenvs_versions(machine: Machine) -> None:
    shims = machine.root / "no-pyenv" / "versions" / "3.12.9" / "bin"
    shims.mkdir(parents=True)
    (machine.fakes / "python3.12").rename(shims / "python3.12")
    machine.command("python3.12", "exit 127\n")
    answer = machine.setup()
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("content", [b"", GOOD[:5], b"something else"])
def test_a_broken_jar_is_fetched_again(ready: Machine, content: bytes) -> None:
    ready.jar.write_bytes(content)
    assert ready.setup().returncode == 0
    assert ready.jar.read_bytes() == GOOD
    assert [call.split()[0] for call in ready.calls()] == ["mvn"]


def test_a_jar_that_arrives_broken_is_not_kept(machine: Machine) -> None:
    (machine.fakes / "served").write_bytes(b"broken on the way")
    answer = machine.setup()
    assert answer.returncode == 1
    assert answer.stderr.splitlines() == [
        f"Cannot fetch a jar that matches jars.lock: {JAR}; check the network, or Maven's mirror in ~/.m2/settings.xml"
    ]
    assert list(machine.jar.parent.iterdir()) == []
    maven = [call for call in machine.calls() if call.startswith("mvn")]
    assert [("-Dmaven.repo.local=" in call) for call in maven] == [False, True]


def test_the_lock_of_the_jars_names_the_iceberg_that_glue_runs() -> None:
    assert [(jar.group, jar.artifact, jar.version) for jar in jars.locked()] == [
        ("org.apache.iceberg", "iceberg-spark-runtime-3.5_2.12", "1.10.0"),
        ("org.apache.iceberg", "iceberg-aws-bundle", "1.10.0"),
    ]
    assert all(re.fullmatch("[0-9a-f]{64}", jar.sha256) for jar in jars.locked())


@pytest.mark.parametrize(
    "name", ["airflow.lock", "spark.lock", "edge.lock", "emulator.lock", "scan.lock", "tools.lock", "uv.lock.txt"]
)
def test_every_locked_package_carries_hashes_and_no_index_is_named(name: str) -> None:
    text = (HERE / name).read_text().replace("\\\n", "")
    requirements = [line for line in text.splitlines() if line and not line.lstrip().startswith("#")]
    assert requirements
    for requirement in requirements:
        assert re.match(r"[a-z0-9._-]+==\S+ .*--hash=sha256:[0-9a-f]{64}", requirement), requirement
