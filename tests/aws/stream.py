"""A delivery stream for tests: speaks PutRecordBatch over HTTP, and refuses what it is told to."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Self

# Status 200 with a code for each record (None: taken), or another status with one code for all.
Answer = tuple[int, list[str | None] | str]


class Stream:
    """`taken` are the records accepted, in order; `requests` the sizes of what came."""

    def __init__(self) -> None:
        self.taken: list[bytes] = []
        self.requests: list[tuple[int, int]] = []
        self._rule: Callable[[list[bytes]], Answer] = take_all
        self._lock = Lock()
        stream = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, document = stream._answer(json.loads(body))
                content = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/x-amz-json-1.1")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(record) for record in self.taken]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def reset(self, rule: Callable[[list[bytes]], Answer] | None = None) -> None:
        with self._lock:
            self.taken.clear()
            self.requests.clear()
            self._rule = rule or take_all

    def _answer(self, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        records = [base64.b64decode(each["Data"]) for each in request["Records"]]
        with self._lock:
            self.requests.append((len(records), sum(map(len, records))))
            if len(records) > 500 or sum(map(len, records)) > 4 * 1024 * 1024 or max(map(len, records)) > 1_024_000:
                return 400, {"__type": "InvalidArgumentException", "message": "over the limits"}
            status, codes = self._rule(records)
            if isinstance(codes, str):
                return status, {"__type": codes, "message": "refused by the test"}
            responses = [
                {"ErrorCode": code, "ErrorMessage": "refused"} if code else {"RecordId": "r"} for code in codes
            ]
            self.taken += [record for record, code in zip(records, codes, strict=True) if code is None]
            return status, {"FailedPutCount": len([c for c in codes if c]), "RequestResponses": responses}


def take_all(records: list[bytes]) -> Answer:
    return 200, [None] * len(records)


def refuse_all(code: str, status: int = 400) -> Callable[[list[bytes]], Answer]:
    return lambda records: (status, code)


def refuse(code: str, which: Callable[[bytes], bool]) -> Callable[[list[bytes]], Answer]:
    """Part of a request."""
    return lambda records: (200, [code if which(record) else None for record in records])
