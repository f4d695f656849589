"""Bad contracts and what their authors are told, to the letter."""

from __future__ import annotations

import functools
import json
import operator
from pathlib import Path
from typing import Any

import pytest

from leanops.core.contract import load
from leanops.core.errors import InvalidContract
from tests.core.contract.documents import document

CASES: list[dict[str, Any]] = json.loads(Path(__file__).with_name("bad_contracts.json").read_text(encoding="utf-8"))


def bent(case: dict[str, Any]) -> dict[str, Any]:
    """The valid contract with the case's parts set or removed."""
    contract = document()
    for edit in case.get("set", []):
        parent = functools.reduce(operator.getitem, edit["at"][:-1], contract)
        key = edit["at"][-1]
        if isinstance(parent, list) and key == len(parent):
            parent.append(edit["to"])
        else:
            parent[key] = edit["to"]
    for path in case.get("remove", []):
        del functools.reduce(operator.getitem, path[:-1], contract)[path[-1]]
    return contract


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_fault_says_where_what_is_allowed_and_what_next(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidContract) as caught:
        load(json.dumps(bent(case)))
    assert [str(fault) for fault in caught.value.faults] == case["faults"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "line 1 column 1: found Expecting value; allowed: JSON. Mend the JSON."),
        ('{"a": 1,\n x}', "line 2 column 2: found Expecting property name enclosed in double quotes; allowed: JSON. Mend the JSON."),
        ("[]", "contract: found []; allowed: an object. Write an object here."),
        ("null", "contract: found None; allowed: an object. Write an object here."),
        ('{"a": NaN}', "contract: found NaN; allowed: JSON numbers. Write a number."),
        ('{"owner": {"team": 1, "team": 2}}', "contract: found the key 'team' twice in one object; allowed: each key once. Drop one."),
        ("[" * 100_000, "contract: found deep nesting; allowed: JSON. Mend the JSON."),
    ],
)  # fmt: skip
def test_text_that_is_no_contract_at_all(text: str, fault: str) -> None:
    with pytest.raises(InvalidContract) as caught:
        load(text)
    assert [str(found) for found in caught.value.faults] == [fault]


def test_all_faults_are_reported_at_once_and_name_the_source() -> None:
    contract = document()
    contract["table_name"] = "select"
    contract["envelope_columns"][1]["type"] = "DATE"
    contract["payload_columns"][1] |= {"type": "NUMBER"}
    contract["payload_columns"][2] |= {"default": "z"}
    contract["rules"].append({"name": "small", "check": "count < "})
    contract["compute"] = {"engine": "emr"}
    with pytest.raises(InvalidContract) as caught:
        load(json.dumps(contract), "schemas/readings/pending/schema.json")
    assert [fault.path for fault in caught.value.faults] == [
        "compute.engine",
        "envelope_columns[1].type",
        "payload_columns[1].type",
        "payload_columns[2].default",
        "rules[1].name",
        "table_name",
    ]
    assert str(caught.value).startswith(
        "Cannot load contract, 6 faults: schemas/readings/pending/schema.json. Mend all of:\n  - compute.engine: "
    )
