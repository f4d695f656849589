"""The state stores of a deployment behind a proxy that throttles, cuts and loses, and whose clock can be moved."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler
from typing import Any, Literal
from unittest import mock

from leanops.aws import settings
from leanops.aws.items import plain, serialized
from leanops.core.naming import Environment, Names
from local.bootstrap.stores import make_databases, make_state_tables
from tests.aws.proxy import Proxy
from tests.emulator import Account, Aws

Way = Literal["denied", "throttled", "cut", "broken", "garbage"]
ANSWERS = {
    "throttled": (400, b'{"__type":"ProvisionedThroughputExceededException","message":"spoiled by the test"}'),
    "broken": (500, b'{"__type":"InternalServerError","message":"spoiled by the test"}'),
    "garbage": (503, b"<html>spoiled by the test"),
}


class Faults(Proxy):
    """`way` is how a spoiled call is answered; `shift` moves the service's clock, by seconds."""

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.way: Way = "denied"
        self.shift = 0.0

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        date = formatdate(time.time() + self.shift, usegmt=True)
        request.date_time_string = lambda *_: date  # type: ignore[method-assign]
        super()._serve(request)

    def _answer_refusal(self, request: BaseHTTPRequestHandler) -> None:
        if self.way == "cut":
            request.close_connection = True
            request.connection.shutdown(socket.SHUT_RDWR)
            return
        if self.way == "denied":
            super()._answer_refusal(request)
            return
        status, content = ANSWERS[self.way]
        request.send_response(status)
        request.send_header("Content-Type", "application/x-amz-json-1.0")
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content)


class State:
    """A topic of its own in a deployment that the module's tests share."""

    def __init__(self, account: Account, proxy: Faults) -> None:
        self.account, self.proxy = account, proxy
        self.environment: Environment = account.environment
        self.names: Names = account.environment.topic(f"t{secrets.token_hex(4)}")
        self.topic = self.names.topic
        self.pauses: list[float] = []

    def fresh(self) -> State:
        self.proxy.way, self.proxy.shift = "denied", 0.0
        self.proxy.heal()
        return State(self.account, self.proxy)

    def client(self, service: str) -> Any:
        """Past the proxy: for the test itself."""
        return self.account.client(service)

    def once(self, service: str) -> Any:
        """Through the proxy, without attempts of boto3's own."""
        return settings.client(service, attempts=1)

    def item(self, table: str, **key: str) -> dict[str, Any] | None:
        answer = self.client("dynamodb").get_item(TableName=table, Key=serialized(key), ConsistentRead=True)
        return plain(answer["Item"]) if "Item" in answer else None

    def put(self, table: str, **values: Any) -> None:
        self.client("dynamodb").put_item(TableName=table, Item=serialized(values))


@contextmanager
def state_of(aws: Aws) -> Iterator[State]:
    """An AWS account with the state stores and the catalog's databases; the variables point to the proxy."""
    account = Account(aws)
    make_state_tables(account.client, account.environment)
    make_databases(account.client, account.environment)
    with Faults(aws.endpoint) as proxy, mock.patch.dict(os.environ, account.variables):
        os.environ["AWS_ENDPOINT_URL"] = proxy.url
        settings.reset()
        yield State(account, proxy)
        settings.reset()
    account.close()
