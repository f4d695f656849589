"""A contract's life as rows of ops_db."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

from leanops.aws.contracts import Stored
from leanops.core.compatibility import Comparison, Level, compared
from leanops.core.contract import Contract, load
from leanops.core.errors import Fault, InvalidContract

Row = dict[str, Any]
DRIFT_LAYER: Final = "contract"
MOST_FAULTS: Final = 1000


def contract_of(stored: Stored | None) -> Contract | None:
    """The contract that was in force with this text; None where today's rules can't read it any more."""
    if stored is None:
        return None
    try:
        return load(stored.content.decode("utf-8"), stored.key)
    except (InvalidContract, ValueError, ArithmeticError, RecursionError):
        return None


def archive_file(stored: Stored) -> str:
    """Version and digest: no two contracts share a name, and the same one always has the same."""
    contract = contract_of(stored)
    return f"{contract.schema_version if contract else 'unreadable'}-{stored.sha256[:16]}.json"


def comparison_of(former: Contract | None, contract: Contract | None) -> Comparison | None:
    return None if former is None or contract is None else compared(former, contract)


def version_row(topic: str, stored: Stored, status: str, former: Contract | None) -> Row:
    """Of a contract that came into force."""
    contract = contract_of(stored)
    comparison = comparison_of(former, contract)
    approval = contract.approve_breaking if contract and comparison and comparison.level == Level.BREAKING else None
    return {
        "topic_name": topic,
        "schema_version": contract.schema_version if contract else None,
        "contract_sha256": stored.sha256,
        "status": status,
        "level": str(comparison.level) if comparison else None,
        "changes": changes_json(comparison) if comparison else None,
        "approved_by": approval.approved_by if approval else None,
        "approval_reason": approval.reason if approval else None,
        "faults": None,
        "contract": stored.text,
        "s3_key": stored.key,
        "submitted_at": moment(stored.submitted_at),
        "decided_at": moment(stored.decided_at),
    }


def failed_row(topic: str, pending: Stored, failed_key: str, faults: Sequence[Fault], decided_at: str) -> Row:
    contract = contract_of(pending)
    return {
        "topic_name": topic,
        "schema_version": contract.schema_version if contract else None,
        "contract_sha256": pending.sha256,
        "status": "failed",
        "faults": faults_json(faults),
        "contract": None if pending.is_too_large else pending.text,
        "s3_key": failed_key,
        "submitted_at": moment(pending.submitted_at),
        "decided_at": moment(decided_at),
    }


def version_rows(
    topic: str, rows: Sequence[Row], active: Stored | None, former_of: Callable[[Stored], Stored | None]
) -> list[Row]:
    """The topic's rows as the bucket tells them: the active contract, and each before it back to one that is known.

    A run that died after it had put a contract in force left no row: whoever comes next writes it.
    """
    known = {row["contract_sha256"]: row for row in rows}
    for row in known.values():
        if row["status"] == "active" and (active is None or row["contract_sha256"] != active.sha256):
            known[row["contract_sha256"]] = {**row, "status": "archived"}
    status, stored, seen = "active", active, set()
    while stored is not None and stored.sha256 not in seen:
        seen.add(stored.sha256)
        has = known.get(stored.sha256)
        if status == "archived" and has is not None and has["status"] == status and has["s3_key"] == stored.key:
            break
        former = former_of(stored)
        known[stored.sha256] = version_row(topic, stored, status, contract_of(former))
        status, stored = "archived", former
    return list(known.values())


def with_failed(rows: Sequence[Row], failed: Row) -> list[Row]:
    """A contract that is or was in force keeps its row, even where the same text is refused later."""
    digest = failed["contract_sha256"]
    if any(row["contract_sha256"] == digest and row["status"] != "failed" for row in rows):
        return list(rows)
    return [*(row for row in rows if row["contract_sha256"] != digest), failed]


def drift_rows(topic: str, rows: Sequence[Row], active: Stored, former: Contract | None) -> list[Row]:
    """With what the active contract adds, removes or retypes against the one before; each contract is told once."""
    contract = contract_of(active)
    if contract is None or former is None:
        return list(rows)
    if any(json.loads(row["details"])["contract_sha256"] == active.sha256 for row in rows):
        return list(rows)
    details = {
        "contract_sha256": active.sha256,
        "from_version": former.schema_version,
        "to_version": contract.schema_version,
    }
    fixed = {
        "topic_name": topic,
        "_batch": None,
        "source_layer": DRIFT_LAYER,
        "detected_ts": moment(active.decided_at),
        "details": json.dumps(details),
    }
    return [*rows, *({**fixed, **change} for change in _drift(former, contract))]


def _drift(former: Contract, contract: Contract) -> Iterator[Row]:
    before, after = former.by_name, contract.by_name
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        column = new or old
        if column is None or (old is not None and new is not None and old.type == new.type):
            continue
        yield {
            "column_name": name,
            "json_path": json.dumps(column.path, ensure_ascii=False) if column.path else "",
            "action": "ADDED" if old is None else "REMOVED" if new is None else "TYPE_CHANGED",
            "old_value": str(old.type) if old else None,
            "new_value": str(new.type) if new else None,
        }


def topic_row(topic: str, rows: Sequence[Row], active: Stored, source: str | None) -> list[Row]:
    """The topic as its contract has it. Where it came from, and a person's «paused» or «retired», stay."""
    contract = contract_of(active)
    has: Row = rows[0] if rows else {}
    if contract is None:
        return list(rows)
    return [
        {
            **has,
            "topic_name": topic,
            "status": has["status"] if has.get("status") in {"paused", "retired"} else "onboarded",
            "source": source or has.get("source"),
            "owner_team": contract.owner.team,
            "owner_email": contract.owner.email,
            "schema_version": contract.schema_version,
            "engine": contract.compute.engine,
            "pool": contract.compute.pool,
            "tier": contract.compute.tier,
            "discovered_at": has.get("discovered_at") or moment(active.submitted_at),
            "updated_at": moment(active.decided_at),
        }
    ]


def changes_json(comparison: Comparison) -> str:
    return json.dumps(
        [
            {"path": each.path, "level": str(each.level), "old": each.old, "new": each.new, "reason": each.reason}
            for each in comparison.changes
        ],
        ensure_ascii=False,
    )


def faults_json(faults: Sequence[Fault]) -> str:
    return json.dumps([fault_document(fault) for fault in faults[:MOST_FAULTS]], ensure_ascii=False)


def fault_document(fault: Fault) -> dict[str, str]:
    return {"path": fault.path, "found": fault.found, "allowed": fault.allowed, "remedy": fault.remedy}


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
