from __future__ import annotations

import hmac
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pytest

from leanops.core.contract import Contract, load, loaded
from leanops.core.flatten import flatten
from leanops.core.layout import curated_fields
from tests.core.contract.documents import document
from tests.traffic import Message, load_scenario, messages
from tests.traffic.oracle import contract as oracle_contract
from tests.traffic.oracle.checks import Findings, examine
from tests.traffic.oracle.payload import ParseError, parse
from tests.traffic.oracle.records import Record, raw, record
from tests.traffic.oracle.treatments import treated as oracle_treated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

SCHEMAS = Path(__file__).parents[2] / "schemas"
KEY = b"a key that the environment keeps"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BATCH = 7
PLATFORM = (
    "message_id string, topic_name string, publish_time bigint, ingestion_ts bigint, idempotency_key string, "
    "period_reference string, first_seen_ts bigint, first_period_reference string, _batch bigint, _contract_version string"
)
# Violations and record by message_id.
Judgements: TypeAlias = dict[str, tuple[list[tuple[Any, ...]], dict[str, Any]]]


def micros(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)


def standardized(spark: SparkSession, contract: Contract, records: list[Record]) -> DataFrame:
    """The rows as Standardized holds them, flattened by the core."""
    from pyspark.sql import functions as F

    flat = [flatten(one.raw.json_payload, contract.owners).columns for one in records]
    names = sorted({name for columns in flat for name in columns})
    rows = []
    for one, columns in zip(records, flat, strict=True):
        published = micros(one.raw.publish_time)
        platform = (
            one.raw.message_id, "t", published, one.raw.ingestion_ts, one.key,
            one.period, published, one.period, BATCH, "0.0.1",
        )  # fmt: skip
        rows.append((*platform, *(columns.get(name) for name in names)))
    schema = ", ".join([PLATFORM, *(f"`{name}` string" for name in names)])
    frame = spark.createDataFrame(rows, schema).coalesce(2)
    times = ("publish_time", "first_seen_ts")
    return frame.withColumns({name: F.timestamp_micros(name) for name in times})


def judgements(
    rows: DataFrame, contract: Contract, key: bytes = KEY
) -> dict[str, tuple[list[tuple[Any, ...]], dict[str, Any]]]:
    """Violations and record by message_id; moments as UTC."""
    from pyspark.sql import functions as F
    from pyspark.sql.types import StructType, TimestampType

    from spark_jobs.judgement import RECORD, VIOLATIONS, judged

    frame = judged(rows, contract, KEY)
    kinds = frame.schema[RECORD].dataType
    assert isinstance(kinds, StructType)
    fields = [
        (
            F.unix_micros(F.col(RECORD)[field.name])
            if isinstance(field.dataType, TimestampType)
            else F.col(RECORD)[field.name]
        ).alias(field.name)
        for field in kinds
    ]
    found = {}
    for row in frame.select(F.col("message_id").alias("id"), VIOLATIONS, F.struct(*fields).alias("r")).collect():
        values = row["r"].asDict()
        for field in kinds:
            if isinstance(field.dataType, TimestampType) and values[field.name] is not None:
                values[field.name] = EPOCH + timedelta(microseconds=values[field.name])
        found[row["id"]] = ([tuple(each) for each in row[VIOLATIONS]], values)
    return found


def expected_record(
    contract: Contract, known: oracle_contract.Contract, one: Record, findings: Findings
) -> dict[str, Any]:
    values = {
        column.name: oracle_treated(column, findings.texts[column.name], findings.values[column.name], KEY)
        for column in known.columns
        if column.treatment != "drop"
    }
    return values | {
        "period_reference": one.period,
        "ingestion_ts": one.raw.ingestion_ts,
        "last_updated_ts": values.get("last_updated_ts"),
        "first_seen_ts": one.raw.publish_time,
        "first_period_reference": one.period,
        "_batch": BATCH,
        "_message_id": one.raw.message_id,
        "_contract_version": contract.schema_version,
    }


def records_of(known: oracle_contract.Contract, topic: str, count: int) -> list[Record]:
    found: dict[str, Record] = {}
    for message in messages(load_scenario("everything").resized(topic=topic, messages=count), seed=23):
        source = raw(message)
        try:
            found.setdefault(source.message_id, record(known, source, parse(source.json_payload)))
        except ParseError:
            continue
    return list(found.values())


def rules_proven_equal(
    contract: Contract, known: oracle_contract.Contract, records: list[Record], found: Judgements
) -> Counter[str]:
    """How often each rule was broken, after every row was compared with the oracle's."""
    rules: Counter[str] = Counter()
    for one in records:
        findings = examine(known, one)
        violations, values = found[one.raw.message_id]
        assert violations == [tuple(each) for each in findings.violations], one.raw.json_payload
        rules.update(each.rule for each in findings.violations)
        if not violations:
            assert values == expected_record(contract, known, one, findings)
            assert list(values) == [field.name for field in curated_fields(contract)]
            rules["none"] += 1
    return rules


@pytest.mark.parametrize("topic", ["events", "orders", "payments"])
def test_every_row_of_a_sample_topic_is_judged_as_the_oracle_judges_it(spark: SparkSession, topic: str) -> None:
    path = SCHEMAS / topic / "active" / "schema.json"
    contract, known = load(path.read_text(encoding="utf-8")), oracle_contract.read_contract(path)
    records = records_of(known, topic, 1500)
    found = judgements(standardized(spark, contract, records), contract)
    rules = rules_proven_equal(contract, known, records, found)
    assert {"none", "cde", "not_null", "cast", "enum", "period"} <= rules.keys()
    assert len(found) == len(records) > 700


def payload_column(name: str, type_: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "json_path": f"$.{name}", "type": type_, **more}


EDGES = document() | {
    "envelope_columns": [
        {"name": "message_id", "type": "STRING", "cde": True},
        {"name": "publish_time", "type": "TIMESTAMP", "cde": True},
        {"name": "idempotency_key", "type": "STRING", "json_path": "$._metadata.key", "cde": True},
    ],
    "payload_columns": [
        payload_column("critical", "INT", cde=True, range={"min": -1, "max": 5}),
        payload_column("needed", "DOUBLE", nullable=False, range={"min": 0}),
        payload_column("code", "INT", enum=[1, 2, 30]),
        payload_column("price", "DECIMAL(10,2)", enum=[1, "2.50"], default="2.5"),
        payload_column("day", "DATE", enum=["2024-02-29"], range={"max": "2024-12-31"}),
        payload_column("at", "TIMESTAMP", range={"min": "2026-01-01T00:00:00+01:00"}),
        payload_column("word", "STRING", enum=[f"w{n}" for n in range(20)], length={"min": 2}, regex="w[0-9]{1,}"),
        payload_column("mark", "STRING", length={"max": 2}, regex="[^a]*"),
        payload_column("hashed", "STRING", pii={"treatment": "hash"}, cde=True),
        payload_column("token", "STRING", pii={"treatment": "tokenise"}, default="none"),
        payload_column("start", "STRING", pii={"treatment": "truncate", "keep": 2}),
        payload_column("gone", "BIGINT", pii={"treatment": "drop"}, required=True),
        payload_column("flag", "BOOLEAN", default=True),
        payload_column("never", "STRING"),
        payload_column("record", "STRING"),
    ],
    "rules": [
        {"name": "sum", "check": "critical + code <= price * 10 or flag = false"},
        {"name": "hidden", "check": "gone > 0"},
        {"name": "late", "check": "publish_time >= at and message_id != 'm0'"},
    ],
}
SOUND = {
    "critical": 1, "needed": 0.5, "code": 1, "price": 1.0, "day": "2024-02-29", "at": "2026-01-01T00:00Z", "word": "w7", "mark": "b",
    "hashed": "h", "token": "t", "start": "stu", "gone": 1, "flag": True, "violations": "x", "record": "y", "$text_word": "z",
}  # fmt: skip
CHANGES: list[dict[str, Any]] = [
    {}, {}, *({name: None} for name in SOUND), *({name: ""} for name in SOUND), *({name: "\u2003\x1c"} for name in SOUND),
    *({name: {}} for name in SOUND), *({name: {"a": 1}} for name in SOUND), *({name: [1, 1.50]} for name in SOUND),
    {"critical": -2}, {"critical": 5}, {"critical": 6}, {"critical": "+05"}, {"critical": "x", "code": "y"}, {"critical": 1.0},
    {"needed": -0.0}, {"needed": "-5e-324"}, {"needed": "1e999"}, {"code": "01"}, {"code": "-1"}, {"code": 3, "flag": "FALSE"},
    {"price": "1.00"}, {"price": "25e-1"}, {"price": "2.51"}, {"price": "0.001"}, {"price": "2.5", "code": 30}, {"day": "2024-02-28"},
    {"day": "2025-01-01"}, {"at": "2025-12-31T23:00:00Z"}, {"at": "2025-12-31T22:59:59.999999Z"}, {"at": 1767225600000},
    {"at": "2027-01-01T00:00:00Z"}, {"word": "w"}, {"word": "w07"}, {"word": "x"}, {"mark": "\U0001f600\U0001f600"},
    {"mark": "\U0001f600\U0001f600\n"}, {"mark": "e\u0301\u0301"}, {"mark": "a\n"}, {"mark": "\r\u2028"}, {"start": "\U0001f600\u00e9x"},
    {"hashed": "h\u00e9\U0001f600"}, {"token": "tok"}, {"gone": 0}, {"gone": "1.0"}, {"gone": "9223372036854775808"},
    {"_metadata": {"key": "k", "periodReference": "2026-13"}}, {"_metadata": {"key": "k", "periodReference": "2026-12"}},
    {"_metadata": {"key": "k", "periodReference": "2026-12\n"}}, {"_metadata": {"key": "k", "periodReference": ""}}, {"_metadata": {}},
    {"_metadata": {"key": " \x85"}},
]  # fmt: skip


def edge_records(known: oracle_contract.Contract) -> list[Record]:
    found = []
    for number, change in enumerate(CHANGES):
        payload = json.dumps({"_metadata": {"key": f"k{number}"}, **SOUND, **change})
        body = {"messageId": f"m{number}", "publishTime": "2026-06-01T00:00:00.5Z", "payload": payload}
        source = raw(Message(1, json.dumps(body), "t", 1767225600000 + number, "edge"))
        found.append(record(known, source, parse(payload)))
    return found


def test_edges_of_every_rule_are_judged_as_the_oracle_judges_them(spark: SparkSession) -> None:
    contract, known = loaded(EDGES), oracle_contract.read_contract(EDGES)
    records = edge_records(known)
    found = judgements(standardized(spark, contract, records), contract)
    rules = rules_proven_equal(contract, known, records, found)
    assert set(rules) == {
        "none", "cde", "not_null", "cast", "enum", "range", "regex", "length", "rule:sum", "rule:hidden", "rule:late", "period",
    }  # fmt: skip
    assert all("never" in values for _, values in found.values())


def test_the_rows_stay_as_they_are_and_the_record_has_the_types_of_curated(spark: SparkSession) -> None:
    from spark_jobs.judgement import RECORD, VIOLATIONS, judged

    for document_ in (EDGES, document()):
        contract = loaded(document_)
        rows = standardized(spark, contract, edge_records(oracle_contract.read_contract(EDGES))[:3])
        frame = judged(rows, contract, KEY)
        assert frame.columns == [*rows.columns, VIOLATIONS, RECORD]
        assert frame.select(*(f"`{name}`" for name in rows.columns)).schema == rows.schema
        types = dict(frame.dtypes)
        assert types[VIOLATIONS] == "array<struct<column:string,rule:string,value:string>>"
        fields = ",".join(f"{field.name}:{field.type.lower()}" for field in curated_fields(contract))
        assert types[RECORD] == f"struct<{fields}>"


def test_a_treatment_is_the_hmac_of_python_for_a_key_of_any_length(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.treatments import PADDED_KEY, treated

    columns = {name: loaded(EDGES).by_name[name] for name in ("hashed", "token", "start", "record")}
    keys = [b"", b"k", bytes(range(64)), bytes(range(65)), b"\xff" * 200]
    texts = ["", "a", "\U0001f600\u00e9\x00 ", "x" * 1000, None]
    session = spark.newSession()
    session.conf.set("spark.sql.redaction.string.regex", PADDED_KEY)
    rows = session.createDataFrame([(text,) for text in texts], "text string").coalesce(1)
    frame = rows.select(
        "text",
        *(
            treated(c, F.col("text"), key).alias(f"{name}{n}")
            for name, c in columns.items()
            for n, key in enumerate(keys)
        ),
    )
    for row in frame.collect():
        text = row["text"]
        for n, key in enumerate(keys):
            found = [row[f"{name}{n}"] for name in columns]
            if text is None:
                assert found == [None] * 4
                continue
            hashed = hmac.new(key, text.encode(), "sha256").hexdigest()
            token = hmac.new(key, b"token\0" + text.encode(), "sha256").hexdigest()[:32]
            assert found == [hashed, f"tok_{token}", text[:2], text]
    plan = frame._jdf.queryExecution().toString().lower()
    assert "sha2" in plan
    assert not re.search("(36|5c){20}", plan), "the padded keys are redacted where the session asks for it"


PATTERNS = [
    "[A-Z]{3}", "[^@ ]+@[^@ ]+", r"\d+", r"\w+", r"\s*", r"\D\W\S", ".", ".*", "a.b", "^a$", "a$", "a|b", "a|bc|", "(a|b)c", "(?:a)?b",
    "a{2}", "a{2,}", "a{1,2}?", "a{,2}", "a{,}", "a{", "{", "}", "a{x}", "{a}", "x{1", "a{1,b}", r"\{a\}", "[{,2}]+", "[a{2}]+", "[]a]+", "[^]a]+",
    "[a-]+", r"[\w.-]+", r"[\d\-]+", "[a^b]+", r"a\.b", r"\(\)", r"a\/b", r"\-", "\u00e9+", "[\u00e0-\u00ff]+", "\U0001f600+", "[\U0001f600-\U0001f64f]", "..",
    "", "()", "a*?b", r"\n", r"\t|\r", "[^a]*", "]", "a]", "#a b", r"\\", "\"'",
]  # fmt: skip
PIECES = [
    "", "a", "A", "b", "aa", "aaa", "ab", "aab", "bc", "ac", "ABC", "ABCD", "a.b", "axb", "a\nb", "a\rb", "a\u2028b", "a\u0085b", "a\n", "a\r\n", "\n",
    "\r", "\t", "\x0b", "\x1c", "\u00a0", "\u2028", "1", "12", "\u0661", "\u00e9", "\u00e9\u00e9", "e\u0301", "_", "-", "a-b", "{", "}", "a{", "{a}", "a{x}", "x{1",
    "a{1,b}", "{,2}", "a{2}", "]", "a]", "^", "()", "a/b", "\\", "\U0001f600", "\U0001f600\U0001f600", "x@y", "x @y", "@", " ", "#a b", "\"'", "1-2", "\ufeff", "0",
]  # fmt: skip


def test_java_and_python_match_every_pattern_alike(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from leanops.core.contract.regex import regex_objection
    from spark_jobs.judgement import java_pattern

    assert not [pattern for pattern in PATTERNS if regex_objection(pattern)]
    rows = spark.createDataFrame([(text,) for text in PIECES], "text string").coalesce(1)
    found = rows.select("text", *(F.col("text").rlike(java_pattern(p)).alias(f"p{n}") for n, p in enumerate(PATTERNS)))
    wrong = [
        (pattern, row["text"])
        for row in found.collect()
        for n, pattern in enumerate(PATTERNS)
        if row[f"p{n}"] != bool(re.fullmatch(pattern, row["text"], re.ASCII))
    ]
    assert not wrong


def test_two_hundred_columns_make_a_plan_that_holds_each_cast_once(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    from spark_jobs.judgement import RECORD, VIOLATIONS, judged

    kinds = ("DECIMAL(18,2)", "INT", "DOUBLE", "DATE", "STRING")
    columns = [
        payload_column(
            f"c{n}",
            kind,
            required=True,
            **({} if kind == "STRING" else {"range": {"min": "2" if kind != "DATE" else "2026-01-01"}}),
        )
        for n, kind in zip(range(200), kinds * 40, strict=True)
    ]
    contract = loaded(document() | {"payload_columns": columns, "rules": [], "column_budget": 1000})
    session = spark.newSession()
    session.conf.set("spark.sql.debug.maxToStringFields", "10000")
    values = dict(zip(kinds, ("7.50", "1", "3e0", "2026-02-30", "x"), strict=True))
    platform = PLATFORM.replace("publish_time bigint", "publish_time timestamp").replace(
        "first_seen_ts bigint", "first_seen_ts timestamp"
    )
    schema = ", ".join([platform, "_metadata_key string", *(f"{column['name']} string" for column in columns)])
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    row = (
        "m",
        "t",
        moment,
        1,
        "k",
        "2026-01",
        moment,
        "2026-01",
        1,
        "1.0.0",
        "k",
        *(values[column["type"]] for column in columns),
    )
    frame = judged(session.createDataFrame([row], schema).coalesce(1), contract, KEY)
    (found,) = frame.select(VIOLATIONS, F.col(RECORD)["c0"]).collect()
    rules = Counter((each["rule"], each["value"]) for each in found[0])
    assert rules == {("range", "1"): 40, ("cast", "2026-02-30"): 40}
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    # Two patterns for a DECIMAL, one for each of the three other types, and those of the envelope.
    assert 200 <= plan.count("RLIKE") < 220
