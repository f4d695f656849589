"""What a contract changes against the one in force, and what stands against that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from leanops.aws.catalog import Conflict
from leanops.core.compatibility import Comparison, Level
from leanops.core.contract import Contract
from leanops.core.errors import Fault


def objections(contract: Contract, comparison: Comparison | None, conflicts: Sequence[Conflict]) -> list[Fault]:
    """Why the contract may not come into force as it is; none for a topic's first, unless its tables are there."""
    is_approved = comparison is not None and comparison.is_approved
    faults = [] if comparison is None else list(_change_faults(contract, comparison))
    if conflicts and not is_approved:
        faults.extend(_conflict_fault(conflict) for conflict in conflicts)
        if comparison is not None and comparison.level < Level.BREAKING:
            faults.append(_approval_fault(contract, comparison))
    return sorted(set(faults))


def _change_faults(contract: Contract, comparison: Comparison) -> Iterator[Fault]:
    if comparison.objection is not None:
        found = f"{comparison.new_version}, but the contract changed"
        yield Fault("schema_version", found, f"above {comparison.old_version}", "Raise it.")
    if comparison.level == Level.BREAKING and not comparison.is_approved:
        for change in comparison.changes:
            if change.level == Level.BREAKING:
                found = f"{change.old} → {change.new}, which breaks: {change.reason}"
                yield Fault(
                    change.path, found, f"{change.old}, as in {comparison.old_version}", "Take it back, or approve it."
                )
        yield _approval_fault(contract, comparison)


def _approval_fault(contract: Contract, comparison: Comparison) -> Fault:
    approval = contract.approve_breaking
    found = "nothing" if approval is None else f"an approval of changes to {approval.from_version}"
    wanted = f"from_version {comparison.old_version}, approved_by and reason"
    return Fault(
        "approve_breaking", found, wanted, "Add it if the change is meant: the topic is then built anew from RAW."
    )


def _conflict_fault(conflict: Conflict) -> Fault:
    found = f"{conflict.wanted}, while {conflict.table} has it as {conflict.found} from an earlier contract"
    return Fault(
        f"payload_columns.{conflict.column}.type", found, conflict.found, "Choose another name or the table's type."
    )
