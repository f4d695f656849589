"""The local AWS for tests: one emulator per run, and for each test an environment name of its own.

    def test_something(aws: Aws) -> None:
        environment = aws.environment()
        aws.client("s3").create_bucket(...)

    def test_with_the_catalog(account: Account) -> None:
        account.client("glue").create_database(...)

Code under test makes its own boto3 clients: while these fixtures are in use, the variables point to the emulator. The
Glue databases have the same names in every environment, so a test that makes tables asks for `account`: an AWS account
of its own, with the variables LEANOPS_* set and `leanops.aws.settings` made to forget.
"""

from __future__ import annotations

import os
import secrets
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leanops.core.naming import Environment
from local.aws.emulator import Emulator

# A developer's own AWS: no test may ever reach it.
FOREIGN = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_SECURITY_TOKEN", "AWS_ROLE_ARN", "AWS_ENDPOINT_URL_FIREHOSE")


class Aws:
    """The running emulator, as tests see it."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self._clients: dict[str, Any] = {}

    @property
    def endpoint(self) -> str:
        return self.emulator.endpoint

    @property
    def log(self) -> str:
        """What the emulator has written so far, the functions' errors included."""
        return self.emulator.log.read_text(encoding="utf-8", errors="replace")

    @property
    def variables(self) -> dict[str, str]:
        return self.emulator.variables

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.emulator.client(service)
        return self._clients[service]

    def environment(self) -> Environment:
        """A deployment that no other test knows: its resources meet no others."""
        return Environment(f"t{secrets.token_hex(5)}", self.emulator.account, self.emulator.region)

    def is_up(self) -> bool:
        with urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=5) as answer:
            return bool(answer.status == 200)


class Account:
    """An AWS account with nothing in it but what the test puts there."""

    def __init__(self, aws: Aws) -> None:
        number = str(secrets.randbelow(9 * 10**11) + 10**11)
        self.aws = aws
        self.environment = Environment("test", number, aws.emulator.region)
        self.variables = {
            **aws.variables,
            "AWS_ACCESS_KEY_ID": number,
            "LEANOPS_ENVIRONMENT": self.environment.name,
            "LEANOPS_ACCOUNT": number,
            "LEANOPS_REGION": self.environment.region,
        }
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        if service not in self._clients:
            self._clients[service] = self.aws.emulator.client(service, account=self.environment.account)
        return self._clients[service]

    def close(self) -> None:
        for each in self._clients.values():
            each.close()


@pytest.fixture
def account(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    import boto3

    from leanops.aws import settings

    own = Account(aws)
    # The default session keeps the credentials that it found first.
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    for name, value in own.variables.items():
        monkeypatch.setenv(name, value)
    settings.reset()
    yield own
    settings.reset()
    own.close()


@pytest.fixture(scope="session")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aws]:
    """One emulator for the whole run; the variables are put back afterwards."""
    folder: Path = tmp_path_factory.mktemp("aws")
    with Emulator(folder) as emulator:
        former = {name: os.environ.get(name) for name in (*FOREIGN, *emulator.variables)}
        for name in FOREIGN:
            os.environ.pop(name, None)
        os.environ.update(emulator.variables)
        try:
            yield Aws(emulator)
        finally:
            for name, value in former.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
