"""The way of an upload from pending/ into force, or to failed/.

Two objects are the truth: active/schema.json and failed/schema.json. Each is put in one step, active/ on condition that
it is still the contract that the new one was compared with. All else (tables, history, error.json, registry) is derived
from them by `_settle`, in rounds of «read the derived thing, read the truth, write on condition»: whoever writes last
has read the truth last. The upload is deleted at the very end. So a run that dies anywhere, comes twice, too late or
beside another one leaves what one undisturbed run leaves.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

from lambdas.schema_validator import history, notices
from lambdas.schema_validator.reading import readable
from lambdas.schema_validator.verdict import objections
from leanops.aws import moments
from leanops.aws.catalog import Catalog, Conflict
from leanops.aws.contracts import Contracts, Stored
from leanops.aws.registry import Change, Entry, Registry
from leanops.core import layout
from leanops.core.compatibility import Level
from leanops.core.contract import Contract
from leanops.core.errors import Fault, InvalidContract, LeanOpsError
from leanops.core.naming import Names

LOG = logging.getLogger(__name__)
STARTS: Final = 10
SHOWN_CHANGES: Final = 50


class UploadsMoved(LeanOpsError):
    def __init__(self, topic: str) -> None:
        super().__init__(
            "validate contract", f"it changed {STARTS} times", topic, "Wait a minute, then upload once more."
        )


class Outcome(NamedTuple):
    """`nothing`: there was no upload left to judge."""

    verdict: str
    schema_version: str | None = None
    faults: tuple[Fault, ...] = ()


class Validation:
    """Of one topic's upload."""

    def __init__(
        self,
        names: Names,
        contracts: Contracts,
        registry: Registry,
        catalog: Catalog,
        notify: Callable[[str, str], None],
        now: Callable[[], datetime] = moments.now,
    ) -> None:
        self._names = names
        self._contracts = contracts
        self._registry = registry
        self._catalog = catalog
        self._notify = notify
        self._now = now

    def run(self) -> Outcome:
        """Judges what lies in pending/, until nothing does. The event only wakes us: it may be late, or a repeat."""
        outcome = Outcome("nothing")
        for _ in range(STARTS):
            pending = self._contracts.read(self._names, "pending")
            if pending is None:
                if outcome.verdict == "nothing":
                    # A run may have died, or been overtaken, after somebody else took the upload away.
                    self._settle({})
                return outcome
            judged = self._judge(pending)
            if judged is not None:
                outcome = judged
                self._contracts.remove_pending(self._names, pending)
        raise UploadsMoved(self._names.topic)

    def _judge(self, pending: Stored) -> Outcome | None:
        """The verdict, carried out but for the upload's removal. None: another contract came into force meanwhile."""
        active = self._contracts.read(self._names, "active")
        former = history.contract_of(active)
        try:
            contract = readable(pending, self._names)
            if active is None or active.sha256 != pending.sha256:
                self._check(pending, contract, former)
        except InvalidContract as error:
            return self._refuse(pending, error.faults, former)
        if (active is None or active.sha256 != pending.sha256) and not self._activate(pending, contract, active):
            return None
        entry = self._settle({})
        self._tell_activation(contract, entry)
        return Outcome("active", contract.schema_version)

    def _check(self, pending: Stored, contract: Contract, former: Contract | None) -> None:
        found = objections(contract, history.comparison_of(former, contract), self._conflicts(contract))
        if found:
            raise InvalidContract(pending.key, found)

    def _conflicts(self, contract: Contract) -> list[Conflict]:
        return [found for each in layout.of_topic(self._names, contract) for found in self._catalog.conflicts(each)]

    def _activate(self, pending: Stored, contract: Contract, active: Stored | None) -> bool:
        self._make_tables(contract)
        notes = {"submitted-at": pending.submitted_at, "decided-at": moments.text(self._now())}
        if active is not None:
            file = history.archive_file(active)
            self._contracts.archive(self._names, active, file)
            notes["former"] = file
        return self._contracts.put_active(self._names, pending.content, active, notes)

    def _refuse(self, pending: Stored, faults: Sequence[Fault], active: Contract | None) -> Outcome:
        names, decided_at = self._names, moments.text(self._now())
        self._make_tables(None)
        row = history.failed_row(names.topic, pending, names.schema_key("failed"), faults, decided_at)
        # First: another refused upload may take this one's place in failed/ at any moment.
        self._catalog.revise(
            layout.SCHEMA_VERSIONS.table, {"topic_name": names.topic}, lambda rows: history.with_failed(rows, row)
        )
        notes = {"submitted-at": pending.submitted_at, "decided-at": decided_at}
        self._contracts.put_failed(names, pending.content, notes)
        self._settle({pending.sha256: faults})
        self._notify(*notices.refusal(names, faults, active))
        contract = history.contract_of(pending)
        return Outcome("failed", contract.schema_version if contract else None, tuple(faults))

    # Derived from active/ and failed/

    def _settle(self, faults: Mapping[str, Sequence[Fault]]) -> Entry:
        """Makes everything agree with the two objects; `faults` are known already, by digest of the contract."""
        self._make_tables(history.contract_of(self._read("active")))
        self._settle_history()
        self._settle_error(faults)
        return self._registry.revise(self._names.topic, self._registration)

    def _make_tables(self, contract: Contract | None) -> None:
        own = layout.of_topic(self._names, contract) if contract else ()
        for each in (*layout.ALL_SHARED, *own):
            for conflict in self._catalog.ensure(each):
                LOG.warning("left as it is: %s", conflict)

    def _settle_history(self) -> None:
        topic = self._names.topic

        def versions(rows: list[history.Row]) -> list[history.Row]:
            return history.version_rows(topic, rows, self._read("active"), self._former)

        def drift(rows: list[history.Row]) -> list[history.Row]:
            active = self._read("active")
            return (
                history.drift_rows(topic, rows, active, history.contract_of(self._former(active))) if active else rows
            )

        def registered(rows: list[history.Row]) -> list[history.Row]:
            active, entry = self._read("active"), self._registry.get(topic)
            return history.topic_row(topic, rows, active, entry.source if entry else None) if active else rows

        unit = {"topic_name": topic}
        self._catalog.revise(layout.SCHEMA_VERSIONS.table, unit, versions)
        self._catalog.revise(layout.DRIFT_LOG.table, {**unit, "source_layer": history.DRIFT_LAYER}, drift)
        self._catalog.revise(layout.TOPIC_REGISTRY.table, unit, registered)

    def _settle_error(self, known: Mapping[str, Sequence[Fault]]) -> None:
        for _ in range(STARTS):
            error = self._contracts.read(self._names, "failed", "error.json")
            failed = self._read("failed")
            if failed is None or _is_about(error, failed):
                return
            active = history.contract_of(self._read("active"))
            faults = known.get(failed.sha256) or self._faults(failed, active)
            document = notices.error_document(self._names, failed, faults, history.contract_of(failed), active)
            if self._contracts.put_error(self._names, document, error):
                return
        raise UploadsMoved(self._names.topic)

    def _faults(self, failed: Stored, active: Contract | None) -> Sequence[Fault]:
        """Of a refused contract whose error.json got lost."""
        try:
            self._check(failed, readable(failed, self._names), active)
        except InvalidContract as error:
            return error.faults
        return [Fault("contract", "a fault that is gone", "a contract", "Upload it again: it may be valid by now.")]

    def _registration(self, entry: Entry) -> Change | None:
        """What the registry must say of the topic; None where it says so already."""
        active, failed = self._read("active"), self._read("failed")
        contract = history.contract_of(active)
        wanted: dict[str, Any] = {"last_error": None}
        if failed is not None and (active is None or failed.decided_at > active.decided_at):
            wanted["last_error"] = {
                "contract_sha256": failed.sha256,
                "error": self._names.schema_key("failed", "error.json"),
                "at": failed.decided_at,
            }
        if active is not None and contract is not None:
            wanted |= {"status": "READY", "schema_version": contract.schema_version, "contract_sha256": active.sha256}
            wanted["rebuild_requested"] = self._rebuild(entry, active, contract)
        elif active is not None or failed is not None:
            wanted["status"] = "ERROR"
        is_open = contract is not None and entry.processing_enabled is None
        if not is_open and all(getattr(entry, name) == value for name, value in wanted.items()):
            return None
        return Change(
            set={name: value for name, value in wanted.items() if value is not None},
            # A person's «no» stays.
            default={"processing_enabled": True, "maintenance": False} if contract else {},
            remove=tuple(name for name, value in wanted.items() if value is None),
        )

    def _rebuild(self, entry: Entry, active: Stored, contract: Contract) -> Mapping[str, Any] | None:
        """The request that stands, with what lies between the contract registered last and the active one."""
        if entry.contract_sha256 in (None, active.sha256):
            return entry.rebuild_requested
        comparison = history.comparison_of(self._registered(entry, active), contract)
        if comparison is None or comparison.level < Level.BREAKING:
            return entry.rebuild_requested
        stands = entry.rebuild_requested or {}
        approval = contract.approve_breaking if comparison.is_approved else None
        changes = [str(change) for change in comparison.changes if change.level == Level.BREAKING]
        return {
            "from_version": stands.get("from_version", comparison.old_version),
            "to_version": contract.schema_version,
            "contract_sha256": active.sha256,
            "approved_by": approval.approved_by if approval else "see ops_db.schema_versions",
            "reason": approval.reason if approval else "see ops_db.schema_versions",
            "changes": [*stands.get("changes", []), *changes][:SHOWN_CHANGES],
            "blocked_columns": [conflict.column for conflict in self._conflicts(contract)],
            "requested_at": active.decided_at,
        }

    def _registered(self, entry: Entry, active: Stored) -> Contract | None:
        """The contract that the registry has: among those before the active one."""
        stored = self._former(active)
        seen = {active.sha256}
        while stored is not None and stored.sha256 not in seen:
            if stored.sha256 == entry.contract_sha256:
                return history.contract_of(stored)
            seen.add(stored.sha256)
            stored = self._former(stored)
        return None

    def _read(self, state: str) -> Stored | None:
        return self._contracts.read(self._names, state)

    def _former(self, stored: Stored) -> Stored | None:
        return self._contracts.read(self._names, "archive", stored.former) if stored.former else None

    def _tell_activation(self, contract: Contract, entry: Entry) -> None:
        active = self._read("active")
        former = history.contract_of(self._former(active)) if active else None
        asked = entry.rebuild_requested
        is_new = asked is not None and active is not None and asked.get("contract_sha256") == active.sha256
        comparison = history.comparison_of(former, contract)
        self._notify(*notices.activation(self._names, contract, comparison, asked if is_new else None))


def _is_about(error: Stored | None, failed: Stored) -> bool:
    """Whether the error.json that is there tells of this very refusal."""
    if error is None:
        return False
    try:
        told = json.loads(error.content)
    except ValueError:
        return False
    about = (told.get("contract_sha256"), told.get("decided_at")) if isinstance(told, dict) else None
    return about == (failed.sha256, failed.decided_at)
