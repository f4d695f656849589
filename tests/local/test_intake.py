from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from leanops.core.contract import loaded
from local import demo
from local.intake import Intake, RawRecord
from tests.core.contract.documents import document

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def delivered(message_id: str, key: str | None, updated: str, ingestion_ts: int = 1) -> RawRecord:
    payload = json.dumps({"_metadata": {"key": key, "updated": updated}})
    return RawRecord(message_id, NOON, ingestion_ts, payload)


def test_every_disposition_of_two_batches() -> None:
    intake = Intake(loaded(document()))
    first = intake.take(
        [
            delivered("m1", "k", "2026-01-02T00:00:00Z"),
            delivered("m1", "k", "2026-01-02T00:00:00Z", ingestion_ts=2),
            delivered("m2", "k", "2026-01-01T00:00:00Z"),
            delivered("m3", None, "2026-01-01T00:00:00Z"),
            RawRecord("m4", NOON, 1, "{"),
        ]
    )
    assert first.counts == {"accepted": 2, "network_duplicate": 1, "superseded": 1, "parse_error": 1}
    second = intake.take([delivered("m1", "k", "x"), delivered("m5", "k", "2025-01-01T00:00:00Z")])
    assert second.counts == {"network_duplicate": 1, "stale": 1}
    assert intake.versions["k"].message_id == "m1"
    assert intake.parse_errors == Counter(not_json=1)
    assert sum(first.counts.values()) == first.raw == 5


def test_columns_stay_within_the_budget() -> None:
    intake = Intake(loaded(document() | {"column_budget": 50}))
    payload = json.dumps({f"c{number:03}": number for number in range(80)})
    intake.take([RawRecord("m", NOON, 1, payload)])
    assert len(intake.columns) == 50


def test_the_demo_agrees_with_the_oracle(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo, "MESSAGES", 400)
    assert demo.main() == 0
    out = capsys.readouterr().out
    assert "an independent oracle agrees" in out
    assert "Cannot load contract, 3 faults" in out


def test_the_demo_fails_when_the_core_loses_a_record(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "MESSAGES", 400)
    take = Intake.take
    monkeypatch.setattr(Intake, "take", lambda self, records: take(self, list(records)[:-1]))
    assert demo.main() == 1
    assert "≠" in capsys.readouterr().out
