"""The HTTP side: Firehose's protocol on `/`, and for tests and demos `/_local/{state,faults,flush}`."""

from __future__ import annotations

import json
import logging
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from local.delivery import protocol
from local.delivery.protocol import Refused
from local.delivery.stream import Stream

LOOPBACK: Final = "127.0.0.1"
LOG: Final = logging.getLogger(__name__)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # Lambda's bursts open more connections at once than the default of 5 takes.
    request_queue_size = 128

    def __init__(self, port: int, stream: Stream, name: str, arn: str) -> None:
        self.stream = stream
        self.stream_name = name
        self.stream_arn = arn
        super().__init__((LOOPBACK, port), Handler)

    @property
    def endpoint(self) -> str:
        return f"http://{LOOPBACK}:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        if self.path == "/_local/state":
            stream = self.server.stream
            self._answer(200, json.dumps({"empty": stream.is_empty, **stream.counts}).encode())
        else:
            self._answer(404, b"{}")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            if self.path.startswith("/_local/"):
                self._answer(200, self._administered(self.path.removeprefix("/_local/"), body))
            else:
                self._answer(200, self._put(self.headers.get("X-Amz-Target", ""), body))
        except Refused as refused:
            self._answer(refused.status, refused.body(), refused.code)
        except Exception as error:
            LOG.exception("a request failed")
            failure = Refused("InternalFailure", f"{type(error).__name__}: {error}", 500)
            self._answer(failure.status, failure.body(), failure.code)

    def _put(self, target: str, body: bytes) -> bytes:
        stream = self.server.stream
        put = protocol.read(target, body, self.server.stream_name)
        if put is None:
            return protocol.description(self.server.stream_name, self.server.stream_arn)
        if stream.dice.falls(stream.dice.faults.throttle):
            stream.counts["throttled_requests"] += 1
            raise protocol.unavailable()
        answer = protocol.answer(put, stream.accept(put.records))
        if stream.dice.falls(stream.dice.faults.lose_answer):
            stream.counts["lost_answers"] += 1
            raise Refused("InternalFailure", "the answer was lost on request", 500)
        return answer

    def _administered(self, action: str, body: bytes) -> bytes:
        stream = self.server.stream
        if action == "faults":
            try:
                stream.dice.faults = stream.dice.faults.changed(json.loads(body))
            except (TypeError, ValueError) as error:
                raise Refused("ValidationException", str(error)) from error
        elif action == "flush":
            stream.flush()
        else:
            raise Refused("UnknownOperationException", f"no such action: {action}", 404)
        return b"{}"

    def _answer(self, status: int, body: bytes, code: str | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        if code is not None:
            self.send_header("X-Amzn-ErrorType", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        LOG.debug(format, *args)
