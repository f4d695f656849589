"""The fixture `deployment`, for whoever imports it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.aws.deployment import Deployment, deployed
from tests.emulator import Aws


@pytest.fixture
def deployment(aws: Aws) -> Iterator[Deployment]:
    with deployed(aws) as found:
        yield found
