from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leanops.core.contract import load, loaded
from leanops.core.contract.__main__ import main
from leanops.core.contract.regex import regex_objection
from leanops.core.contract.schema import JSON_SCHEMA, published
from leanops.core.errors import InvalidContract
from leanops.core.flatten import flatten
from leanops.core.types import ColumnType
from tests.core.contract.documents import document

SCHEMAS = Path(__file__).parents[3] / "schemas"
SAMPLES = sorted(SCHEMAS.glob("*/active/schema.json"))


def test_there_are_three_sample_topics() -> None:
    assert [path.parts[-3] for path in SAMPLES] == ["events", "orders", "payments"]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.parts[-3])
def test_a_sample_contract_is_valid_and_names_its_folder(path: Path) -> None:
    contract = load(path.read_text(encoding="utf-8"), str(path))
    assert contract.topic == path.parts[-3]
    assert contract.is_curated


def test_the_published_json_schema_is_the_one_in_use() -> None:
    assert (SCHEMAS / "contract.schema.json").read_text(encoding="utf-8") == published()


def test_the_json_schema_is_valid_and_describes_every_key() -> None:
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(JSON_SCHEMA)
    for key, entry in JSON_SCHEMA["properties"].items():
        assert key in {"$schema", "envelope_columns", "rules"} or entry["description"]


def test_a_contract_as_values() -> None:
    contract = load(json.dumps(document() | {"quality": {"max_rejected_ratio": 0.01}}))
    amount, count, status, email, seen_at = contract.payload_columns or ()
    assert amount.type == ColumnType("DECIMAL", 18, 2)
    assert (amount.cde, amount.may_be_missing) == (True, False)
    assert count.range is not None
    assert (count.range.minimum, count.range.maximum) == (0, 10)
    assert (status.required, status.nullable) == (True, False)
    assert email.pii is not None
    assert email.pii.treatment == "hash"
    assert seen_at.path == ("seen at",)
    assert contract.by_name["idempotency_key"].path == ("_metadata", "key")
    assert contract.version_column == "last_updated_ts"
    assert contract.quality.max_rejected_ratio == contract.quality.warn_rejected_ratio == Decimal("0.01")
    assert contract.partitioning.buckets == 16


def test_a_contract_without_payload_columns_means_standardized_only() -> None:
    contract = loaded({key: value for key, value in document().items() if key not in {"payload_columns", "rules"}})
    assert not contract.is_curated
    assert len(contract.columns) == 4


def test_a_column_finds_its_value_in_standardized() -> None:
    changed = document()
    changed["payload_columns"][1]["json_path"] = "$.message_id"
    contract = loaded(changed)
    payload = '{"amount": 1, "Amount": 2, "message_id": 3, "seen at": "x", "who": {"email": "e", "Email": "f"}}'
    row = flatten(payload, contract.owners).columns
    found = [row.get(contract.standardized_column(column)) for column in contract.payload_columns or ()]
    assert found == ["1", "3", None, "e", "x"]


def test_the_command_checks_contracts_for_their_owners(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(document()))
    bad.write_text("{}")
    assert main([str(good)]) == 0
    assert "readings 1.0.0 is valid" in capsys.readouterr().out
    assert main([str(good), str(bad), str(tmp_path / "missing.json")]) == 1
    errors = capsys.readouterr().err
    assert "Cannot load contract, 5 faults" in errors
    assert "missing.json" in errors
    assert main(["--schema"]) == 0
    assert capsys.readouterr().out == published()
    assert main([]) == 2


JSON_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=5,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, below in inner for place in places(below, (*path, key)))]


@given(st.data())
@settings(max_examples=300)
def test_a_contract_with_anything_anywhere_is_valid_or_refused_with_faults(data: st.DataObject) -> None:
    contract: Any = document()
    place = data.draw(st.sampled_from(places(contract)[1:]))
    target = contract
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = data.draw(JSON_VALUES)
    try:
        load(json.dumps(contract))
    except InvalidContract as error:
        assert error.faults
        assert all(fault.path and fault.found and fault.allowed and fault.remedy for fault in error.faults)


@pytest.mark.parametrize(
    "pattern", ["[A-Z]{3}", "[^@ ]+@[^@ ]+", "(?:a|b)c?", r"\d{4}-\d{2}", "([0-9]{2}:){2}[0-9]{2}", r"a\+"]
)
def test_an_ordinary_pattern_is_allowed(pattern: str) -> None:
    assert regex_objection(pattern) is None


@pytest.mark.parametrize(
    "pattern",
    [r"(a)\1", "(?i)a", "(?P<n>a)", "(?<=a)b", "a++", "(a|a)*", "(a*)*", "((a|b)c)+", "(a?){9}", r"\p{L}", r"\bx", "[a&&b]", "(", "[[a]", r"\\(?=x)", "a{3000000000}", "a{2,1001}"],
)  # fmt: skip
def test_a_pattern_that_differs_between_engines_or_runs_away_is_refused(pattern: str) -> None:
    assert regex_objection(pattern)


@given(st.text("ab|()[]{}*+?,1\\", max_size=12))
def test_a_pattern_that_is_allowed_compiles(pattern: str) -> None:
    if regex_objection(pattern) is None:
        re.compile(pattern)
