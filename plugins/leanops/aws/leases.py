"""Leases: one run of a topic at a time. A lease only saves work, since two runs leave the rows of one.

An expired lease may be taken. Whose clock says that it is expired? Not the taker's alone, nor the holder's: both times
are the service's, from the date of its answers (`Items.now`), so every change begins with a read. What is left of the
doubt (dates are whole seconds, answers take time) is covered by MARGIN, and what a lease outlives by the fencing token:
it grows with every new holder, and stores that are given it refuse what comes from a former one.

The token survives release and expiry, for the item stays. Should it be deleted after all, by hand or by the table's
TTL, the next token is taken from the clock in milliseconds, as is every one that would be lower: so it still grows.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final
from uuid import uuid4

from leanops.aws import moments
from leanops.aws.items import Item, Items, Refused, as_seen
from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment, Names

LOG = logging.getLogger(__name__)
SECONDS: Final = 300
MARGIN: Final = 30
RACES: Final = 8
STATE: Final = ("owner", "fencing", "expires_at")


class LeaseMoved(LeanOpsError):
    def __init__(self, topic: str) -> None:
        self.topic = topic
        super().__init__(
            "change lease", f"others were faster {RACES} times", topic, "Clear the task; look for runs in a loop."
        )


@dataclass(frozen=True)
class Lease:
    """Ours until then (seconds since 1970). Plain values: `Lease(**document)` makes it from its `asdict` again."""

    topic: str
    owner: str
    fencing: int
    until: int


@dataclass(frozen=True)
class Held:
    """Somebody's lease. `until` is when it may be taken, if it is not renewed before."""

    topic: str
    by: str
    fencing: int
    until: int

    def __str__(self) -> str:
        return f"{self.topic} is held by {self.by} until {moments.text(datetime.fromtimestamp(self.until, UTC))}"


@dataclass(frozen=True)
class Lost:
    """The lease is no longer ours. `by` has it now; None: it was released."""

    topic: str
    by: str | None
    fencing: int


class Leases:
    def __init__(
        self,
        environment: Environment,
        client: Any = None,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._environment = environment
        self._items = Items(environment.locks, client, clock, pause)

    def holder(self, names: Names) -> Held | None:
        """Who has the lease, expired or not."""
        return _held(names.topic, self._items.get(_key(names)))

    def acquire(self, names: Names, owner: str, seconds: int = SECONDS) -> Lease | Held:
        """The lease, or who has it. An owner that has it already gets it once more, under the same token: a task that
        is tried again, or whose answer got lost, finds its own."""
        item = self._items.get(_key(names))
        for _ in range(RACES):
            held = _held(names.topic, item)
            now = self._items.now()
            if held and held.by != owner and now < held.until:
                return held
            is_ours = held is not None and held.by == owner
            fencing = _fencing(item) if is_ours else max(_fencing(item) + 1, int(now * 1000))
            condition, seen = as_seen(item, STATE)
            change = {"owner": owner, "fencing": fencing, "expires_at": _until(now, seconds)}
            if not is_ours:
                change["acquired_at"] = _text(now)
            written = self._items.update(_key(names), condition, put=change, values=seen)
            if not isinstance(written, Refused):
                return _lease(names.topic, written)
            if written.item and _is(written.item, owner, fencing):
                LOG.info("the lease of %s was taken before, the answer got lost", names.topic)
                return _lease(names.topic, written.item)
            item = written.item
        raise LeaseMoved(names.topic)

    def renew(self, lease: Lease, seconds: int = SECONDS) -> Lease | Lost:
        """Also after it is expired, as long as nobody has taken it. Never shortens."""
        key = _key(self._environment.topic(lease.topic))
        item = self._items.get(key)
        if item is None or not _is(item, lease.owner, lease.fencing):
            return _lost(lease, item)
        until = max(_until(self._items.now(), seconds), _number(item.get("expires_at")))
        written = self._items.update(
            key,
            "#owner = :owner AND #fencing = :fencing",
            put={"expires_at": until},
            values={"owner": lease.owner, "fencing": lease.fencing},
        )
        return _lost(lease, written.item) if isinstance(written, Refused) else _lease(lease.topic, written)

    def release(self, lease: Lease) -> bool:
        """Frees it. False: somebody else has it by now, or another lease of the same owner, and it stays theirs."""
        written = self._items.update(
            _key(self._environment.topic(lease.topic)),
            "#owner = :owner AND #fencing = :fencing",
            put={"released_at": moments.text(moments.now())},
            remove=("owner", "expires_at"),
            values={"owner": lease.owner, "fencing": lease.fencing},
        )
        return not isinstance(written, Refused) or written.item is None or "owner" not in written.item

    def force_release(self, names: Names, *, reason: str, by: str) -> Held | None:
        """Breaks whoever's lease there is, and says whose it was. The former holder's renewals fail from now on.

        Who broke it, and why, stays in the item: for people, and so that after a lost answer the heir's is not broken.
        """
        token = uuid4().hex
        item = self._items.get(_key(names))
        for _ in range(RACES):
            held = _held(names.topic, item)
            if held is None:
                return None
            broken = {"by": by, "reason": reason, "at": _text(self._items.now()), "owner": held.by, "token": token}
            condition, seen = as_seen(item, STATE)
            written = self._items.update(
                _key(names), condition, put={"broken": broken}, remove=("owner", "expires_at"), values=seen
            )
            if not isinstance(written, Refused) or (written.item or {}).get("broken", {}).get("token") == token:
                LOG.warning("the lease of %s was broken by %s: %s; %s", names.topic, by, reason, held)
                return held
            item = written.item
        raise LeaseMoved(names.topic)


def _key(names: Names) -> dict[str, str]:
    return {"lock_id": names.lease()}


def _until(now: float, seconds: int) -> int:
    return int(now) + seconds


def _is(item: Item, owner: str, fencing: int) -> bool:
    return item.get("owner") == owner and _fencing(item) == fencing


def _lease(topic: str, item: Item) -> Lease:
    return Lease(topic, str(item["owner"]), _fencing(item), _number(item.get("expires_at")))


def _held(topic: str, item: Item | None) -> Held | None:
    if item is None or "owner" not in item:
        return None
    return Held(topic, str(item["owner"]), _fencing(item), _number(item.get("expires_at")) + MARGIN)


def _lost(lease: Lease, item: Item | None) -> Lost:
    found = item or {}
    return Lost(lease.topic, str(found["owner"]) if "owner" in found else None, _fencing(item))


def _fencing(item: Item | None) -> int:
    return _number((item or {}).get("fencing"))


def _number(value: object) -> int:
    """People may have edited the item: what is no number counts as long past."""
    return value if isinstance(value, int) else 0


def _text(now: float) -> str:
    return moments.text(datetime.fromtimestamp(now, UTC))
