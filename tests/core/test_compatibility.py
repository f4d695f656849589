from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from leanops.core.compatibility import Level, compared
from leanops.core.contract import loaded
from leanops.core.errors import LeanOpsError
from leanops.core.period import Period
from tests.core.contract.documents import document

HISTORY = {Period(2025, 12): 100, Period(2026, 1): 50}
Edit = Callable[[dict[str, Any]], object]


def column(contract: dict[str, Any], name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(entry for entry in contract["payload_columns"] if entry["name"] == name)
    return found


def changed(edit: Edit, version: str = "1.1.0") -> dict[str, Any]:
    new = copy.deepcopy(document())
    new["schema_version"] = version
    edit(new)
    return new


CASES: list[tuple[str, Edit, list[str]]] = [
    ("nothing", lambda c: None, []),
    ("owner", lambda c: c["owner"].update(team="other"), ["owner: as it was → as it is is compatible, it touches no row"]),
    (
        "int to bigint",
        lambda c: column(c, "count").update(type="BIGINT"),
        ["payload_columns.count.type: INT → BIGINT is compatible, Iceberg promotes it in place; rows rejected before can be replayed"],
    ),
    (
        "int to double",
        lambda c: column(c, "count").update(type="DOUBLE"),
        ["payload_columns.count.type: INT → DOUBLE is breaking, Iceberg cannot promote it in place"],
    ),
    (
        "more precision",
        lambda c: column(c, "amount").update(type="DECIMAL(20,2)"),
        ["payload_columns.amount.type: DECIMAL(18,2) → DECIMAL(20,2) is compatible, Iceberg promotes it in place; rows rejected before can be replayed"],
    ),
    (
        "another scale",
        lambda c: column(c, "amount").update(type="DECIMAL(20,4)"),
        ["payload_columns.amount.type: DECIMAL(18,2) → DECIMAL(20,4) is breaking, Iceberg cannot promote it in place"],
    ),
    (
        "column added",
        lambda c: c["payload_columns"].append({"name": "note", "json_path": "$.note", "type": "STRING"}),
        ["payload_columns.note: nothing → STRING is enhancement with backfill, RAW may hold values for old rows"],
    ),
    (
        "required column added",
        lambda c: c["payload_columns"].append({"name": "note", "json_path": "$.note", "type": "STRING", "cde": True}),
        ["payload_columns.note: nothing → STRING is breaking, old rows lack it, though it may not be missing"],
    ),
    (
        "column removed",
        lambda c: c["payload_columns"].remove(column(c, "status")),
        ["payload_columns.status: STRING → nothing is breaking, readers of the column fail"],
    ),
    (
        "other path",
        lambda c: column(c, "count").update(json_path="$.n"),
        ["payload_columns.count.json_path: $.count → $.n is breaking, the column takes another value, in old rows too"],
    ),
    (
        "enum wider",
        lambda c: column(c, "status")["enum"].append("c"),
        ["payload_columns.status.enum: a, b → a, b, c is compatible, rows rejected before can be replayed"],
    ),
    (
        "enum narrower",
        lambda c: column(c, "status")["enum"].remove("b"),
        ["payload_columns.status.enum: a, b → a is breaking, rows that were valid would be rejected now"],
    ),
    ("enum in another order", lambda c: column(c, "status")["enum"].reverse(), []),
    (
        "range wider",
        lambda c: column(c, "count").update(range={"min": 0}),
        ["payload_columns.count.range: 0 to 10 → 0 to any is compatible, rows rejected before can be replayed"],
    ),
    (
        "range narrower",
        lambda c: column(c, "count").update(range={"min": 1, "max": 10}),
        ["payload_columns.count.range: 0 to 10 → 1 to 10 is breaking, rows that were valid would be rejected now"],
    ),
    (
        "regex added",
        lambda c: column(c, "email").update(regex="[a-z]+"),
        ["payload_columns.email.regex: nothing → '[a-z]+' is breaking, rows that were valid would be rejected now"],
    ),
    (
        "pii changed",
        lambda c: column(c, "email").update(pii={"treatment": "truncate", "keep": 3}),
        ["payload_columns.email.pii: hash → truncate to 3 is breaking, old rows hold the value under the earlier treatment"],
    ),
    (
        "default changed",
        lambda c: column(c, "count").update(default=1),
        ["payload_columns.count.default: nothing → '1' is enhancement with backfill, old rows keep what they have until they are redone"],
    ),
    (
        "made required",
        lambda c: column(c, "count").update(required=True),
        ["payload_columns.count: may be missing → may not be missing is breaking, rows that were valid would be rejected now"],
    ),
    (
        "made optional",
        lambda c: column(c, "amount").update(cde=False),
        ["payload_columns.amount: may not be missing → may be missing is compatible, rows rejected before can be replayed"],
    ),
    (
        "required made a CDE",
        lambda c: column(c, "status").update(cde=True),
        ["payload_columns.status.cde: false → true is breaking, blank text counts as missing"],
    ),
    (
        "rule changed",
        lambda c: c.update(rules=[{"name": "small", "check": "count < 5"}]),
        ["rules.small: count < 9 → count < 5 is breaking, rows that were valid may be rejected now"],
    ),
    ("rule written in other words", lambda c: c.update(rules=[{"name": "small", "check": " (count  <  9) "}]), []),
    (
        "rule removed",
        lambda c: c.update(rules=[]),
        ["rules.small: count < 9 → nothing is compatible, rows rejected before can be replayed"],
    ),
    (
        "buckets",
        lambda c: c["partitioning"].update(buckets=32),
        ["partitioning.buckets: 16 → 32 is enhancement, new files follow the new layout, old ones when they are compacted"],
    ),
    (
        "version column",
        lambda c: c.update(version_column="publish_time"),
        ["version_column: last_updated_ts → publish_time is breaking, another record of a key may be the newest"],
    ),
    (
        "shorter RAW retention",
        lambda c: c.update(retention={"raw_days": 100}),
        ["retention.raw_days: 2555 → 100 is breaking, older records are deleted and no rebuild can bring them back"],
    ),
    (
        "no longer curated",
        lambda c: (c.pop("payload_columns"), c.pop("rules")),
        [
            "payload_columns: columns → nothing is breaking, the topic loses its Curated table",
            "rules.small: count < 9 → nothing is compatible, rows rejected before can be replayed",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "changes"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_every_change_has_a_level_and_a_reason(edit: Edit, changes: list[str]) -> None:
    comparison = compared(loaded(document()), loaded(changed(edit)), HISTORY)
    assert [str(change) for change in comparison.changes] == changes
    assert comparison.objection is None


def test_a_topic_without_curated_gets_one_by_an_enhancement() -> None:
    old = loaded({key: value for key, value in document().items() if key not in {"payload_columns", "rules"}})
    comparison = compared(old, loaded(changed(lambda c: None)))
    assert comparison.level is Level.BREAKING  # its row rule is new
    assert str(comparison.changes[0]).startswith("payload_columns: nothing → columns is enhancement with backfill")


def test_a_breaking_change_needs_the_owners_approval_of_this_very_version() -> None:
    def breaking(contract: dict[str, Any], from_version: str) -> None:
        column(contract, "count").update(type="DOUBLE")
        contract["approve_breaking"] = {"from_version": from_version, "approved_by": "me", "reason": "meant"}

    old = loaded(document())
    assert not compared(old, loaded(changed(lambda c: column(c, "count").update(type="DOUBLE")))).may_activate
    assert not compared(old, loaded(changed(lambda c: breaking(c, "0.9.0")))).may_activate
    assert compared(old, loaded(changed(lambda c: breaking(c, "1.0.0")))).may_activate


def test_the_rebuild_names_the_periods_and_their_rows() -> None:
    old = loaded(document())
    added: Edit = lambda c: c["payload_columns"].append({"name": "x", "json_path": "$.x", "type": "INT"})  # noqa: E731
    assert str(compared(old, loaded(changed(added)), HISTORY).rebuild) == "2 periods from 2025-12 to 2026-01, 150 rows"
    assert str(compared(old, loaded(changed(added))).rebuild) == "nothing to redo: Curated has no rows yet"
    assert compared(old, loaded(changed(lambda c: c["owner"].update(team="x"))), HISTORY).rebuild is None


def test_a_changed_contract_needs_a_higher_version() -> None:
    same = compared(loaded(document()), loaded(changed(lambda c: c["owner"].update(team="x"), "1.0.0")))
    assert same.objection == "the contract changed, but schema_version 1.0.0 is not above 1.0.0"
    assert not same.may_activate
    numbers_not_text = changed(lambda c: c["owner"].update(team="x"), "1.10.0")
    old = document() | {"schema_version": "1.9.0"}
    assert compared(loaded(old), loaded(numbers_not_text)).may_activate


def test_contracts_of_two_topics_are_not_compared() -> None:
    other = loaded(document() | {"table_name": "other"})
    with pytest.raises(LeanOpsError, match="Cannot compare contracts, they are of two topics: readings, other"):
        compared(loaded(document()), other)
