import re
import subprocess
from pathlib import Path

import pytest

from local.setup import uv
from local.setup.places import HERE, ROOT

PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;]+)", re.MULTILINE)
CONSTRAINTS = HERE / "mwaa-3.3.1-constraints.txt"


def pins(text: str) -> dict[str, str]:
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in PIN.findall(text)}


def ours() -> list[str]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    return [line for line in lines if line and not line.startswith(("#", "--constraint"))]


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the resolver makes of requirements.txt, with our copy of the constraints in the place of their URL."""
    folder: Path = tmp_path_factory.mktemp("requirements")
    wanted = folder / "requirements.txt"
    wanted.write_text("\n".join(ours()) + "\n")
    answer = subprocess.run(
        [uv.executable(), "pip", "compile", "--quiet", "--python-version", "3.12", "--constraint", CONSTRAINTS, wanted],
        env=uv.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    return pins(answer.stdout)


def test_the_constraints_come_first_and_are_those_of_this_airflow() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    first = next(line for line in lines if not line.startswith("#"))
    assert re.fullmatch(r'--constraint "https://\S+/constraints-3\.3\.1/constraints-3\.12\.txt"', first)


def test_every_requirement_is_pinned_as_the_constraints_say() -> None:
    constraints = pins(CONSTRAINTS.read_text())
    for line in ours():
        pin = pins(line)
        assert pin, f"not pinned: {line}"
        assert pin.items() <= constraints.items()


def test_all_that_the_requirements_bring_along_agrees_with_the_constraints(resolved: dict[str, str]) -> None:
    constraints = pins(CONSTRAINTS.read_text())
    assert {name: version for name, version in resolved.items() if constraints.get(name) != version} == {}
    assert pins("\n".join(ours())).items() <= resolved.items()


def test_the_airflow_environment_has_the_versions_that_mwaa_installs(resolved: dict[str, str]) -> None:
    locked = pins((HERE / "airflow.lock").read_text())
    constraints = pins(CONSTRAINTS.read_text())
    assert {name: locked[name] for name in locked.keys() & constraints.keys()} == {
        name: constraints[name] for name in locked.keys() & constraints.keys()
    }
    assert resolved.items() <= locked.items()
