"""One deployment for all tests of the function; each test has a topic of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from leanops.aws import settings
from leanops.core.naming import Environment
from tests.emulator import Aws
from tests.lambdas.schema_validator.world import World, prepare


@pytest.fixture(scope="module")
def environment(aws: Aws) -> Iterator[Environment]:
    environment = aws.environment()
    prepare(aws, environment)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LEANOPS_ENVIRONMENT", environment.name)
        patch.setenv("LEANOPS_ACCOUNT", environment.account)
        patch.setenv("LEANOPS_REGION", environment.region)
        settings.reset()
        yield environment
    settings.reset()


@pytest.fixture
def world(environment: Environment) -> World:
    return World(environment)
