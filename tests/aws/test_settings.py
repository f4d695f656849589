"""The deployment comes from three variables, and each client is made once."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from leanops.aws import settings
from leanops.core.errors import InvalidName
from leanops.core.naming import Environment

ROOT = Path(__file__).parents[2]
GOOD = {"LEANOPS_ENVIRONMENT": "dev", "LEANOPS_ACCOUNT": "123456789012", "LEANOPS_REGION": "eu-central-1"}


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name, value in (GOOD | {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}).items():
        monkeypatch.setenv(name, value)
    settings.reset()
    yield
    settings.reset()


def test_three_variables_make_the_environment_and_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    found = settings.environment()
    assert found == Environment("dev", "123456789012", "eu-central-1")
    monkeypatch.setenv("LEANOPS_ENVIRONMENT", "prod")
    assert settings.environment() is found
    settings.reset()
    assert settings.environment().name == "prod"


@pytest.mark.parametrize("missing", [["LEANOPS_ACCOUNT"], list(GOOD)])
def test_a_missing_or_empty_variable_is_named(missing: list[str]) -> None:
    variables = {name: "" if name in missing else value for name, value in GOOD.items()}
    with pytest.raises(
        settings.MissingSetting, match="Cannot find the deployment, environment variables are missing"
    ) as caught:
        settings.environment_of(variables)
    assert list(caught.value.missing) == missing


def test_a_wrong_variable_is_refused_as_a_name() -> None:
    with pytest.raises(InvalidName):
        settings.environment_of(GOOD | {"LEANOPS_ACCOUNT": "12"})


def test_threads_get_one_client_with_limits() -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: settings.client("sqs"), range(32)))
    assert len({id(each) for each in found}) == 1
    config = found[0].meta.config
    assert (config.connect_timeout, config.read_timeout) == (3.0, 10.0)
    assert config.retries == {"mode": "standard", "total_max_attempts": 3}
    assert found[0].meta.region_name == "eu-central-1"


def test_other_limits_are_another_client() -> None:
    patient = settings.client("lambda", read_seconds=60, attempts=1)
    assert patient is not settings.client("lambda")
    assert patient.meta.config.retries["total_max_attempts"] == 1


def test_importing_the_package_imports_no_boto3() -> None:
    modules = "settings, delivery, dead_letters, moments, notifications, queues"
    code = f"import sys; from leanops.aws import {modules}; print(any('boto' in name for name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT / "plugins", capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "False"
