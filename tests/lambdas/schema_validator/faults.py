"""Kills at chosen calls to AWS: before the call reaches it, or after it did and nobody heard the answer."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from leanops.aws import settings

SERVICES = ("s3", "dynamodb", "glue", "sns")
CHANGING = {
    "PutObject",
    "DeleteObject",
    "UpdateItem",
    "PutItem",
    "CreateTable",
    "UpdateTable",
    "CreateDatabase",
    "Publish",
}


class Killed(BaseException):
    """No `except Exception` on the way may see it, as none would see a SIGKILL."""


class Faults:
    """Counts the calls that change something. The one numbered `at` kills, and after it nothing gets through."""

    def __init__(self, at: int | None = None, when: str = "before") -> None:
        self.calls: list[str] = []
        self._at = at
        self._when = when
        self._is_dead = False
        self._lock = threading.Lock()

    def before(self, model: Any, **_: Any) -> None:
        if model.name in CHANGING:
            with self._lock:
                self.calls.append(model.name)
                self._is_dead |= self._when == "before" and len(self.calls) - 1 == self._at
            if self._is_dead:
                raise Killed(model.name)

    def after(self, model: Any, **_: Any) -> None:
        if model.name in CHANGING and self._when == "after" and len(self.calls) - 1 == self._at:
            self._is_dead = True
            raise Killed(model.name)

    @property
    def has_struck(self) -> bool:
        return self._is_dead


@contextmanager
def injected(faults: Any) -> Iterator[None]:
    clients = [settings.client(service) for service in SERVICES]
    for client in clients:
        client.meta.events.register("before-call", faults.before)
        client.meta.events.register("after-call", faults.after)
    try:
        yield
    finally:
        for client in clients:
            client.meta.events.unregister("before-call", faults.before)
            client.meta.events.unregister("after-call", faults.after)


class Jitter:
    """Every call waits a little, and each thread may be killed once, at a call drawn by lot."""

    def __init__(self, seed: int, kills: bool) -> None:
        self._random = random.Random(seed)
        self._kills = kills
        self._left: dict[int, float] = {}
        self._lock = threading.Lock()

    def before(self, model: Any, **_: Any) -> None:
        self._step(model)

    def after(self, model: Any, **_: Any) -> None:
        self._step(model)

    def _step(self, model: Any) -> None:
        with self._lock:
            pause = self._random.random() * 0.02
            thread = threading.get_ident()
            if thread not in self._left:
                self._left[thread] = self._random.randint(1, 120) if self._kills else float("inf")
            if model.name in CHANGING:
                self._left[thread] -= 1
            is_killed = self._left[thread] == 0
        time.sleep(pause)
        if is_killed and model.name in CHANGING:
            raise Killed(model.name)
