from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leanops.core.errors import InvalidName
from leanops.core.naming import Environment, Names, literal, quoted, quoted_table, valid_column, valid_topic

TEST = Environment("test", "123456789012", "eu-central-1")
TOPICS = st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True)
ENVIRONMENTS = st.builds(
    Environment,
    st.from_regex(r"[a-z][a-z0-9]{0,11}", fullmatch=True),
    st.from_regex(r"[0-9]{12}", fullmatch=True),
    st.sampled_from(["us-east-1", "eu-central-1", "ap-southeast-4", "us-gov-west-1"]),
)


def names_of(environment: Environment, topic: str) -> Names | None:
    try:
        return environment.topic(topic)
    except InvalidName:
        return None


@given(ENVIRONMENTS, TOPICS, st.integers(0, 2**63), st.from_regex(r"[a-z0-9]{1,32}", fullmatch=True))
def test_every_derived_name_is_within_the_limits_of_its_service(
    environment: Environment, topic: str, batch: int, token: str
) -> None:
    names = names_of(environment, topic)
    if names is None:
        return
    for dag in (names.topic_dag, names.period_dag):
        assert re.fullmatch(r"[A-Za-z0-9_.-]{1,50}", dag)  # MWAA's REST path takes 50
    for queue in (names.queue, names.dead_letter_queue):
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,80}", queue)  # SQS
    for table in (names.raw_table, names.standardized_table, names.scientist_view, names.curated_table):
        database, _, name = table.partition(".")
        assert all(re.fullmatch(r"[a-z0-9_]{1,255}", part) for part in (database, name))  # Glue
        assert len(name) <= 128  # Athena
    for bucket in (environment.lake_bucket, environment.schema_bucket, environment.archive_bucket):
        assert re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", bucket)  # S3
    for table in (environment.checkpoints, environment.locks, environment.schema_registry, environment.idempotency):
        assert re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", table)  # DynamoDB
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", environment.delivery_stream)  # Firehose
    assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", environment.function("sqs_processor"))  # Lambda
    assert re.fullmatch(r"[a-z0-9_]{1,100}", names.run_branch(batch, token))
    assert len(names.schema_key("active")) <= 1024
    assert all(len(location) <= 1024 for location in names.table_location.values())
    assert len("#".join(names.checkpoint("curated"))) <= 1024
    assert len(names.lease()) <= 1024


@given(TOPICS, TOPICS)
def test_two_topics_never_share_a_name(one: str, other: str) -> None:
    first, second = names_of(TEST, one), names_of(TEST, other)
    if first is None or second is None or one == other:
        return
    assert not tables_of(first) & tables_of(second)
    assert {first.queue, first.dead_letter_queue}.isdisjoint({second.queue, second.dead_letter_queue})
    assert {first.topic_dag, first.period_dag}.isdisjoint({second.topic_dag, second.period_dag})


def tables_of(names: Names) -> set[str]:
    return {names.raw_table, names.standardized_table, names.scientist_view, names.curated_table}


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "it is empty"),
        (None, "it is NoneType, not text"),
        (7, "it is int, not text"),
        ("Orders", "it does not match"),
        ("1orders", "it does not match"),
        ("orders; DROP TABLE x", "it does not match"),
        ("orders'--", "it does not match"),
        ("orders`", "it does not match"),
        ("../../etc/passwd", "it does not match"),
        ("orders/../x", "it does not match"),
        ("orders\n", "it does not match"),
        ("orders\x00", "it does not match"),
        ("${env:SECRET}", "it does not match"),
        ("оrders", "U+043E is not an ASCII letter"),  # Cyrillic
        ("orders２", "U+FF12 is not an ASCII letter"),
        ("ords\u200b", "U+200B is not an ASCII letter"),
        ("a" * 41, "it does not match"),
        ("select", "it is a reserved word of SQL"),
        ("errors", "a shared table has this name"),
        ("parse_errors", "a shared table has this name"),
        ("orders_staging", "names that end in _staging"),
        ("orders_latest", "names that end in _latest"),
    ],
)
def test_a_hostile_topic_is_refused_with_the_reason(name: object, reason: str) -> None:
    with pytest.raises(InvalidName, match=re.escape(reason)) as caught:
        valid_topic(name)
    assert caught.value.name == name
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("Cannot use topic, ")


def test_an_error_reads_verb_reason_subject_and_next_step() -> None:
    with pytest.raises(InvalidName) as caught:
        valid_topic("Bad Topic")
    assert str(caught.value) == (
        "Cannot use topic, it does not match [a-z][a-z0-9_]{0,39}: 'Bad Topic'. "
        "Use 1 to 40 lower-case letters, digits and underscores, a letter first."
    )


@pytest.mark.parametrize("arguments", [("Prod", "1" * 12, "eu-west-1"), ("p", "12", "eu-west-1"), ("p", "1" * 12, "x")])
def test_an_environment_checks_its_parts(arguments: tuple[str, str, str]) -> None:
    with pytest.raises(InvalidName):
        Environment(*arguments)


def test_names_of_a_topic() -> None:
    names = TEST.topic("orders")
    assert names.raw_table == "iceberg_raw_db.orders_staging"
    assert names.curated_table == "iceberg_curated_db.orders"
    assert names.queue == "lean-ops-test-orders"
    assert names.schema_key("failed", "error.json") == "schemas/orders/failed/error.json"
    assert names.run_branch(17, "a1") == "run_17_a1"
    assert names.checkpoint("standardized") == ("standardization_orders", "raw")
    assert names.archive_prefix("2026-11-18") == "dlq/topic=orders/day=2026-11-18"


@pytest.mark.parametrize("state", ["", "..", "Active", "pending/.."])
def test_a_contract_state_is_one_of_four(state: str) -> None:
    with pytest.raises(InvalidName):
        TEST.topic("orders").schema_key(state)


@pytest.mark.parametrize("file", ["", "../x", "a/b", ".hidden", "x" * 81])
def test_a_contract_file_is_a_plain_name(file: str) -> None:
    with pytest.raises(InvalidName):
        TEST.topic("orders").schema_key("archive", file)


def test_identifiers_and_literals_are_quoted() -> None:
    assert quoted("a`b") == "`a``b`"
    assert quoted_table("db.t") == "`db`.`t`"
    assert literal("it's \\ ${x}") == "'it\\'s \\\\ \\u0024{x}'"


@pytest.mark.parametrize("name", ["", "${x}", "a\nb", "a\x00"])
def test_an_identifier_that_spark_would_rewrite_is_refused(name: str) -> None:
    with pytest.raises(InvalidName):
        quoted(name)


@pytest.mark.parametrize("name", ["", "9a", "A", "a b", "a" * 129])
def test_a_hostile_column_is_refused(name: str) -> None:
    with pytest.raises(InvalidName):
        valid_column(name)
