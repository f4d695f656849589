"""Misbehaviour on request: each fault is used up by the next calls or starts that it fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields, replace
from threading import Lock
from typing import Any, Final, Literal, get_args

from leanops.core.errors import LeanOpsError, shown

Kind = Literal["throttle", "lose_answer", "concurrent_runs", "stuck", "kill"]
START: Final = "StartJobRun"


class InvalidFault(LeanOpsError):
    def __init__(self, reason: str, subject: object, remedy: str) -> None:
        super().__init__("set fault", reason, shown(subject), remedy)


@dataclass(frozen=True)
class Fault:
    """throttle: the call is refused. lose_answer: the run starts, and the connection is closed without an answer.

    concurrent_runs: the start is refused as if too many runs were there. stuck, kill: the run's processes are frozen or
    killed, `after` seconds from their start.
    """

    kind: Kind
    times: int = 1
    # None: every call about jobs for throttle. All others are about starts.
    operation: str | None = None
    # Glue's job or EMR's application; None: any.
    owner: str | None = None
    after: float = 0.0

    def fits(self, kind: Kind, operation: str, owner: str | None) -> bool:
        return self.kind == kind and self.operation in (None, operation) and self.owner in (None, owner)


class Faults:
    def __init__(self, pending: Iterable[Fault] = ()) -> None:
        self._pending = list(pending)
        self._lock = Lock()

    def add(self, document: Any) -> None:
        """One fault or a list of them, as JSON gives them."""
        faults = [_fault(each) for each in (document if isinstance(document, list) else [document])]
        with self._lock:
            self._pending += faults

    def clear(self) -> None:
        with self._lock:
            self._pending.clear()

    def pending(self) -> list[dict[str, Any]]:
        with self._lock:
            return [asdict(fault) for fault in self._pending]

    def take(self, kind: Kind, operation: str, owner: str | None, *, by_name_only: bool = False) -> Fault | None:
        """The first fault that fits, which has then one time less; `by_name_only` passes by those for any operation."""
        with self._lock:
            for index, fault in enumerate(self._pending):
                if fault.fits(kind, operation, owner) and not (by_name_only and fault.operation is None):
                    left = replace(fault, times=fault.times - 1)
                    self._pending[index : index + 1] = [left] if left.times > 0 else []
                    return fault
        return None


def _fault(document: Any) -> Fault:
    known = {each.name for each in fields(Fault)}
    if not isinstance(document, dict) or not known.issuperset(document):
        raise InvalidFault("it is not an object of known keys", str(document), f"Use {', '.join(sorted(known))}.")
    if document.get("kind") not in get_args(Kind):
        raise InvalidFault("no such kind", document.get("kind"), f"Use one of {', '.join(get_args(Kind))}.")
    times, after = document.get("times", 1), document.get("after", 0)
    if not isinstance(times, int) or times < 1 or not isinstance(after, int | float) or after < 0:
        raise InvalidFault("times or after is no such number", str(document), "Give times from 1, after in seconds.")
    return Fault(**document)
