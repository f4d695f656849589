"""The delivery stream: accepts, buffers, delivers. At least once, as Firehose."""

from __future__ import annotations

import logging
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from local.delivery import spool
from local.delivery.faults import Dice, Faults
from local.delivery.spool import Record, Spool
from local.delivery.transform import Failed, Routed

LOG: Final = logging.getLogger(__name__)


class Tables(Protocol):
    def append(self, table: str, routed: Sequence[Routed]) -> list[Failed]: ...


class Failures(Protocol):
    def keep(self, failures: Sequence[Failed]) -> None: ...


@dataclass(frozen=True)
class Buffering:
    """A delivery begins when there is this much, or when the oldest has waited this long."""

    size: int = 64 * 1024 * 1024
    seconds: float = 300.0
    # Pause after a delivery that failed as a whole.
    retry_seconds: float = 1.0


class DeliveryFailed(RuntimeError):
    """A delivery that a fault stops between its commits."""


class Stream:
    def __init__(
        self,
        folder: Path,
        transform: Callable[[Sequence[Record]], list[Routed | Failed]],
        tables: Tables,
        failures: Failures,
        buffering: Buffering,
        faults: Faults,
        seed: int = 0,
    ) -> None:
        self.dice = Dice(faults, seed)
        self.counts: Counter[str] = Counter()
        self._spool = Spool(folder)
        self._transform = transform
        self._tables = tables
        self._failures = failures
        self._buffering = buffering
        self._delivering = threading.Lock()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """What is not delivered stays in the spool for the next start."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join()
        self._spool.seal()

    def accept(self, records: Sequence[bytes]) -> list[str | None]:
        """A record's id, or None where a fault refuses it. Ids are given only for what is on the disk."""
        taken = [not self._refuses(record) for record in records]
        numbers = iter(self._spool.append([record for record, ok in zip(records, taken, strict=True) if ok]))
        self.counts["accepted"] += sum(taken)
        self.counts["refused"] += len(taken) - sum(taken)
        return [f"{next(numbers):020d}" if is_taken else None for is_taken in taken]

    def _refuses(self, record: bytes) -> bool:
        faults = self.dice.faults
        is_poison = bool(faults.poison) and faults.poison.encode() in record
        return is_poison or self.dice.falls(faults.refuse)

    def flush(self) -> None:
        """Everything that was accepted before the call is delivered when it returns."""
        self._spool.seal()
        with self._delivering:
            for segment in self._spool.sealed():
                self._deliver(segment)

    @property
    def is_empty(self) -> bool:
        return not self._spool.is_due(0, 0) and not self._spool.sealed()

    def _run(self) -> None:
        while not self._stopped.wait(min(0.2, self._buffering.seconds)):
            try:
                if self._spool.is_due(self._buffering.size, self._buffering.seconds) or self._spool.sealed():
                    self.flush()
            except Exception:
                # The segment stays: nothing is lost, something may come twice.
                self.counts["failed_deliveries"] += 1
                LOG.exception("a delivery failed and will be tried again")
                self._stopped.wait(self._buffering.retry_seconds)

    def _deliver(self, segment: Path) -> None:
        faults = self.dice.faults
        records = list(spool.read(segment))
        repeated = [record for record in records if self.dice.falls(faults.duplicate)]
        results = self._transform(self.dice.shuffled(records + repeated) if faults.shuffle else records + repeated)
        failures = [result for result in results if isinstance(result, Failed)]
        by_table: dict[str, list[Routed]] = defaultdict(list)
        for result in results:
            if isinstance(result, Routed):
                by_table[result.table].append(result)
        for table, routed in by_table.items():
            failures += self._tables.append(table, routed)
            if self.dice.falls(faults.fail_delivery):
                raise DeliveryFailed(f"a fault was asked for, after the commit to {table}")
        if failures:
            self._failures.keep(failures)
        self._spool.remove(segment)
        self.counts["delivered"] += len(results) - len(failures)
        self.counts["undelivered"] += len(failures)
        self.counts["repeated"] += len(repeated)
        LOG.info(
            "delivered %s records to %s tables, %s to the error prefix", len(results), len(by_table), len(failures)
        )
