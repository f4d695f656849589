from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

# Airflow writes its settings where this points as soon as it is imported.
if "airflow" not in sys.modules:
    os.environ.setdefault("AIRFLOW_HOME", str(Path(tempfile.gettempdir()) / "leanops-airflow"))

from tests.local.jobs.conftest import jobs  # noqa: F401  (a fixture)
