"""What the two protocols share. Codes and field names are AWS's own, since clients read them."""

from __future__ import annotations

import json
from typing import Any


class Refused(Exception):
    def __init__(self, code: str, message: str, status: int = 400) -> None:
        self.code = code
        self.message = message
        self.status = status
        super().__init__(f"{code}: {message}")

    def body(self) -> bytes:
        return json.dumps({"__type": self.code, "message": self.message}).encode()


def throttled() -> Refused:
    return Refused("ThrottlingException", "Rate exceeded")


def read(body: bytes) -> dict[str, Any]:
    try:
        request = json.loads(body or b"{}")
    except ValueError as error:
        raise Refused("SerializationException", "the request is not JSON") from error
    if not isinstance(request, dict):
        raise Refused("SerializationException", "the request is not an object")
    return request
