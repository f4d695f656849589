"""Small streams by hand: what became of each record, and the rows in the end."""

import hashlib
import hmac
import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.traffic import Message
from tests.traffic.oracle import Row, Truth, Violation, read_contract, truth

_META = {
    "idempotency_key": "$._metadata.idempotencyKeyResource",
    "period_reference": "$._metadata.periodReference",
    "last_updated_ts": "$._metadata.lastUpdatedTs",
}
_CONTRACT: dict[str, Any] = {
    "envelope_columns": [
        {"name": "message_id", "type": "STRING", "cde": True},
        {"name": "publish_time", "type": "TIMESTAMP", "cde": True},
        {"name": "idempotency_key", "type": "STRING", "json_path": _META["idempotency_key"], "cde": True},
        {"name": "period_reference", "type": "STRING", "json_path": _META["period_reference"]},
        {"name": "last_updated_ts", "type": "TIMESTAMP", "json_path": _META["last_updated_ts"]},
    ],
    "payload_columns": [
        {"name": "value", "type": "STRING", "json_path": "$.value"},
    ],
}


def _payload(key: object = "k", updated: str | None = None, period: str | None = None, **members: object) -> str:
    meta = {"idempotencyKeyResource": key, "lastUpdatedTs": updated, "periodReference": period}
    return json.dumps({"_metadata": {name: v for name, v in meta.items() if v is not None}, **members})


def _sent(batch: int, message_id: str, payload: str, day: int = 1, ingestion_ts: int = 0) -> Message:
    envelope = {"messageId": message_id, "publishTime": f"2026-01-{day:02d}T00:00:00Z", "attributes": {}}
    return Message(batch, json.dumps({**envelope, "payload": payload}), "t", ingestion_ts, "by_hand")


def _told(*sent: Message, columns: list[dict[str, Any]] | None = None, **more: Any) -> tuple[list[str], Truth]:
    contract = _CONTRACT | more
    if columns is not None:
        contract = contract | {"payload_columns": columns}
    outcomes, told = truth(sent, read_contract(contract), b"secret")
    return [outcome.reason or outcome.disposition for outcome in outcomes], told


def _row(columns: list[dict[str, Any]], **members: object) -> Row:
    _, told = _told(_sent(1, "m", _payload("k", None, None, **members)), columns=columns)
    assert told.rejected == []
    return told.curated["k"]


def _violations(
    columns: list[dict[str, Any]], rules: Sequence[dict[str, str]] = (), period: str | None = None, **members: object
) -> list[Violation]:
    payload = _payload("k", None, period, **members)
    _, told = _told(_sent(1, "m", payload), columns=columns, rules=list(rules))
    assert told.curated == {}
    return list(told.rejected[0].violations)


def test_one_clean_record_is_one_row() -> None:
    fates, told = _told(_sent(1, "m1", _payload(updated="2025-12-31T23:00:00Z", period="2025-12", value="x")))
    assert fates == ["accepted"]
    assert told.curated == {
        "k": {
            "message_id": "m1",
            "publish_time": datetime(2026, 1, 1, tzinfo=UTC),
            "idempotency_key": "k",
            "period_reference": "2025-12",
            "last_updated_ts": datetime(2025, 12, 31, 23, tzinfo=UTC),
            "value": "x",
            "first_seen_ts": datetime(2026, 1, 1, tzinfo=UTC),
            "first_period_reference": "2025-12",
        }
    }


def test_a_second_delivery_is_a_network_duplicate_in_the_batch_and_later() -> None:
    one = _payload(value="x")
    fates, told = _told(_sent(1, "m1", one, ingestion_ts=2), _sent(1, "m1", one, ingestion_ts=1), _sent(2, "m1", one))
    assert fates == ["network_duplicate", "accepted", "network_duplicate"]
    assert told.standardized["k"].ingestion_ts == 1


def test_of_deliveries_ingested_together_the_smaller_digest_is_taken() -> None:
    payloads = sorted(
        (_payload(value=value) for value in "ab"), key=lambda text: hashlib.md5(text.encode()).hexdigest()
    )
    fates, told = _told(_sent(1, "m1", payloads[1]), _sent(1, "m1", payloads[0]))
    assert fates == ["network_duplicate", "accepted"]
    assert told.curated["k"]["value"] == json.loads(payloads[0])["value"]


def test_the_same_id_published_at_another_time_is_another_message() -> None:
    fates, _ = _told(_sent(1, "m1", _payload(value="a"), day=1), _sent(2, "m1", _payload(value="b"), day=2))
    assert fates == ["accepted", "accepted"]


def test_a_superseded_message_delivered_again_is_a_network_duplicate() -> None:
    fates, _ = _told(_sent(1, "m1", _payload()), _sent(1, "m2", _payload(), day=2), _sent(2, "m1", _payload()))
    assert fates == ["superseded", "accepted", "network_duplicate"]


def test_a_broken_delivery_does_not_spend_the_message_id() -> None:
    fates, _ = _told(_sent(1, "m1", "{"), _sent(1, "m1", "{"), _sent(2, "m1", _payload()))
    assert fates == ["not_json", "not_json", "accepted"]


def test_the_newest_version_wins_whatever_the_order() -> None:
    new, old = _sent(1, "m1", _payload(value="new"), day=3), _sent(1, "m2", _payload(value="old"), day=2)
    assert _told(new, old)[0] == ["accepted", "superseded"]
    fates, told = _told(new, old._replace(batch=2), _sent(2, "m0", _payload(value="older"), day=1))
    assert fates == ["accepted", "stale", "superseded"]
    assert told.curated["k"]["value"] == "new"
    assert told.curated["k"]["first_seen_ts"] == datetime(2026, 1, 1, tzinfo=UTC)


def test_the_payloads_own_update_time_outranks_the_publish_time() -> None:
    first = _sent(1, "m1", _payload(updated="2026-01-09T00:00:00Z"), day=1)
    fates, _ = _told(first, _sent(2, "m2", _payload(updated="2026-01-08T00:00:00Z"), day=9))
    assert fates == ["accepted", "stale"]


def test_ties_fall_to_ingestion_time_and_then_message_id() -> None:
    fates, _ = _told(_sent(1, "m9", _payload()), _sent(1, "m1", _payload(), ingestion_ts=1))
    assert fates == ["superseded", "accepted"]
    assert _told(_sent(1, "m9", _payload()), _sent(1, "m10", _payload()))[0] == ["accepted", "superseded"]


def test_an_update_time_that_is_none_gives_way_to_the_publish_time_and_rejects_the_row() -> None:
    fates, told = _told(_sent(1, "m1", _payload(updated="soon"), day=5), _sent(2, "m2", _payload(), day=4))
    assert fates == ["accepted", "stale"]
    assert list(told.rejected[0].violations) == [("last_updated_ts", "cast", "soon")]


def test_a_correction_in_another_period_moves_the_row_and_keeps_where_it_was_first() -> None:
    _, told = _told(
        _sent(1, "m1", _payload(period="2025-11", value="a"), day=1),
        _sent(2, "m2", _payload(period="2026-12", value="b"), day=2),
    )
    row = told.curated["k"]
    assert (row["value"], row["period_reference"], row["first_period_reference"]) == ("b", "2026-12", "2025-11")
    assert row["first_seen_ts"] == datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("key", [None, "", " \t"])
def test_records_without_a_key_replace_nothing_and_are_all_rejected(key: str | None) -> None:
    fates, told = _told(_sent(1, "m1", _payload(key)), _sent(1, "m2", _payload(key), day=2))
    assert fates == ["accepted", "accepted"]
    assert [version.message_id for version in told.keyless] == ["m1", "m2"]
    assert told.standardized == {}
    assert told.curated == {}
    for rejection in told.rejected:
        assert list(rejection.violations) == [("idempotency_key", "cde", key)]


def test_a_number_and_a_text_of_the_same_digits_are_one_key() -> None:
    one = '{"_metadata": {"idempotencyKeyResource": 1.0}}'
    assert _told(_sent(1, "m1", one), _sent(1, "m2", _payload("1.0"), day=2))[0] == ["superseded", "accepted"]


def test_a_rejected_newer_version_takes_the_older_row_out_of_curated_however_the_stream_is_split() -> None:
    amount = [{"name": "amount", "type": "INT", "json_path": "$.amount"}]
    good, bad = _sent(1, "m1", _payload(amount=1), day=1), _sent(2, "m2", _payload(amount="x"), day=2)
    fates, told = _told(good, bad, columns=amount)
    assert fates == ["accepted", "accepted"]
    assert told.standardized["k"].message_id == "m2"
    assert told.curated == {}
    _, together = _told(good, bad._replace(batch=1), columns=amount)
    assert together.curated == {}


@pytest.mark.parametrize("period", ["2026-13", "2026-00", "1969-12", "10000-01", "2026-1", "", "٢٠٢٦-01", "2026-01\n"])
def test_a_period_that_is_none_is_filed_by_publish_time_and_rejected_with_the_value(period: str) -> None:
    assert _violations([], period=period) == [("period_reference", "period", period)]


def test_a_missing_period_is_the_month_of_publish_time() -> None:
    assert _row([])["period_reference"] == "2026-01"


_COLUMN = {"name": "c", "json_path": "$.c"}


@pytest.mark.parametrize(
    ("rules", "members", "expected"),
    [
        ({"cde": True}, {}, ("c", "cde", None)),
        ({"cde": True}, {"c": None}, ("c", "cde", None)),
        ({"cde": True, "default": "d"}, {"c": " "}, ("c", "cde", " ")),
        ({"required": True}, {}, ("c", "not_null", None)),
        ({"nullable": False}, {"c": None}, ("c", "not_null", None)),
        ({"type": "INT"}, {"c": ""}, ("c", "cast", "")),
        ({"enum": ["a", "b"]}, {"c": "A"}, ("c", "enum", "A")),
        ({"type": "INT", "enum": [1, 2]}, {"c": "3"}, ("c", "enum", "3")),
        ({"type": "INT", "range": {"min": 0, "max": 9}}, {"c": 10}, ("c", "range", "10")),
        ({"type": "DECIMAL(4,2)", "range": {"min": 0.5}}, {"c": "0.49"}, ("c", "range", "0.49")),
        ({"type": "DATE", "range": {"max": "2026-01-01"}}, {"c": "2026-01-02"}, ("c", "range", "2026-01-02")),
        ({"regex": "[A-Z]{3}"}, {"c": "EURO"}, ("c", "regex", "EURO")),
        ({"regex": "[A-Z]{3}"}, {"c": "EUR\n"}, ("c", "regex", "EUR\n")),
        ({"length": {"min": 2}}, {"c": "😀"}, ("c", "length", "😀")),
        ({"length": {"max": 2}}, {"c": "abc"}, ("c", "length", "abc")),
    ],
)
def test_each_rule_names_column_rule_and_value(
    rules: dict[str, Any], members: dict[str, Any], expected: tuple[str, str, str | None]
) -> None:
    assert _violations([{"type": "STRING"} | _COLUMN | rules], **members) == [expected]


def test_every_violation_of_a_row_is_listed() -> None:
    columns: list[dict[str, Any]] = [
        {"name": "a", "type": "STRING", "json_path": "$.a", "regex": "x+", "length": {"max": 1}, "enum": ["x"]},
        {"name": "b", "type": "INT", "json_path": "$.b"},
    ]
    found = _violations(columns, a="yy", b="z", period="never")
    assert sorted(rule for _, rule, _ in found) == ["cast", "enum", "length", "period", "regex"]


def test_a_rule_is_broken_only_when_false_and_all_its_columns_were_cast() -> None:
    columns = [{"name": name, "type": "INT", "json_path": f"$.{name}"} for name in "ab"]
    rules = [{"name": "ordered", "check": "a <= b"}]
    assert _violations(columns, a=2, b=1, rules=rules) == [(None, "rule:ordered", None)]
    assert _violations(columns, a="x", b=1, rules=rules) == [("a", "cast", "x")]
    _, told = _told(_sent(1, "m", _payload(a=2)), columns=columns, rules=rules)
    assert told.curated["k"]["a"] == 2


def test_a_default_stands_in_for_absent_and_null_but_not_for_an_empty_text() -> None:
    columns = [{"name": "c", "type": "STRING", "json_path": "$.c", "default": "d"}]
    assert _row(columns)["c"] == "d"
    assert _row(columns, c=None)["c"] == "d"
    assert _row(columns, c="")["c"] == ""
    assert _row([{"name": "n", "type": "BOOLEAN", "json_path": "$.n", "default": False}])["n"] is False


def test_paths_are_exact_and_an_object_with_members_is_no_leaf() -> None:
    columns = [{"name": "c", "type": "STRING", "json_path": "$.a.B"}]
    assert _row(columns, a={"B": 1})["c"] == "1"
    assert _row(columns, a={"b": 1})["c"] is None
    assert _row(columns, a=[{"B": 1}])["c"] is None
    assert _row(columns, a={"B": {"x": 1}})["c"] is None
    assert _row(columns, a={"B": {}})["c"] == "{}"
    assert _row(columns, a={"B": [1, {"é": "\n"}]})["c"] == '[1,{"é":"\\n"}]'


def test_values_are_typed_with_the_digits_as_written() -> None:
    text = '{"_metadata":{"idempotencyKeyResource":"k"},"d":12345678901234567.8900,"s":19.90,"l":[1.0, 1E2],"f":1e2,'
    text += '"b":"TRUE","n":-7,"day":"2024-02-29"}'
    types = {"d": "DECIMAL(19,2)", "s": "STRING", "l": "STRING", "f": "DOUBLE", "b": "BOOLEAN", "n": "BIGINT"}
    types["day"] = "DATE"
    columns = [{"name": name, "type": kind, "json_path": f"$.{name}"} for name, kind in types.items()]
    _, told = _told(_sent(1, "m", text), columns=columns)
    assert {name: told.curated["k"][name] for name in types} == {
        "d": Decimal("12345678901234567.89"),
        "s": "19.90",
        "l": "[1.0,1E2]",
        "f": 100.0,
        "b": True,
        "n": -7,
        "day": date(2024, 2, 29),
    }


def test_personal_values_are_treated_last() -> None:
    columns: list[dict[str, Any]] = [
        {"name": "h", "type": "STRING", "json_path": "$.h", "pii": {"treatment": "hash"}},
        {"name": "t", "type": "STRING", "json_path": "$.t", "pii": {"treatment": "tokenise"}, "length": {"min": 4}},
        {"name": "c", "type": "STRING", "json_path": "$.c", "pii": {"treatment": "truncate", "keep": 2}},
        {"name": "d", "type": "STRING", "json_path": "$.d", "pii": {"treatment": "drop"}},
    ]
    row = _row(columns, h="zoë", t="4111", c="DE99", d="gone")
    assert row["h"] == hmac.digest(b"secret", "zoë".encode(), "sha256").hex()
    assert row["t"] == "tok_" + hmac.digest(b"secret", b"t\x004111", "sha256").hex()[:32]
    assert row["c"] == "DE"
    assert "d" not in row
    assert _row(columns)["h"] is None


def test_a_batch_is_taken_once() -> None:
    with pytest.raises(ValueError, match="taken before: 1"):
        _told(_sent(1, "m1", "{}"), _sent(2, "m2", "{}"), _sent(1, "m3", "{}"))
