"""json_path text to the keys it names."""

from __future__ import annotations

import re
from typing import Final

from leanops.core.flatten import Path

STEP: Final = re.compile(r"\.([A-Za-z_][A-Za-z0-9_-]*)|\['([^']+)'\]")


def path_keys(json_path: str) -> Path:
    """`$.event['odd key']` → ("event", "odd key"). The text has passed the contract's JSON Schema."""
    return tuple(plain or bracketed for plain, bracketed in STEP.findall(json_path))
