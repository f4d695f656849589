"""The error prefix: what could not be delivered, as JSON lines with the record itself."""

from __future__ import annotations

import json
import time
import uuid
from base64 import b64encode
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from leanops.core.naming import Environment
from local.delivery.transform import Failed


class Undelivered:
    def __init__(self, s3: Any, environment: Environment) -> None:
        self._s3 = s3
        self._environment = environment

    def keep(self, failures: Sequence[Failed]) -> None:
        """One object for each kind of failure."""
        for kind, group in groupby(sorted(failures, key=lambda each: each.kind), key=lambda each: each.kind):
            lines = "".join(json.dumps(_line(failed)) + "\n" for failed in group)
            self._s3.put_object(Bucket=self._environment.archive_bucket, Key=self._key(kind), Body=lines.encode())

    def _key(self, kind: str) -> str:
        hour = datetime.now(UTC).strftime("%Y/%m/%d/%H")
        name = f"{self._environment.delivery_stream}-1-{uuid.uuid4()}"
        return f"{self._environment.delivery_error_prefix}/{kind}/{hour}/{name}"


def _line(failed: Failed) -> dict[str, Any]:
    return {
        "attemptsMade": failed.attempts,
        "arrivalTimestamp": failed.record.arrival,
        "errorCode": failed.code,
        "errorMessage": failed.message,
        "attemptEndingTimestamp": int(time.time() * 1000),
        "rawData": b64encode(failed.record.data).decode(),
    }
