"""The schema bucket: what is put on condition, and who loses."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from leanops.aws import settings
from leanops.aws.contracts import MOST_BYTES, Contracts
from leanops.core.naming import Environment, Names
from tests.emulator import Aws


@pytest.fixture
def environment(aws: Aws) -> Iterator[Environment]:
    environment = aws.environment()
    aws.client("s3").create_bucket(
        Bucket=environment.schema_bucket, CreateBucketConfiguration={"LocationConstraint": environment.region}
    )
    settings.reset()
    yield environment
    settings.reset()


@pytest.fixture
def names(environment: Environment) -> Names:
    return environment.topic("orders")


@pytest.fixture
def contracts(environment: Environment) -> Contracts:
    return Contracts(environment)


def test_what_is_not_there_is_none(contracts: Contracts, names: Names) -> None:
    assert contracts.read(names, "active") is None


def test_a_contract_comes_back_byte_for_byte_with_its_notes(contracts: Contracts, names: Names) -> None:
    notes = {"submitted-at": "2026-11-18T10:00:00.000000Z", "former": "1.0.0-ab.json"}
    assert contracts.put_active(names, b"\xff\x00", None, notes)
    found = contracts.read(names, "active")
    assert found is not None
    assert (found.content, found.submitted_at, found.former) == (
        b"\xff\x00",
        notes["submitted-at"],
        notes["former"],
    )
    assert found.decided_at.endswith("Z")


def test_of_two_successors_one_loses(contracts: Contracts, names: Names) -> None:
    contracts.put_active(names, b"1", None, {})
    former = contracts.read(names, "active")
    assert contracts.put_active(names, b"2", former, {})
    assert not contracts.put_active(names, b"3", former, {})
    assert not contracts.put_active(names, b"3", None, {})
    found = contracts.read(names, "active")
    assert found is not None
    assert found.content == b"2"


def test_an_archived_contract_is_never_overwritten(contracts: Contracts, names: Names) -> None:
    contracts.put_active(names, b"1", None, {"former": "x"})
    stored = contracts.read(names, "active")
    assert stored is not None
    contracts.archive(names, stored, "1.0.0-ab.json")
    contracts.put_failed(names, b"2", {})
    other = contracts.read(names, "failed")
    assert other is not None
    contracts.archive(names, other, "1.0.0-ab.json")
    found = contracts.read(names, "archive", "1.0.0-ab.json")
    assert found is not None
    assert (found.content, found.former) == (b"1", "x")


def test_an_error_is_put_on_condition_too(contracts: Contracts, names: Names) -> None:
    assert contracts.put_error(names, {"summary": "ä"}, None)
    assert not contracts.put_error(names, {"summary": "b"}, None)
    found = contracts.read(names, "failed", "error.json")
    assert found is not None
    assert json.loads(found.content) == {"summary": "ä"}


def test_only_the_upload_that_was_read_is_removed(aws: Aws, contracts: Contracts, names: Names) -> None:
    place = {"Bucket": contracts.bucket, "Key": names.schema_key("pending")}
    aws.client("s3").put_object(**place, Body=b"1")
    first = contracts.read(names, "pending")
    assert first is not None
    aws.client("s3").put_object(**place, Body=b"2")
    assert not contracts.remove_pending(names, first)
    second = contracts.read(names, "pending")
    assert second is not None
    assert contracts.remove_pending(names, second)
    assert contracts.remove_pending(names, second)
    assert contracts.read(names, "pending") is None


def test_of_a_huge_upload_only_the_beginning_is_read(aws: Aws, contracts: Contracts, names: Names) -> None:
    aws.client("s3").put_object(Bucket=contracts.bucket, Key=names.schema_key("pending"), Body=b" " * (MOST_BYTES * 2))
    found = contracts.read(names, "pending")
    assert found is not None
    assert (len(found.content), found.is_too_large) == (MOST_BYTES + 1, True)
