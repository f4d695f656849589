import json
from pathlib import Path

import pytest

from tests.traffic import ScenarioError, load_scenario, scenario_names
from tests.traffic.scenario import FOLDER, read_scenario

_PROMISED = {
    "clean",
    "network_duplicates",
    "corrections",
    "cross_period_corrections",
    "stale_corrections",
    "schema_drift",
    "invalid_json",
    "missing_cdes",
    "uncastable_values",
    "malformed_timestamps",
    "thundering_herd",
    "empty_payloads",
    "hostile_keys",
    "everything",
}


def test_every_promised_scenario_is_there_and_loads() -> None:
    assert set(scenario_names()) == _PROMISED
    for name in scenario_names():
        assert load_scenario(name).messages > 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sharez": {}}, ["odd.json", "'sharez'", "allowed", "shares"]),
        ({"shares": {"corection": 0.1}}, ["odd.json", "'corection'", "allowed", "correction"]),
        ({"shares": {"correction": 0.7, "herd": 0.7}}, ["odd.json", "add up"]),
        ({"shares": {"correction": "many"}}, ["odd.json", "'correction'", "from 0 to 1"]),
        ({"topics": ["event"]}, ["odd.json", "'topics'", "events, orders, payments"]),
        ({"topics": []}, ["odd.json", "'topics'"]),
        ({"batches": 0}, ["odd.json", "'batches'", "1 or more"]),
        ({"messages": True}, ["odd.json", "'messages'"]),
        ({"start": "2026-01-15T00:00:00"}, ["odd.json", "'start'", "zone"]),
        ({"burst_share": 2}, ["odd.json", "'burst_share'"]),
    ],
)
def test_a_bad_entry_is_named_with_its_file_and_the_remedy(
    tmp_path: Path, change: dict[str, object], words: list[str]
) -> None:
    content = json.loads((FOLDER / "clean.json").read_text()) | change
    file = tmp_path / "odd.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ScenarioError) as error:
        read_scenario(file)
    for word in words:
        assert word in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_key_is_named(tmp_path: Path) -> None:
    content = json.loads((FOLDER / "clean.json").read_text())
    del content["batches"]
    file = tmp_path / "short.json"
    file.write_text(json.dumps(content))
    with pytest.raises(ScenarioError, match=r"short\.json: 'batches'"):
        read_scenario(file)


def test_an_unknown_scenario_is_answered_with_the_names_there_are() -> None:
    with pytest.raises(ScenarioError, match=r"no such name: 'cleen'.*clean, corrections"):
        load_scenario("cleen")


def test_batches_cover_all_messages_evenly() -> None:
    assert load_scenario("clean").resized(messages=10, batches=4).batch_starts() == [0, 3, 5, 8]


def test_a_burst_puts_its_share_into_the_middle_batch() -> None:
    assert load_scenario("thundering_herd").resized(messages=1000, batches=5).batch_starts() == [0, 50, 100, 900, 950]
