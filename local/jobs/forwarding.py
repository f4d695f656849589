"""Hands a request on to the emulator as it came: the catalog lives there."""

from __future__ import annotations

import http.client
from collections.abc import Iterable
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from local.jobs.protocol import Refused

SECONDS: Final = 60.0
# Of one connection, not of the message.
HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade"})


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: bytes


class Forwarding:
    def __init__(self, endpoint: str) -> None:
        parts = urlsplit(endpoint)
        self._endpoint = endpoint
        self._host = parts.hostname or ""
        self._port = parts.port or 80

    def answer(self, method: str, path: str, headers: Iterable[tuple[str, str]], body: bytes) -> Answer:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
        try:
            # The headers are signed, Host too.
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in _end_to_end(headers):
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, _end_to_end(response.getheaders()), response.read())
        except OSError as error:
            message = f"the emulator at {self._endpoint} does not answer: {error}"
            raise Refused("InternalServiceException", message, 500) from error
        finally:
            connection.close()


def _end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name, value) for name, value in headers if name.lower() not in HOP]
