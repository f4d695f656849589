"""Bad contracts and what their authors are told, to the letter."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from leanops.core.contract import load
from leanops.core.errors import InvalidContract
from tests.core.contract.documents import document

Edit = Callable[[dict[str, Any]], object]

CASES: list[tuple[str, Edit, list[str]]] = [
    (
        'table_name missing',
        lambda c: c.pop("table_name"),
        [
            "table_name: found nothing; allowed: the topic: 1 to 40 lower-case letters, digits and underscores. Add 'table_name'.",
        ],
    ),
    (
        'table_name not text',
        lambda c: c.update(table_name=5),
        [
            'table_name: found 5; allowed: text. Write text here.',
        ],
    ),
    (
        'table_name upper case',
        lambda c: c.update(table_name="Readings"),
        [
            "table_name: found 'Readings'; allowed: the topic: 1 to 40 lower-case letters, digits and underscores. Write it in this form.",
        ],
    ),
    (
        'table_name hostile',
        lambda c: c.update(table_name="x; DROP TABLE y"),
        [
            "table_name: found 'x; DROP TABLE y'; allowed: the topic: 1 to 40 lower-case letters, digits and underscores. Write it in this form.",
        ],
    ),
    (
        'table_name reserved word',
        lambda c: c.update(table_name="select"),
        [
            "table_name: found 'select', it is a reserved word of SQL; allowed: another name. Add a noun, for example 'sensor_<word>'.",
        ],
    ),
    (
        'table_name of a shared table',
        lambda c: c.update(table_name="errors"),
        [
            "table_name: found 'errors', a shared table has this name; allowed: another name. Choose another name.",
        ],
    ),
    (
        'table_name too long',
        lambda c: c.update(table_name="a" * 41),
        [
            "table_name: found 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'; allowed: the topic: 1 to 40 lower-case letters, digits and underscores. Write it in this form.",
        ],
    ),
    (
        'schema_version one number',
        lambda c: c.update(schema_version="1"),
        [
            "schema_version: found '1'; allowed: three numbers, for example 1.4.0. Write it in this form.",
        ],
    ),
    (
        'schema_version a number',
        lambda c: c.update(schema_version=1.0),
        [
            'schema_version: found 1.0; allowed: text. Write text here.',
        ],
    ),
    (
        'owner missing',
        lambda c: c.pop("owner"),
        [
            "owner: found nothing; allowed: who answers for the topic. Add 'owner'.",
        ],
    ),
    (
        'owner without email',
        lambda c: c["owner"].pop("email"),
        [
            "owner.email: found nothing; allowed: an e-mail address. Add 'email'.",
        ],
    ),
    (
        'owner email malformed',
        lambda c: c["owner"].update(email="nobody"),
        [
            "owner.email: found 'nobody'; allowed: an e-mail address. Write it in this form.",
        ],
    ),
    (
        'alert_route is a list',
        lambda c: c.update(alert_route=["alerts"]),
        [
            "alert_route: found ['alerts']; allowed: an object. Write an object here.",
        ],
    ),
    (
        'slack without hash sign',
        lambda c: c["alert_route"].update(slack="alerts"),
        [
            "alert_route.slack: found 'alerts'; allowed: a channel, for example #data-alerts. Write it in this form.",
        ],
    ),
    (
        'unknown key',
        lambda c: c.update(payload_colums=[]),
        [
            "contract: found the key 'payload_colums'; allowed: $schema, table_name, schema_version, description, owner, alert_route, envelope_columns, payload_columns, rules, version_column, partitioning, column_budget, quality, compute, retention, maintenance, approve_breaking. Did you mean 'payload_columns'?",
        ],
    ),
    (
        'envelope empty',
        lambda c: c.update(envelope_columns=[]),
        [
            'envelope_columns: found nothing; allowed: at least one entry. Fill it in, or leave the key out.',
        ],
    ),
    (
        'envelope without key',
        lambda c: c["envelope_columns"].pop(2),
        [
            "envelope_columns: found no idempotency_key; allowed: message_id, publish_time, idempotency_key, period_reference, correlation_id, last_updated_ts. Add the column 'idempotency_key'.",
        ],
    ),
    (
        'envelope of wrong type',
        lambda c: c["envelope_columns"][1].update(type="STRING"),
        [
            "envelope_columns[1].type: found 'STRING'; allowed: TIMESTAMP. Write TIMESTAMP.",
        ],
    ),
    (
        'envelope unknown column',
        lambda c: c["envelope_columns"].append({"name": "offset", "type": "BIGINT"}),
        [
            "envelope_columns[4].name: found 'offset'; allowed: message_id, publish_time, idempotency_key, period_reference, correlation_id, last_updated_ts. Choose one of these.",
        ],
    ),
    (
        'envelope path on message_id',
        lambda c: c["envelope_columns"][0].update(json_path="$.id"),
        [
            'envelope_columns[0].json_path: found a path; allowed: none. Drop it: the message itself has message_id.',
        ],
    ),
    (
        'envelope without path',
        lambda c: c["envelope_columns"][2].pop("json_path"),
        [
            "envelope_columns[2].json_path: found nothing; allowed: keys from the payload's root. Add 'json_path'.",
        ],
    ),
    (
        'key that is no CDE',
        lambda c: c["envelope_columns"][2].update(cde=False),
        [
            "envelope_columns[2].cde: found no CDE; allowed: true. Write 'cde': true: rows are found by idempotency_key.",
        ],
    ),
    (
        'payload empty',
        lambda c: c.update(payload_columns=[], rules=[]),
        [
            "payload_columns: found nothing; allowed: Curated's columns; leave the key out for Standardized only. Fill it in, or leave the key out.",
        ],
    ),
    (
        'column without type',
        lambda c: c["payload_columns"][1].pop("type"),
        [
            "payload_columns[1].type: found nothing; allowed: STRING, INT, BIGINT, DOUBLE, DECIMAL(p,s) with p up to 38, BOOLEAN, DATE or TIMESTAMP. Add 'type'.",
        ],
    ),
    (
        'column of unknown type',
        lambda c: c["payload_columns"][4].update(type="DATETIME"),
        [
            "payload_columns[4].type: found 'DATETIME'; allowed: STRING, INT, BIGINT, DOUBLE, DECIMAL(p,s) with p up to 38, BOOLEAN, DATE or TIMESTAMP. Write it in this form.",
        ],
    ),
    (
        'decimal scale above precision',
        lambda c: c["payload_columns"][0].update(type="DECIMAL(2,4)"),
        [
            "payload_columns[0].type: found 'DECIMAL(2,4)'; allowed: a scale up to the precision. Write DECIMAL(p,s).",
        ],
    ),
    (
        'decimal precision 39',
        lambda c: c["payload_columns"][0].update(type="DECIMAL(39,2)"),
        [
            "payload_columns[0].type: found 'DECIMAL(39,2)'; allowed: STRING, INT, BIGINT, DOUBLE, DECIMAL(p,s) with p up to 38, BOOLEAN, DATE or TIMESTAMP. Write it in this form.",
        ],
    ),
    (
        'column name with capitals',
        lambda c: c["payload_columns"][1].update(name="Count"),
        [
            "payload_columns[1].name: found 'Count'; allowed: 1 to 64 lower-case letters, digits and underscores, a letter first. Write it in this form.",
        ],
    ),
    (
        'column name of an audit column',
        lambda c: c["payload_columns"][4].update(name="first_seen_ts"),
        [
            "payload_columns[4].name: found 'first_seen_ts', a column of lean-ops; allowed: another name. Rename it.",
        ],
    ),
    (
        'two columns of one name',
        lambda c: c["payload_columns"][4].update(name="email"),
        [
            "columns: found 2 columns named 'email'; allowed: each name once. Rename one.",
        ],
    ),
    (
        'path without dollar',
        lambda c: c["payload_columns"][1].update(json_path="count"),
        [
            "payload_columns[1].json_path: found 'count'; allowed: keys from the payload's root, for example $.event.userId or $['odd key']. Write it in this form.",
        ],
    ),
    (
        'path with wildcard',
        lambda c: c["payload_columns"][1].update(json_path="$.items[*].count"),
        [
            "payload_columns[1].json_path: found '$.items[*].count'; allowed: keys from the payload's root, for example $.event.userId or $['odd key']. Write it in this form.",
        ],
    ),
    (
        'path too deep',
        lambda c: c["payload_columns"][1].update(json_path="$" + ".a" * 17),
        [
            "payload_columns[1].json_path: found '$.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a'; allowed: keys from the payload's root, for example $.event.userId or $['odd key']. Write it in this form.",
        ],
    ),
    (
        'two paths of one column',
        lambda c: c["payload_columns"][1].update(json_path="$.Amount"),
        [
            'payload_columns[1].json_path: found a path that shares the column amount with payload_columns[0]; allowed: paths whose names differ in Standardized. Declare one of them.',
        ],
    ),
    (
        'default on a CDE',
        lambda c: c["payload_columns"][0].update(default=0),
        [
            'payload_columns[0].default: found a default on a CDE; allowed: none. Drop it: a missing CDE must be seen.',
        ],
    ),
    (
        'CDE that is nullable',
        lambda c: c["payload_columns"][0].update(nullable=True),
        [
            'payload_columns[0].nullable: found nullable and cde; allowed: one of the two. Drop nullable.',
        ],
    ),
    (
        'required and nullable',
        lambda c: c["payload_columns"][2].update(nullable=True),
        [
            'payload_columns[2].nullable: found nullable and required; allowed: one of the two. Drop nullable.',
        ],
    ),
    (
        'default of another type',
        lambda c: c["payload_columns"][1].update(default="many"),
        [
            "payload_columns[1].default: found 'many'; allowed: a value of INT. Mend it.",
        ],
    ),
    (
        'default outside the range',
        lambda c: c["payload_columns"][1].update(default=11),
        [
            "payload_columns[1].default: found '11'; allowed: a value that passes range. Mend it, or the rule.",
        ],
    ),
    (
        'default outside the enum',
        lambda c: c["payload_columns"][2].update(default="z"),
        [
            "payload_columns[2].default: found 'z'; allowed: a value that passes enum. Mend it, or the rule.",
        ],
    ),
    (
        'enum on a timestamp',
        lambda c: c["payload_columns"][4].update(enum=["2026-01-01T00:00:00Z"]),
        [
            'payload_columns[4].enum: found an enum on TIMESTAMP; allowed: STRING, INT, BIGINT, DECIMAL, DATE. Drop it, or use range.',
        ],
    ),
    (
        'enum of another type',
        lambda c: c["payload_columns"][1].update(enum=[1, "two"]),
        [
            "payload_columns[1].enum[1]: found 'two'; allowed: a value of INT. Mend or drop it.",
        ],
    ),
    (
        'enum with a value twice',
        lambda c: c["payload_columns"][1].update(enum=[1, "01"]),
        [
            "payload_columns[1].enum[1]: found '01' again; allowed: each value once. Drop it.",
        ],
    ),
    (
        'enum empty',
        lambda c: c["payload_columns"][2].update(enum=[]),
        [
            'payload_columns[2].enum: found nothing; allowed: the only values. Fill it in, or leave the key out.',
        ],
    ),
    (
        'range on text',
        lambda c: c["payload_columns"][2].update(range={"min": 1}),
        [
            'payload_columns[2].range: found a range on STRING; allowed: INT, BIGINT, DOUBLE, DECIMAL, DATE, TIMESTAMP. Drop it, or use length.',
        ],
    ),
    (
        'range without bounds',
        lambda c: c["payload_columns"][1].update(range={}),
        [
            'payload_columns[1].range: found neither min nor max; allowed: min, max or both. Add a bound.',
        ],
    ),
    (
        'range upside down',
        lambda c: c["payload_columns"][1].update(range={"min": 5, "max": 1}),
        [
            'payload_columns[1].range: found min 5 above max 1; allowed: min up to max. Swap them.',
        ],
    ),
    (
        'range bound of another type',
        lambda c: c["payload_columns"][1].update(range={"min": 0.5}),
        [
            "payload_columns[1].range.min: found '0.5'; allowed: a value of INT. Mend it.",
        ],
    ),
    (
        'length on a number',
        lambda c: c["payload_columns"][1].update(length={"max": 3}),
        [
            'payload_columns[1].length: found length on INT; allowed: STRING. Drop it, or use range.',
        ],
    ),
    (
        'length upside down',
        lambda c: c["payload_columns"][3].update(length={"min": 5, "max": 1}),
        [
            'payload_columns[3].length: found min 5 above max 1; allowed: min up to max. Swap them.',
        ],
    ),
    (
        'regex on a number',
        lambda c: c["payload_columns"][1].update(regex="[0-9]+"),
        [
            'payload_columns[1].regex: found regex on INT; allowed: STRING. Drop it, or use range.',
        ],
    ),
    (
        'regex that does not compile',
        lambda c: c["payload_columns"][3].update(regex="[a-z"),
        [
            "payload_columns[3].regex: found '[a-z'; allowed: the syntax Python and Java share. Change it: it does not compile (unterminated character set at position 0).",
        ],
    ),
    (
        'regex with look-ahead',
        lambda c: c["payload_columns"][3].update(regex="(?=a)a"),
        [
            "payload_columns[3].regex: found '(?=a)a'; allowed: the syntax Python and Java share. Change it: look-around, flags and named groups are not allowed.",
        ],
    ),
    (
        'regex that can run away',
        lambda c: c["payload_columns"][3].update(regex="(a+)+"),
        [
            "payload_columns[3].regex: found '(a+)+'; allowed: the syntax Python and Java share. Change it: a repeated group with a choice or a repeat inside can take for ever.",
        ],
    ),
    (
        'pii unknown treatment',
        lambda c: c["payload_columns"][3].update(pii={"treatment": "encrypt"}),
        [
            "payload_columns[3].pii.treatment: found 'encrypt'; allowed: hash, tokenise, truncate, drop. Choose one of these.",
        ],
    ),
    (
        'pii truncate without keep',
        lambda c: c["payload_columns"][3].update(pii={"treatment": "truncate"}),
        [
            'payload_columns[3].pii.keep: found truncate without keep; allowed: keep with truncate only. Add or drop keep.',
        ],
    ),
    (
        'pii keep with hash',
        lambda c: c["payload_columns"][3].update(pii={"treatment": "hash", "keep": 2}),
        [
            'payload_columns[3].pii.keep: found keep with hash; allowed: keep with truncate only. Add or drop keep.',
        ],
    ),
    (
        'pii hash on a number',
        lambda c: c["payload_columns"][1].update(pii={"treatment": "hash"}),
        [
            'payload_columns[1].pii: found hash on INT; allowed: STRING. Use drop, or type STRING.',
        ],
    ),
    (
        'rule with free SQL',
        lambda c: c["rules"].append({"name": "evil", "check": "1=1; DROP TABLE x"}),
        [
            "rules[1].check: found '1=1; DROP TABLE x', unexpected ';' at character 4; allowed: columns, literals, and or not, = != < <= > >=, + - *. Use columns, numbers, 'text', and or not, = != < <= > >=, + - *.",
        ],
    ),
    (
        'rule over an unknown column',
        lambda c: c["rules"].append({"name": "typo", "check": "amout > 0"}),
        [
            "rules[1].check: found 'amout > 0', there is no column 'amout' at character 1; allowed: columns, literals, and or not, = != < <= > >=, + - *. Use one of: amount, count, email, idempotency_key, last_updated_ts, message_id, publish_time, seen_at, status.",
        ],
    ),
    (
        'rule over two types',
        lambda c: c["rules"].append({"name": "odd", "check": "status > 1"}),
        [
            "rules[1].check: found 'status > 1', a text is compared with a number at character 1; allowed: columns, literals, and or not, = != < <= > >=, + - *. Compare values of the same type.",
        ],
    ),
    (
        'rule name twice',
        lambda c: c["rules"].append({"name": "small", "check": "count < 3"}),
        [
            "rules[1].name: found 'small' again; allowed: each name once. Rename it.",
        ],
    ),
    (
        'rules without Curated',
        lambda c: c.pop("payload_columns"),
        [
            "rules: found rules without payload_columns; allowed: rules over Curated's columns. Drop the rules.",
        ],
    ),
    (
        'version column not there',
        lambda c: (c["envelope_columns"].pop(3), c.update(version_column="last_updated_ts")),
        [
            "version_column: found 'last_updated_ts', which is no envelope column; allowed: a column of the envelope. Add the column, or use publish_time.",
        ],
    ),
    (
        'too many partitions',
        lambda c: c.update(partitioning={"history_months": 600, "buckets": 256}),
        [
            'partitioning: found 153600 partitions (history_months times buckets); allowed: up to 20000. Use fewer buckets.',
        ],
    ),
    (
        'buckets zero',
        lambda c: c["partitioning"].update(buckets=0),
        [
            'partitioning.buckets: found 0; allowed: 1 to 256. Choose a number in between.',
        ],
    ),
    (
        'column budget not whole',
        lambda c: c.update(column_budget=99.5),
        [
            'column_budget: found 99.5; allowed: a whole number. Write a whole number here.',
        ],
    ),
    (
        'column budget below minimum',
        lambda c: c.update(column_budget=5),
        [
            'column_budget: found 5; allowed: 50 to 5000. Choose a number in between.',
        ],
    ),
    (
        'quality ratio above one',
        lambda c: c.update(quality={"max_rejected_ratio": 10}),
        [
            'quality.max_rejected_ratio: found 10; allowed: 0 to 1. Choose a number in between.',
        ],
    ),
    (
        'quality warning above maximum',
        lambda c: c.update(quality={"max_rejected_ratio": 0.01, "warn_rejected_ratio": 0.5}),
        [
            'quality.warn_rejected_ratio: found 0.5 above max_rejected_ratio 0.01; allowed: up to max_rejected_ratio. Lower it.',
        ],
    ),
    (
        'engine unknown',
        lambda c: c.update(compute={"engine": "emr"}),
        [
            "compute.engine: found 'emr'; allowed: glue, emr_serverless, spark_submit. Choose one of these.",
        ],
    ),
    (
        'tier out of range',
        lambda c: c.update(compute={"tier": 9}),
        [
            'compute.tier: found 9; allowed: 1 to 3. Choose a number in between.',
        ],
    ),
    (
        'snapshots outlive RAW',
        lambda c: c.update(retention={"raw_days": 30}),
        [
            'retention.snapshot_days: found 90 days, RAW is kept 30; allowed: up to raw_days. Lower it, or raise raw_days.',
        ],
    ),
    (
        'orphans too young',
        lambda c: c.update(maintenance={"orphan_hours": 1}),
        [
            'maintenance.orphan_hours: found 1; allowed: 72 to 8760. Choose a number in between.',
        ],
    ),
    (
        'approval of itself',
        lambda c: c.update(approve_breaking={"from_version": "1.0.0", "approved_by": "me", "reason": "x"}),
        [
            'approve_breaking.from_version: found 1.0.0, this version itself; allowed: the active version. Name the version it replaces.',
        ],
    ),
    (
        'approval without reason',
        lambda c: c.update(approve_breaking={"from_version": "0.9.0", "approved_by": "me"}),
        [
            "approve_breaking.reason: found nothing; allowed: why. Add 'reason'.",
        ],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("edit", "faults"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_fault_says_where_what_is_allowed_and_what_next(edit: Edit, faults: list[str]) -> None:
    contract = document()
    edit(contract)
    with pytest.raises(InvalidContract) as caught:
        load(json.dumps(contract))
    assert [str(fault) for fault in caught.value.faults] == faults


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
