"""What goes wrong while messages flow: functions are killed, the delivery service is killed, DynamoDB loses a table."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from leanops.core.naming import Environment
from local.aws.emulator import Emulator
from local.bootstrap.stores import make_state_tables
from local.delivery.process import Delivery


def function_processes(emulator: Emulator, function: str) -> list[int]:
    """The emulator runs each concurrent call of a function in a child process of its own."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(stat.read_text().rsplit(")", 1)[1].split()[1])
            if parent != emulator.pid:
                continue
            variables = stat.with_name("environ").read_bytes().split(b"\0")
            if f"AWS_LAMBDA_FUNCTION_NAME={function}".encode() in variables:
                found.append(int(stat.parent.name))
    return found


class Chaos:
    """Its steps come round and round until it is stopped, which leaves everything mended."""

    def __init__(
        self, emulator: Emulator, delivery: Delivery, client: Callable[[str], Any], environment: Environment
    ) -> None:
        self.done: Counter[str] = Counter()
        # What the killed delivery services had counted.
        self.stream: Counter[str] = Counter()
        self._emulator = emulator
        self._delivery = delivery
        self._client = client
        self._environment = environment
        self._random = random.Random(7)
        self._stopped = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="chaos", daemon=True)

    def __enter__(self) -> Chaos:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join()
        make_state_tables(self._client, self._environment)
        if self._failure is not None:
            raise self._failure

    def _run(self) -> None:
        steps = (
            (self._kill_function, 2.0),
            (self._kill_function, 2.0),
            (lambda: self._drop_table(self._environment.idempotency), 3.0),
            (self._restart_delivery, 2.0),
            (self._kill_function, 2.0),
            (lambda: self._drop_table(self._environment.dlq_index), 3.0),
            (self._restore_tables, 4.0),
        )
        try:
            while True:
                for step, seconds in steps:
                    if self._stopped.wait(seconds):
                        return
                    step()
        except BaseException as error:
            self._failure = error

    def _kill_function(self) -> None:
        processes = function_processes(self._emulator, self._environment.function("sqs_processor"))
        if processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._random.choice(processes), signal.SIGKILL)
                self.done["functions killed"] += 1

    def _restart_delivery(self) -> None:
        self.stream.update(self._delivery.state())
        self._delivery.kill()
        self._delivery.start()
        self.done["delivery services killed"] += 1

    def _drop_table(self, table: str) -> None:
        dynamodb = self._client("dynamodb")
        with contextlib.suppress(dynamodb.exceptions.ResourceNotFoundException):
            dynamodb.delete_table(TableName=table)
            self.done["tables dropped"] += 1

    def _restore_tables(self) -> None:
        make_state_tables(self._client, self._environment)
