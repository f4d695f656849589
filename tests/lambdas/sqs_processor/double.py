"""Stands in for the delivery stream at the HTTP edge: real boto3 on the one side, a script of refusals on the other."""

from __future__ import annotations

import json
import threading
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Answer = Literal["answered", "throttled", "broken", "forbidden", "cut before", "cut after", "short"]


@dataclass(frozen=True)
class Step:
    """How one call is answered. `refused` says by the record and its position whether the record is refused."""

    answer: Answer = "answered"
    refused: Callable[[bytes, int], bool] = lambda record, position: False


@dataclass
class Double:
    """`accepted` is what the stream has, whether the caller knows or not; `told` is what the caller was told."""

    port: int = 0
    calls: list[list[bytes]] = field(default_factory=list)
    accepted: list[bytes] = field(default_factory=list)
    told: list[bytes] = field(default_factory=list)
    keeps: bool = True
    _script: Iterator[Step] = field(default_factory=lambda: iter(()))

    def play(self, script: Iterable[Step]) -> None:
        """Afterwards every call is answered well."""
        self.calls, self.accepted, self.told = [], [], []
        self._script = iter(script)

    def take(self, records: list[bytes]) -> tuple[int, dict[str, Any]] | None:
        """Status and body of the answer; None for a connection that is cut."""
        if not self.keeps:
            return 200, {"FailedPutCount": 0, "RequestResponses": [{"RecordId": "r"}] * len(records)}
        self.calls.append(records)
        step = next(self._script, Step())
        if step.answer == "throttled":
            return 503, {"__type": "ServiceUnavailableException", "message": "Slow down."}
        if step.answer == "broken":
            return 500, {"__type": "InternalFailure"}
        if step.answer == "forbidden":
            return 400, {"__type": "AccessDeniedException", "message": "no"}
        if step.answer == "cut before":
            return None
        return self._answered(records, step)

    def _answered(self, records: Sequence[bytes], step: Step) -> tuple[int, dict[str, Any]] | None:
        responses: list[dict[str, str]] = []
        taken: list[bytes] = []
        for position, record in enumerate(records):
            if step.refused(record, position):
                responses.append({"ErrorCode": "ServiceUnavailableException", "ErrorMessage": "Slow down."})
            else:
                taken.append(record)
                responses.append({"RecordId": f"record-{len(self.accepted) + len(taken)}"})
        self.accepted += taken
        if step.answer == "cut after":
            return None
        if step.answer == "short":
            responses.pop()
        else:
            self.told += taken
        failed = sum("ErrorCode" in response for response in responses)
        return 200, {"FailedPutCount": failed, "Encrypted": False, "RequestResponses": responses}


@contextmanager
def served() -> Iterator[Double]:
    """A double on a free port of this machine. To any other service's call it answers that there is nothing."""
    double = Double()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            answer: tuple[int, dict[str, Any]] | None = (200, {"Responses": {}, "UnprocessedKeys": {}})
            if self.headers["X-Amz-Target"] == "Firehose_20150804.PutRecordBatch":
                answer = double.take([b64decode(record["Data"]) for record in json.loads(content)["Records"]])
            if answer is None:
                self.close_connection = True
                return
            body = json.dumps(answer[1]).encode()
            self.send_response(answer[0])
            self.send_header("Content-Type", "application/x-amz-json-1.1")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_PUT(self) -> None:
            """S3 takes every object, for whoever measures only."""
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        double.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield double
        finally:
            server.shutdown()
            thread.join()
