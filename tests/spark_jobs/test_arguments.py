"""Arguments and places: what a job is told, and where it reads and writes. No Spark."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from leanops.core.contract import Contract, loaded
from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment
from leanops.core.period import Period
from spark_jobs.arguments import OF_JOB, Arguments, InvalidArgument, Job, parsed, usage
from spark_jobs.places import MissingPiiKey, PiiKey, Places, UnreachablePlace, checked_place
from tests.core.contract.documents import document

LEAST = {
    "topics": "events,orders",
    "environment": "dev",
    "account": "123456789012",
    "region": "eu-central-1",
    "schemas": "s3://bucket/schemas",
    "result": "/tmp/result.json",
    "warehouse": "s3://bucket/warehouse",
}
GLUE = [
    "--enable-metrics", "--job-bookmark-option", "job-bookmark-disable", "--JOB_ID", "j_1", "--JOB_RUN_ID", "jr_1",
    "--JOB_NAME", "lean-ops-dev-standardize", "--TempDir", "s3://bucket/tmp/", "--enable-glue-datacatalog", "true",
    "--datalake-formats", "iceberg", "--extra-py-files=s3://bucket/x.whl", "--conf", "spark.a=b --conf spark.c=d",
    "--additional-python-modules", "msgspec==0.21.1", "--customer-driver-env-vars", "CUSTOMER_A=b", "--job-language",
    "python", "--continuous-log-logGroup", "/x", "--SECURITY_CONFIGURATION", "none", "--endpoint", "https://internal",
]  # fmt: skip


def argv(**changes: str | None) -> list[str]:
    given = LEAST | {key.replace("_", "-"): value for key, value in changes.items()}
    return [token for key, value in given.items() if value is not None for token in (f"--{key}", value)]


def message(job: Job, arguments: list[str]) -> str:
    with pytest.raises(LeanOpsError) as caught:
        parsed(job, arguments, {})
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_the_least_that_is_needed() -> None:
    assert parsed("standardize", argv(), {}) == Arguments(
        Environment("dev", "123456789012", "eu-central-1"),
        ("events", "orders"),
        "s3://bucket/schemas",
        "/tmp/result.json",
        "s3://bucket/warehouse",
    )


def test_everything_that_can_be_said() -> None:
    more = {"catalog": "hadoop", "endpoint": "http://127.0.0.1:4566", "pii_secret": "pii", "threads": "2"}
    found = parsed("standardize", argv(topics="events", upto="9007199254740993", most_rows="100", **more), {})
    assert (found.catalog, found.endpoint, found.pii_secret, found.threads) == (*list(more.values())[:3], 2)
    assert (found.upto, found.most_rows) == (9007199254740993, 100)
    assert parsed("reprocess", argv(topics="events", batch="0"), {}).batch == 0
    assert parsed("reprocess", argv(period="2026-02"), {}).period == Period(2026, 2)
    assert parsed("reconcile", argv(topics="events", batch="7"), {}).batch == 7
    assert [parsed("curate", argv(reconcile=told), {}).reconcile for told in ("true", "false", None)] == [
        True,
        False,
        False,
    ]


def test_glue_says_the_same_with_keys_of_its_own_between() -> None:
    assert (
        parsed("curate", [*GLUE, *argv()], {}) == parsed("curate", [*argv(), *GLUE], {}) == parsed("curate", argv(), {})
    )


def test_an_equals_sign_serves_as_well() -> None:
    assert parsed("curate", [f"--{key}={value}" for key, value in LEAST.items()], {}) == parsed("curate", argv(), {})


def test_the_endpoint_may_come_from_the_environment() -> None:
    variables = {"AWS_ENDPOINT_URL": "http://127.0.0.1:1"}
    assert parsed("curate", argv(), variables).endpoint == "http://127.0.0.1:1"
    assert parsed("curate", argv(endpoint="http://127.0.0.1:2"), variables).endpoint == "http://127.0.0.1:2"
    assert parsed("curate", [*GLUE, *argv()], variables).endpoint == "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("topic", "topics"),
        ("enviroment", "environment"),
        ("most_rows", "most-rows"),
        ("Result", "result"),
        ("pii-key", "pii-secret"),
    ],
)
@pytest.mark.parametrize("others", [[], GLUE])
def test_a_misspelt_key_is_refused_with_the_nearest_right_one(wrong: str, right: str, others: list[str]) -> None:
    text = message("standardize", [*others, *argv(), f"--{wrong}", "x"])
    assert text == f"Cannot start standardize, unknown argument: '--{wrong}'. Use --{right}."


@pytest.mark.parametrize(
    ("job", "arguments", "text"),
    [
        ("curate", ["--zzz", "1", *argv()], "Cannot start curate, unknown argument: '--zzz'. Use one of --account, "),
        ("curate", argv(schemas=None, result=None), "Cannot start curate, arguments are missing: --schemas, --result. Give them all."),
        ("curate", [*argv(), "--topics", "x"], "Cannot start curate, argument is given twice: --topics. Give it once."),
        ("curate", [*argv(), "--threads"], "Cannot start curate, argument has no value: --threads. Give --threads VALUE."),
        ("curate", ["standardize", *argv()], "Cannot start curate, no key before a value: 'standardize'. Write --key value."),
        ("curate", argv(upto="1"), "Cannot start curate, argument belongs to standardize: --upto. Leave it out."),
        ("standardize", argv(period="2026-01"), "Cannot start standardize, argument belongs to reprocess: --period. Leave it out."),
        ("standardize", argv(upto="1"), "Cannot start standardize, --upto is for one topic: events, orders. Start one job per topic."),
        ("reprocess", argv(batch="1"), "Cannot start reprocess, --batch is for one topic: events, orders. Start one job per topic."),
        ("reprocess", argv(), "Cannot start reprocess, exactly one is needed: --batch and --period. Give a batch or a period."),
        ("reprocess", argv(topics="events", batch="1", period="2026-01"), "Cannot start reprocess, exactly one is needed: "),
        ("curate", argv(batch="1"), "Cannot start curate, argument belongs to reprocess and reconcile: --batch. Leave it out."),
        ("curate", argv(reconcile="yes"), "Cannot start curate, --reconcile is neither true nor false: 'yes'. Give one of them."),
        ("reconcile", argv(batch="1"), "Cannot start reconcile, --batch is for one topic: events, orders. Start one job per topic."),
        ("reprocess", argv(period="2026-13"), "Cannot read period, it is not YYYY-MM: '2026-13'. "),
        ("curate", argv(topics="events,,orders"), "Cannot use topic, it is empty: ''. "),
        ("curate", argv(topics="events,Orders"), "Cannot use topic, it does not match "),
        ("curate", argv(topics="a,b,a"), "Cannot start curate, topics are given twice: a. Name each topic once."),
        ("curate", argv(account="12"), "Cannot use account, it does not match "),
        ("curate", argv(catalog="hive"), "Cannot start curate, no such catalog: 'hive'. Use --catalog glue or hadoop."),
        ("curate", argv(threads="0"), "Cannot start curate, --threads is no whole number from 1 to 64: '0'. Give such a number as --threads."),
        ("standardize", argv(most_rows="1e6"), "Cannot start standardize, --most-rows is no whole number from 1 to "),
        ("standardize", argv(topics="events", upto="²"), "Cannot start standardize, --upto is no whole number from 0 to "),
        ("curate", argv(result="gs://bucket/x"), "Cannot use place, it is neither a path nor an s3:// URL: 'gs://bucket/x'. "),
        ("curate", argv(result="s3://Bad_Bucket/x"), "Cannot use place, it is neither a path nor an s3:// URL: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(job: Job, arguments: list[str], text: str) -> None:
    assert message(job, arguments).startswith(text)


def test_help_names_every_argument_of_the_job() -> None:
    for job, keys in OF_JOB.items():
        assert all(f"--{key} " in usage(job) for key in [*LEAST, *keys, "catalog", "endpoint", "pii-secret", "threads"])
    assert "--upto" not in usage("curate")


def test_an_invalid_argument_knows_its_job() -> None:
    with pytest.raises(InvalidArgument) as caught:
        parsed("curate", [], {})
    assert caught.value.job == "curate"


def test_a_local_text_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = str(tmp_path / "new" / "result.json")
    Places().write_text(place, "eins – ü")
    Places().write_text(place, "zwei – ü")
    assert Places().read_text(place) == "zwei – ü"

    def refused(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refused)
    with pytest.raises(
        UnreachablePlace, match=r"^Cannot write, \[Errno 28\] No space left on device: '.*result.json'\. "
    ):
        Places().write_text(place, "drei")
    assert Places().read_text(place) == "zwei – ü"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["result.json"]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreachablePlace, match=r"^Cannot read, .*No such file.*none.json'\. Check that it exists"):
        Places().read_text(str(tmp_path / "none.json"))
    (tmp_path / "latin").write_bytes(b"\xfc")
    with pytest.raises(UnreachablePlace, match="it is not UTF-8"):
        Places().read_text(str(tmp_path / "latin"))
    with pytest.raises(UnreachablePlace, match="it names no object: 's3://bucket'"):
        Places().read_text("s3://bucket")


class FakeAws:
    """boto3's clients for S3 and Secrets Manager, in memory."""

    def __init__(self, **secrets: dict[str, Any]) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.secrets = secrets
        self.fetched: list[str] = []

    def put_object(self, Bucket: str, Key: str, Body: bytes) -> None:  # noqa: N803
        self.objects[Bucket, Key] = Body

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        return {"Body": io.BytesIO(self.objects[Bucket, Key])}

    def get_secret_value(self, SecretId: str) -> dict[str, Any]:  # noqa: N803
        self.fetched.append(SecretId)
        return self.secrets[SecretId]


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    fake = FakeAws(
        text={"SecretString": "schlüssel"}, binary={"SecretBinary": b"\x00\xff"}, blank={"SecretString": " \n"}
    )
    monkeypatch.setattr(Places, "client", lambda *_: fake)
    return fake


def test_a_text_in_s3_is_one_object(aws: FakeAws) -> None:
    Places().write_text("s3://bucket/a b/c.json", "ü")
    assert aws.objects == {("bucket", "a b/c.json"): "ü".encode()}
    assert Places().read_text("s3://bucket/a b/c.json") == "ü"
    with pytest.raises(UnreachablePlace, match="Cannot read"):
        Places().read_text("s3://bucket/other")


def test_the_client_goes_to_the_endpoint_and_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:7")
    assert Places("eu-west-1").client("s3").meta.endpoint_url == "http://127.0.0.1:7"
    client = Places("eu-west-1", "http://127.0.0.1:9").client("s3")
    assert (client.meta.endpoint_url, client.meta.region_name) == ("http://127.0.0.1:9", "eu-west-1")


def contract(*treatments: str) -> Contract:
    columns = [
        {
            "name": f"c{n}",
            "json_path": f"$.c{n}",
            "type": "STRING",
            "pii": {"treatment": t} | ({"keep": 2} if t == "truncate" else {}),
        }
        for n, t in enumerate(treatments)
    ]
    plain = {"name": "plain", "json_path": "$.plain", "type": "STRING"}
    return loaded(document() | {"payload_columns": [plain, *columns], "rules": []})


@pytest.mark.parametrize("treatment", ["hash", "tokenise"])
def test_the_pii_key_comes_from_the_secret_or_the_variable(treatment: str, aws: FakeAws) -> None:
    needing = contract(treatment)
    variables = {"LEANOPS_PII_KEY": "k"}
    assert PiiKey(Places(), None, variables).for_contract(needing) == b"k"
    assert PiiKey(Places(), "text", variables).for_contract(needing) == "schlüssel".encode()
    key = PiiKey(Places(), "binary", variables)
    assert [key.for_contract(needing) for _ in range(3)] == [b"\x00\xff"] * 3
    assert aws.fetched == ["text", "binary"]


def test_who_needs_no_key_gets_none(aws: FakeAws) -> None:
    key = PiiKey(Places(), "no such secret", {})
    uncurated = document()
    del uncurated["payload_columns"], uncurated["rules"]
    assert key.for_contract(contract("truncate", "drop")) == b""
    assert key.for_contract(loaded(uncurated)) == b""
    assert aws.fetched == []


def test_a_key_that_is_needed_and_missing_is_an_error(aws: FakeAws) -> None:
    remedy = "Give --pii-secret NAME, or the key in LEANOPS_PII_KEY."
    with pytest.raises(MissingPiiKey) as caught:
        PiiKey(Places(), None, {}).for_contract(contract("hash"))
    assert str(caught.value) == f"Cannot treat personal data, there is no key: LEANOPS_PII_KEY. {remedy}"
    with pytest.raises(MissingPiiKey, match="secret 'blank'"):
        PiiKey(Places(), "blank", {"LEANOPS_PII_KEY": "not this"}).for_contract(contract("hash"))
    with pytest.raises(UnreachablePlace, match="secret 'none'"):
        PiiKey(Places(), "none", {}).for_contract(contract("hash"))


def test_a_plain_path_is_a_place() -> None:
    for place in ("/a/b", "relative", "s3://bucket", "s3://bucket/key"):
        assert checked_place(place) == place
