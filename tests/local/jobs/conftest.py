from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.jobs.harness import Jobs


@pytest.fixture
def jobs(tmp_path: Path) -> Iterator[Jobs]:
    pytest.importorskip("boto3")
    own = Jobs(tmp_path)
    yield own
    own.close()
