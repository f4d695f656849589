"""Where everything lies that setup reads or makes."""

import os
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VENV = ROOT / ".venv"
JAVA_HOME = VENV / "java_home"


def cache() -> Path:
    if own := os.environ.get("LEANOPS_CACHE"):
        return Path(own)
    if shared := os.environ.get("XDG_CACHE_HOME"):
        return Path(shared) / "leanops"
    return Path.home() / ".cache" / "leanops"
