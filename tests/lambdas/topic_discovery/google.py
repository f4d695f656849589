"""Google as these tests need it, over HTTP on loopback: the token endpoint and the list of topics, in the shape of the
real API's answers (entries carry more than a name, an empty project has no `topics`, errors are objects)."""

from __future__ import annotations

import json
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from google.auth import jwt

PROJECT = "iot-events-prod"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
DENIED = {
    "error": {
        "code": 403,
        "message": "User not authorized to perform this action.",
        "status": "PERMISSION_DENIED",
        "details": [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "IAM_PERMISSION_DENIED"}],
    }
}
UNAVAILABLE = {
    "error": {"code": 503, "message": "The service was unable to fulfill your request.", "status": "UNAVAILABLE"}
}


def entry(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "labels": {"team": "iot"},
        "messageStoragePolicy": {"allowedPersistenceRegions": ["europe-west3"]},
        "schemaSettings": {"schema": f"projects/{PROJECT}/schemas/event", "encoding": "JSON"},
        "messageRetentionDuration": "604800s",
        "state": "ACTIVE",
    }


class Google:
    def __init__(self) -> None:
        self.ids: list[str] = []
        self.page_size = 3
        self.requests: list[str] = []
        self.faults: Callable[[int], tuple[int, object] | None] = lambda nth: None
        self.gives_tokens = True
        google = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                if self.headers["Authorization"] != "Bearer token-of-the-test":
                    self._answer(401, {"error": {"code": 401, "status": "UNAUTHENTICATED"}})
                else:
                    self._answer(*google._page(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._answer(*google._token(body.decode()))

            def _answer(self, status: int, document: object) -> None:
                content = document if isinstance(document, bytes) else json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json; charset=UTF-8")
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
    def secret(self) -> str:
        """A service account's key file."""
        pem = KEY.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return json.dumps(
            {
                "type": "service_account",
                "project_id": PROJECT,
                "private_key_id": "1",
                "private_key": pem.decode(),
                "client_email": f"discovery@{PROJECT}.iam.gserviceaccount.com",
                "client_id": "1",
                "token_uri": f"{self.url}/token",
            }
        )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _token(self, body: str) -> tuple[int, object]:
        form = parse_qs(body)
        public = KEY.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        claims = jwt.decode(form["assertion"][0], certs=public, audience="https://oauth2.googleapis.com/token")
        if not self.gives_tokens:
            return 400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."}
        assert claims["scope"] == "https://www.googleapis.com/auth/pubsub"
        return 200, {"access_token": "token-of-the-test", "expires_in": 3599, "token_type": "Bearer"}

    def _page(self, path: str) -> tuple[int, object]:
        self.requests.append(path)
        fault = self.faults(len(self.requests))
        if fault:
            return fault
        parts = urlsplit(path)
        if parts.path != f"/v1/projects/{PROJECT}/topics":
            return 404, {"error": {"code": 404, "status": "NOT_FOUND"}}
        query = parse_qs(parts.query)
        assert int(query["pageSize"][0]) == 1000
        start = int(query["pageToken"][0]) if "pageToken" in query else 0
        end = start + self.page_size
        shown = [entry(f"projects/{PROJECT}/topics/{each}") for each in self.ids[start:end]]
        answer: dict[str, Any] = {"topics": shown} if shown else {}
        return 200, answer | ({"nextPageToken": str(end)} if end < len(self.ids) else {})
