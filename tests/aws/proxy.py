"""A proxy before the local AWS that spoils chosen calls: refuses them, or carries them out and loses the answer."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Literal, Self
from urllib.parse import urlsplit

Fault = Literal["refuse", "lose"] | None
HOP = {"connection", "transfer-encoding", "keep-alive", "content-length", "date", "server"}


class Proxy:
    """`calls` are the operations seen: `DynamoDB.PutItem`, `SQS.SendMessageBatch`, `PUT /bucket/key`."""

    def __init__(self, endpoint: str) -> None:
        self.calls: list[str] = []
        self._rule: Callable[[str], Fault] = lambda call: None
        self._lock = Lock()
        self._target = urlsplit(endpoint).netloc
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _any(self) -> None:
                proxy._serve(self)

            do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _any  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def heal(self) -> None:
        self.spoil(lambda call: None)

    def spoil(self, rule: Callable[[str], Fault]) -> None:
        with self._lock:
            self._rule = rule
            self.calls.clear()

    def spoil_once(self, operation: str, fault: Fault, nth: int = 1) -> None:
        """The nth call whose name holds `operation`."""
        seen = 0

        def rule(call: str) -> Fault:
            nonlocal seen
            if operation not in call:
                return None
            seen += 1
            return fault if seen == nth else None

        self.spoil(rule)

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length") or 0))
        call = _name(request)
        with self._lock:
            self.calls.append(call)
            fault = self._rule(call)
        if fault == "refuse":
            self._answer_refusal(request)
            return
        connection = http.client.HTTPConnection(self._target, timeout=60)
        try:
            connection.request(request.command, request.path, body, dict(request.headers.items()))
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        if fault == "lose":
            self._answer_refusal(request)
            return
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in HOP:
                request.send_header(name, value)
        request.send_header(
            "Content-Length",
            (answer.getheader("Content-Length") or "0") if request.command == "HEAD" else str(len(content)),
        )
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)

    def _answer_refusal(self, request: BaseHTTPRequestHandler) -> None:
        """An error that boto3 does not try again, so that the function has to cope."""
        if request.headers.get("X-Amz-Target"):
            content = b'{"__type":"AccessDeniedException","message":"spoiled by the test"}'
        else:
            content = b"<Error><Code>AccessDenied</Code><Message>spoiled by the test</Message></Error>"
            if request.command == "POST":
                content = b"<ErrorResponse>" + content + b"</ErrorResponse>"
        request.send_response(403)
        request.send_header("Content-Type", "application/x-amz-json-1.0")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(content)


def _name(request: BaseHTTPRequestHandler) -> str:
    target = request.headers.get("X-Amz-Target")
    if target is None:
        return f"{request.command} {request.path}"
    service, _, operation = target.rpartition(".")
    return f"{service.split('_')[0].removeprefix('Amazon')}.{operation}"
