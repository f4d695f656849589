"""What the topic's owner and the people on duty are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lambdas.schema_validator.history import MOST_FAULTS, fault_document
from leanops.aws.contracts import Stored
from leanops.core.compatibility import Comparison, Level
from leanops.core.contract import Contract
from leanops.core.errors import Fault, shown
from leanops.core.naming import Names

SHOWN_FAULTS: Final = 20


def error_document(
    names: Names, failed: Stored, faults: Sequence[Fault], contract: Contract | None, active: Contract | None
) -> dict[str, Any]:
    """error.json: all that the owner needs to mend the contract."""
    bucket = names.environment.schema_bucket
    return {
        "topic": names.topic,
        "status": "failed",
        "summary": summary(faults, active),
        "next_step": (
            f"Mend every fault below in your copy, check it with `python -m leanops.core.contract schema.json`, "
            f"and upload it to s3://{bucket}/{names.schema_key('pending')} again."
        ),
        "faults": [fault_document(fault) for fault in faults[:MOST_FAULTS]],
        "faults_left_out": max(0, len(faults) - MOST_FAULTS),
        "schema_version": contract.schema_version if contract else None,
        "active_version": active.schema_version if active else None,
        "contract_sha256": failed.sha256,
        "submitted_at": failed.submitted_at,
        "decided_at": failed.decided_at,
    }


def summary(faults: Sequence[Fault], active: Contract | None) -> str:
    count = f"{len(faults)} fault{'' if len(faults) == 1 else 's'}"
    if active is None:
        return f"{count}. The topic has no contract yet: its messages land in RAW and wait there."
    return f"{count}. The contract in force stays {active.schema_version}: the topic goes on as before."


def refusal(names: Names, faults: Sequence[Fault], active: Contract | None) -> tuple[str, str]:
    lines = [summary(faults, active), "", *(f"- {fault}" for fault in faults[:SHOWN_FAULTS])]
    if len(faults) > SHOWN_FAULTS:
        lines.append(f"… and {len(faults) - SHOWN_FAULTS} more")
    place = f"s3://{names.environment.schema_bucket}/{names.schema_key('failed', 'error.json')}"
    return f"{names.topic}: contract refused", "\n".join([*lines, "", f"All of them: {place}"])


def activation(
    names: Names, contract: Contract, comparison: Comparison | None, rebuild: Mapping[str, Any] | None
) -> tuple[str, str]:
    lines = [f"Contract {contract.schema_version} of {names.topic} is in force."]
    if comparison is None:
        lines.append("It is the topic's first, or the one before could not be read.")
    else:
        lines.append(f"Against {comparison.old_version} it is {comparison.level}:")
        lines += [f"- {change}" for change in comparison.changes] or ["- nothing that matters to data"]
    if comparison is not None and comparison.level == Level.ENHANCEMENT_WITH_BACKFILL:
        lines.append("Old rows lack what is new until their periods are done again (clear the runs of period_<topic>).")
    subject = f"{names.topic}: contract {contract.schema_version} in force"
    if rebuild is not None:
        subject += ", rebuild requested"
        lines.append(
            f"A rebuild is requested, from {rebuild['from_version']} to {rebuild['to_version']}: {rebuild['reason']}"
        )
        if rebuild.get("blocked_columns"):
            lines.append(
                f"Until then Curated can't take these columns: {', '.join(rebuild['blocked_columns'])}. "
                "Its runs fail and leave it as it is."
            )
    return subject, "\n".join(lines)


def misplaced(key: object, reason: str) -> tuple[str, str]:
    message = (
        f"An upload was left where it is, since {reason}: {shown(key)}. "
        "Contracts belong to schemas/<topic>/pending/schema.json; upload it there and delete this one."
    )
    return "contract upload in no topic's folder", message
