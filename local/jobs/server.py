"""The HTTP side: Glue's protocol on `/`, EMR Serverless's on `/applications/…`, and for tests and demos `/_faults`."""

from __future__ import annotations

import json
import logging
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from leanops.core.errors import LeanOpsError
from local.jobs import protocol
from local.jobs.emr import Call, EmrServerless
from local.jobs.faults import START, Faults
from local.jobs.forwarding import Answer, Forwarding
from local.jobs.glue import TARGET, Glue
from local.jobs.protocol import Refused

LOG: Final = logging.getLogger(__name__)
OWN_HEADERS: Final = frozenset({"date", "server"})


class AnswerLost(Exception):
    """What was asked is done, and nobody is told."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    # Schedulers ask for many jobs at once; the default takes 5 connections.
    request_queue_size = 128

    def __init__(
        self, address: tuple[str, int], glue: Glue, emr: EmrServerless, faults: Faults, forwarding: Forwarding
    ) -> None:
        self.glue = glue
        self.emr = emr
        self.faults = faults
        self.forwarding = forwarding
        super().__init__(address, Handler)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            self._send(self._answer(body))
        except AnswerLost:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
        except Refused as refused:
            self._send(_refusal(refused))
        except Exception as error:
            LOG.exception("a request failed")
            self._send(_refusal(Refused("InternalServerException", f"{type(error).__name__}: {error}", 500)))

    def _answer(self, body: bytes) -> Answer:
        if self.path == "/_faults":
            return _answer(self._faults(body))
        target = self.headers.get("X-Amz-Target", "")
        if target.startswith(TARGET):
            return self._glue(target.removeprefix(TARGET), body)
        call = Call(self.command, self.path)
        self._throttle(call.operation, call.application)
        document = self.server.emr.answer(call, protocol.read(body))
        self._lose(call.operation, call.application)
        return _answer(document)

    def _glue(self, operation: str, body: bytes) -> Answer:
        if not self.server.glue.knows(operation):
            self._throttle(operation, None, by_name_only=True)
            return self.server.forwarding.answer(self.command, self.path, self.headers.items(), body)
        request = protocol.read(body)
        name = request.get("JobName")
        self._throttle(operation, name)
        document = self.server.glue.answer(operation, request)
        self._lose(operation, name)
        return _answer(document)

    def _throttle(self, operation: str, owner: str | None, *, by_name_only: bool = False) -> None:
        if self.server.faults.take("throttle", operation, owner, by_name_only=by_name_only):
            raise protocol.throttled()

    def _lose(self, operation: str, owner: str | None) -> None:
        if operation == START and self.server.faults.take("lose_answer", operation, owner):
            raise AnswerLost

    def _faults(self, body: bytes) -> dict[str, Any]:
        faults = self.server.faults
        if self.command == "DELETE":
            faults.clear()
        elif self.command == "POST":
            try:
                faults.add(json.loads(body))
            except (LeanOpsError, ValueError) as error:
                raise Refused("ValidationException", str(error)) from error
        return {"faults": faults.pending()}

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers:
            if name.lower() not in OWN_HEADERS:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        LOG.debug(format, *args)


def _answer(document: dict[str, Any]) -> Answer:
    return Answer(200, [("Content-Type", "application/x-amz-json-1.1")], json.dumps(document).encode())


def _refusal(refused: Refused) -> Answer:
    headers = [("Content-Type", "application/x-amz-json-1.1"), ("X-Amzn-ErrorType", refused.code)]
    return Answer(refused.status, headers, refused.body())
