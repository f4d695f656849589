"""The compiled registry: what the DAG factory reads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leanops.core.compiled_registry import (
    INTERVAL_SECONDS,
    Topic,
    UnreadableRegistry,
    compiled,
    load,
    loaded,
    offset_seconds,
    to_bytes,
    write,
)
from leanops.core.contract import Contract
from leanops.core.contract import load as load_contract

ROOT = Path(__file__).parents[2]
SAMPLES = {
    topic: load_contract((ROOT / "schemas" / topic / "active" / "schema.json").read_text(encoding="utf-8"))
    for topic in ("events", "orders", "payments")
}
EVENTS = SAMPLES["events"]
HERE = Path("topics.json")


def renamed(contract: Contract, topic: str) -> Contract:
    return replace(contract, topic=topic)


def many(count: int) -> list[Contract]:
    return [renamed(EVENTS, f"sensor_readings_of_plant_{number:04}") for number in range(count)]


def edited(content: bytes, topic: str, **changes: Any) -> bytes:
    document = json.loads(content)
    document["topics"][topic] |= changes
    return json.dumps(document).encode()


def test_a_topic_holds_what_its_dag_is_made_of() -> None:
    assert compiled(EVENTS) == Topic(
        name="events",
        schema_version="1.0.0",
        curated=True,
        engine="emr_serverless",
        size="small",
        pool="standard",
        tier=2,
        owner_team="device-platform",
        owner_email="device-platform@example.com",
        alert_sns="data-alerts",
        alert_slack="#data-alerts",
        alert_pagerduty=None,
        history_months=24,
        offset_seconds=offset_seconds("events"),
        description="What people and devices did: one row per event, corrected in place.",
    )


def test_what_is_written_is_what_is_loaded() -> None:
    found = loaded(to_bytes(SAMPLES.values()), HERE)
    assert found.topics == {topic: compiled(contract) for topic, contract in SAMPLES.items()}
    assert found.faults == {}


def test_a_contract_without_payload_columns_is_standardized_only() -> None:
    contract = replace(EVENTS, payload_columns=None)
    assert loaded(to_bytes([contract]), HERE).topics["events"].curated is False


@given(st.permutations(sorted(SAMPLES)))
def test_the_order_of_the_contracts_does_not_show(order: list[str]) -> None:
    assert to_bytes(SAMPLES[topic] for topic in order) == to_bytes(SAMPLES.values())


def test_the_bytes_do_not_depend_on_the_process() -> None:
    """Hashes of text differ from process to process; a file that did would give every DAG a new version."""
    code = (
        "import sys; from pathlib import Path; from leanops.core import compiled_registry as r, contract;"
        "sys.stdout.buffer.write(r.to_bytes(contract.load(Path(p).read_text()) for p in sys.argv[1:]))"
    )
    paths = [str(ROOT / "schemas" / topic / "active" / "schema.json") for topic in SAMPLES]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "plugins")}
    contents = {
        subprocess.run(
            [sys.executable, "-c", code, *paths],
            env=environment | {"PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert contents == {to_bytes(SAMPLES.values())}


def test_a_topic_is_a_line_so_that_a_diff_shows_it() -> None:
    before = to_bytes(SAMPLES.values()).decode().splitlines()
    changed = SAMPLES | {"orders": replace(SAMPLES["orders"], schema_version="9.9.9")}
    after = to_bytes(changed.values()).decode().splitlines()
    assert [line[:10] for line, other in zip(after, before, strict=True) if line != other] == ['  "orders"']


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"engine": "cobol"}, "engine is 'cobol', not one of emr_serverless, glue, spark_submit"),
        ({"size": None}, "size is None, not str"),
        ({"tier": "1"}, "tier is '1', not int"),
        ({"tier": True}, "tier is True, not int"),
        ({"tier": 4}, "tier is 4, not between 1 and 3"),
        ({"curated": "yes"}, "curated is 'yes', not bool"),
        ({"owner": []}, "owner is [], not dict"),
        ({"owner": {"team": "x"}}, "email is None, not str"),
        ({"owner": {"team": "", "email": "a@b"}}, "team is empty"),
        ({"alert_route": {"sns": 1}}, "sns is 1, not str"),
        ({"offset_seconds": 900}, "offset_seconds is 900, not between 0 and 899"),
        ({"fault": "Cannot load contract, 1 fault"}, "Cannot load contract, 1 fault"),
    ],
)
def test_a_broken_entry_hides_its_topic_and_no_other(changes: dict[str, Any], reason: str) -> None:
    found = loaded(edited(to_bytes(SAMPLES.values()), "orders", **changes), HERE)
    assert sorted(found.topics) == ["events", "payments"]
    assert list(found.faults) == ["orders"]
    assert found.faults["orders"].reason == reason
    assert str(found.faults["orders"]) == (
        f"Cannot make the topic's DAG, {reason}: 'orders'. Mend the contract, then run the DAG that compiles the registry."
    )


@pytest.mark.parametrize("entry", [None, 1, "x", [], {}])
def test_an_entry_that_is_nothing_like_one_hides_its_topic_alone(entry: object) -> None:
    document = json.loads(to_bytes(SAMPLES.values()))
    document["topics"]["orders"] = entry
    found = loaded(json.dumps(document).encode(), HERE)
    assert sorted(found.topics) == ["events", "payments"]
    assert list(found.faults) == ["orders"]


@pytest.mark.parametrize("name", ["Orders", "select", "x" * 41, "../etc", "", "a_staging"])
def test_a_name_that_is_no_topics_is_a_fault(name: str) -> None:
    document = json.loads(to_bytes(SAMPLES.values()))
    document["topics"][name] = document["topics"]["orders"]
    found = loaded(json.dumps(document).encode(), HERE)
    assert list(found.faults) == [name]
    assert sorted(found.topics) == sorted(SAMPLES)


def test_a_contract_that_cannot_be_loaded_is_handed_on_as_a_fault() -> None:
    found = loaded(to_bytes([EVENTS], {"orders": "Cannot load contract, 1 fault: x.\n  - tier: found 9"}), HERE)
    assert list(found.topics) == ["events"]
    assert found.faults["orders"].reason == "Cannot load contract, 1 fault: x. - tier: found 9"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is no JSON"),
        (b'{"version": 1, "topics"', "it is no JSON"),
        (b"\xff", "it is no JSON"),
        (b"[]", "its version is not 1"),
        (b'{"version": 2, "topics": {}}', "its version is not 1"),
        (b'{"version": 1}', "it lists no topics"),
    ],
)
def test_a_file_that_is_broken_as_a_whole_says_so(content: bytes, reason: str) -> None:
    with pytest.raises(
        UnreadableRegistry, match=f"Cannot read the topics' registry, {reason}.*: topics.json. Deploy it"
    ):
        loaded(content, HERE)


def test_a_missing_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableRegistry, match="there is no such file"):
        load(tmp_path / "topics.json")


def test_only_the_wanted_topics_are_read() -> None:
    content = edited(to_bytes(SAMPLES.values()), "orders", tier=9)
    found = loaded(content, HERE, only={"events", "unheard_of"})
    assert (list(found.topics), found.faults) == (["events"], {})


def test_no_topic_is_a_valid_registry() -> None:
    assert loaded(to_bytes([]), HERE).topics == {}


# Offsets


def test_offsets_stay_as_they_are() -> None:
    """A change would move every topic's schedule."""
    assert [offset_seconds(topic) for topic in ("events", "orders", "payments")] == [359, 88, 360]


def test_offsets_are_spread_over_the_interval() -> None:
    offsets = [offset_seconds(f"topic_{number}") for number in range(700)]
    minutes = [sum(offset // 60 == minute for offset in offsets) for minute in range(15)]
    assert all(0 <= offset < INTERVAL_SECONDS for offset in offsets)
    assert min(minutes) > 25
    assert max(minutes) < 75
    assert max(map(offsets.count, offsets)) <= 6


# Writing


def test_a_file_is_written_for_all_to_read_and_not_again_when_nothing_changed(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    content = to_bytes(SAMPLES.values())
    assert write(path, content)
    before = path.stat()
    assert before.st_mode & 0o777 == 0o644
    assert not write(path, content)
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    assert path.stat().st_ino == before.st_ino
    assert write(path, to_bytes([EVENTS]))
    assert list(load(path).topics) == ["events"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_dies_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "topics.json"
    write(path, to_bytes([EVENTS]))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write(path, to_bytes(SAMPLES.values()))
    assert list(load(path).topics) == ["events"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_reader_sees_the_old_file_or_the_new_one_and_nothing_between(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    small, large = to_bytes(SAMPLES.values()), to_bytes(many(300))
    write(path, small)
    done = Event()

    def swap() -> None:
        for _ in range(60):
            write(path, large)
            write(path, small)
        done.set()

    writer = Thread(target=swap)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(len(load(path).topics))
    writer.join()
    assert seen <= {3, 300}


# Cost


def test_two_thousand_topics_load_in_no_time(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    write(path, to_bytes(many(2000)))
    best = 9.0
    for _ in range(5):
        start = time.process_time()
        assert len(load(path).topics) == 2000
        best = min(best, time.process_time() - start)
    assert best < 0.5


def test_loading_imports_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "topics.json"
    write(path, to_bytes(SAMPLES.values()))
    code = (
        "import sys; from pathlib import Path; from leanops.core.compiled_registry import load;"
        "assert len(load(Path(sys.argv[1])).topics) == 3; print('\\n'.join(sys.modules))"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT / "plugins")},
        check=True,
        capture_output=True,
        text=True,
    )
    ours = {name for name in answer.stdout.split() if name.startswith("leanops.")}
    assert ours == {"leanops.core", "leanops.core.compiled_registry", "leanops.core.errors", "leanops.core.naming"}
    assert not {"jsonschema", "msgspec", "boto3", "airflow", "pyspark", "decimal"} & set(answer.stdout.split())
