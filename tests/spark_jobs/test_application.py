"""Many topics in one application, from the command line to the result document."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from leanops.core.errors import LeanOpsError
from local.setup.jars import locked
from tests.conftest import ROOT
from tests.traffic import Message, load_scenario, messages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.results import Result
    from spark_jobs.tables import Lake
    from tests.spark_jobs.lakehouse import Topic

pytestmark = pytest.mark.spark


def stream(sample: str, seed: int = 5, batches: int = 1) -> list[Message]:
    return list(messages(load_scenario("everything").resized(topic=sample, messages=60, batches=batches), seed=seed))


def landed(spark: SparkSession, samples: Iterable[str], **changes: Any) -> list[Topic]:
    from tests.spark_jobs.lakehouse import Topic

    topics = [Topic.new(spark, sample, **changes) for sample in samples]
    for seed, (topic, sample) in enumerate(zip(topics, samples, strict=True)):
        topic.land(stream(sample, seed))
    return topics


class Command:
    """What a job is started with: contracts in a folder, the result in another."""

    def __init__(self, spark: SparkSession, folder: Path, topics: Sequence[Topic]) -> None:
        self.schemas = folder / "schemas"
        self.result = folder / "results" / "result.json"
        self._warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
        self._topics = topics
        for topic in topics:
            self.write_contract(topic, json.dumps(dict(topic.document)))

    def write_contract(self, topic: Topic, text: str) -> None:
        path = self.schemas / topic.names.topic / "active" / "schema.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def argv(self, *more: str) -> list[str]:
        names = ",".join(topic.names.topic for topic in self._topics)
        environment = ["--environment", "test", "--account", "123456789012", "--region", "eu-central-1"]
        places = ["--schemas", str(self.schemas), "--result", str(self.result), "--warehouse", str(self._warehouse)]
        return ["--topics", names, *environment, *places, "--catalog", "hadoop", *more]

    def document(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.result.read_text(encoding="utf-8"))
        assert [path.name for path in self.result.parent.iterdir()] == [self.result.name]
        return found


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_topic_that_fails_harms_no_other(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from spark_jobs import standardize

    unreadable, illegal, sound = landed(spark, ["events", "orders", "payments"])
    command = Command(spark, tmp_path, [unreadable, illegal, sound])
    command.write_contract(unreadable, "{")
    spark.sql(f"DELETE FROM lake.{illegal.names.raw_table} WHERE message_id IS NOT NULL")

    assert standardize.main(command.argv("--threads", "3")) == 1

    document = command.document()
    assert document["job"] == "standardize"
    outcomes = document["topics"]
    assert list(outcomes) == [topic.names.topic for topic in (unreadable, illegal, sound)]
    contract, range_, published = outcomes.values()
    assert (contract["ok"], contract["error"]["type"]) == (False, "InvalidContract")
    assert contract["error"]["line"].startswith("Cannot load contract, 1 fault: ")
    assert (range_["ok"], range_["error"]["type"]) == (False, "UnreadableRange")
    assert range_["error"]["next_step"] == "RAW takes appends and compaction only; rebuild the topic from RAW."
    assert published["ok"]
    (result,) = published["results"]
    assert (result["topic"], result["layer"], result["status"]) == (sound.names.topic, "standardized", "published")
    assert result["counts"]["raw"] == 60
    assert len(sound.standardized()) == result["counts"]["accepted"]

    log = lines(capsys.readouterr().err)
    assert all({"time", "level", "message"} <= line.keys() for line in log)
    told = [line for line in log if line.get("topic") == sound.names.topic]
    assert any(line.get("batch") == result["batch"] and "published snapshot" in line["message"] for line in told)
    failed = {line["topic"]: line for line in log if line["level"] == "ERROR"}
    assert failed.keys() == {unreadable.names.topic, illegal.names.topic}
    assert "trace" not in failed[illegal.names.topic]
    assert log[-1]["message"].startswith("1 of 3 topics ok; failed: ")


def test_four_threads_make_the_tables_that_one_makes(spark: SparkSession) -> None:
    from spark_jobs.application import run
    from tests.spark_jobs.lakehouse import PII_KEY

    samples = ["events", "orders", "payments", "events"]

    def taken(threads: int) -> list[Topic]:
        from spark_jobs.curation import curate
        from spark_jobs.standardization import standardize

        topics = landed(spark, samples)
        by_name = {topic.names.topic: topic for topic in topics}

        def job(lake: Lake, name: str) -> list[Result]:
            topic = by_name[name]
            first = standardize(lake, topic.names, topic.contract)
            return [first, curate(lake, topic.names, topic.contract, PII_KEY)]

        outcomes = run(list(by_name), job, spark, threads)
        assert all(outcome.ok for outcome in outcomes.values()), outcomes
        return topics

    together, in_turn = taken(4), taken(1)
    assert [topic.state() for topic in together] == [topic.state() for topic in in_turn]
    assert all(topic.curated() for topic in together)


def test_curated_needs_the_key_that_its_contract_needs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import curate
    from tests.spark_jobs.lakehouse import PII_KEY, Topic

    (topic,) = landed(spark, ["events"])
    uncurated = Topic.new(spark, "orders")
    command = Command(spark, tmp_path, [topic, uncurated])
    plain = {key: value for key, value in uncurated.document.items() if key not in {"payload_columns", "rules"}}
    command.write_contract(uncurated, json.dumps(plain))
    topic.standardize()

    monkeypatch.delenv("LEANOPS_PII_KEY", raising=False)
    assert curate.main(command.argv()) == 1
    outcome, nothing = command.document()["topics"].values()
    assert outcome["error"]["type"] == "MissingPiiKey"
    assert outcome["error"]["next_step"] == "Give --pii-secret NAME, or the key in LEANOPS_PII_KEY."
    assert [result["status"] for result in nothing["results"]] == ["nothing"]

    monkeypatch.setenv("LEANOPS_PII_KEY", PII_KEY.decode())
    assert curate.main(command.argv()) == 0
    outcome, nothing = command.document()["topics"].values()
    assert [result["status"] for result in outcome["results"]] == ["published"]
    twin = landed(spark, ["events"])[0]
    twin.run()
    assert topic.state() == twin.state()


def test_a_batch_and_a_period_are_done_again(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import reprocess
    from tests.spark_jobs.lakehouse import PII_KEY, Topic

    monkeypatch.setenv("LEANOPS_PII_KEY", PII_KEY.decode())
    topic = Topic.new(spark, "events")
    results = topic.take(stream("events", batches=2))
    before = topic.state()
    command = Command(spark, tmp_path, [topic])

    assert reprocess.main(command.argv("--batch", str(results[0][0].batch))) == 0
    (outcome,) = command.document()["topics"].values()
    assert [result["layer"] for result in outcome["results"]] == ["standardized", "curated"]
    assert topic.state() == before

    period = before["curated"][0]["period_reference"]
    assert reprocess.main(command.argv("--period", period)) == 0
    (outcome,) = command.document()["topics"].values()
    assert [(result["layer"], result["status"]) for result in outcome["results"]] == [("curated", "published")]
    assert topic.state() == before

    assert reprocess.main(command.argv("--batch", "999999")) == 1
    (outcome,) = command.document()["topics"].values()
    assert outcome["error"]["type"] == "UnreadableRange"


def test_standardize_takes_what_it_is_told_to(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs import standardize
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark, "orders")
    for _, group in groupby(stream("orders", batches=3), key=lambda message: message.batch):
        topic.land(group)
    command = Command(spark, tmp_path, [topic])
    history = spark.table(f"lake.{topic.names.raw_table}.history").orderBy("made_current_at").collect()
    upto = history[-2]["snapshot_id"]
    assert standardize.main(command.argv("--upto", str(upto))) == 0
    (outcome,) = command.document()["topics"].values()
    assert outcome["results"][0]["source_snapshot"] == upto
    assert standardize.main(command.argv("--most-rows", "1")) == 0
    (outcome,) = command.document()["topics"].values()
    assert outcome["results"][0]["source_snapshot"] == history[-1]["snapshot_id"]
    assert standardize.main(command.argv()) == 0
    (outcome,) = command.document()["topics"].values()
    assert outcome["results"][0]["status"] == "covered"


def test_a_contract_in_the_wrong_place_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    from spark_jobs import standardize
    from tests.spark_jobs.lakehouse import Topic

    first, second = Topic.new(spark), Topic.new(spark)
    command = Command(spark, tmp_path, [first])
    command.write_contract(first, json.dumps(dict(second.document)))
    assert standardize.main(command.argv()) == 1
    (outcome,) = command.document()["topics"].values()
    assert f"it is the contract of {second.names.topic}: " in outcome["error"]["message"]
    assert outcome["error"]["next_step"] == f"Put the contract of {first.names.topic} there."


def test_each_topic_has_its_own_session_settings_and_job_names(spark: SparkSession) -> None:
    from spark_jobs.application import run

    names = [f"topic_{number}" for number in range(6)]
    seen: dict[str, tuple[str | None, str | None, str]] = {}
    sessions = set()

    def job(lake: Lake, name: str) -> list[Result]:
        log = logging.getLogger("spark_jobs.standardization")
        log.warning("%s, batch 7: reading", name)
        lake.spark.sql("SELECT 1").createOrReplaceTempView("same_name")
        lake.spark.sql(f"SET of.topic = {name}")
        context = lake.spark.sparkContext
        sessions.add(lake.spark._jsparkSession.hashCode())
        seen[name] = (
            context.getLocalProperty("spark.jobGroup.id"),
            context.getLocalProperty("spark.job.description"),
            lake.spark.conf.get("of.topic"),
        )
        return []

    outcomes = run(names, job, spark, 3)
    assert list(outcomes) == names
    assert all(outcome.ok for outcome in outcomes.values()), outcomes
    assert seen == {name: (name, f"{name}, batch 7: reading", name) for name in names}
    assert len(sessions) == len(names)
    assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
    assert not spark.catalog.tableExists("same_name")


def test_whatever_ends_a_topic_becomes_its_outcome(spark: SparkSession) -> None:
    from spark_jobs.application import run

    def job(lake: Lake, name: str) -> list[Result]:
        match name:
            case "java":
                lake.spark.sql("SELECT raise_error('it is\nbroken')").collect()
            case "worker":
                lake.spark.range(1).mapInPandas(_broken, "id long").collect()
            case "analysis":
                lake.spark.table("lake.nowhere.nothing")
            case "typed":
                raise LeanOpsError("close batch", "it leaks", "7", "Mend it.")
            case "exit":
                sys.exit(3)
        return []

    outcomes = run(["java", "worker", "analysis", "typed", "exit", "sound"], job, spark, 2)
    errors = {name: outcome.error for name, outcome in outcomes.items() if outcome.error}
    assert list(errors) == ["java", "worker", "analysis", "typed", "exit"]
    assert outcomes["sound"].as_document() == {"ok": True, "results": []}
    assert "it is" in errors["java"].message
    assert not errors["java"].line.startswith("An error occurred")
    assert errors["worker"].line == "ValueError: a worker's word"
    assert "TABLE_OR_VIEW_NOT_FOUND" in errors["analysis"].line
    typed = {"type": "LeanOpsError", "message": "Cannot close batch, it leaks: 7. Mend it."}
    assert outcomes["typed"].as_document()["error"] == {**typed, "line": typed["message"], "next_step": "Mend it."}
    assert errors["exit"].type == "SystemExit"


def _broken(_: object) -> Any:
    raise ValueError("a worker's word")


def test_an_error_never_tells_the_pii_key() -> None:
    from spark_jobs.application import Failure
    from spark_jobs.logs import JsonLines

    padded = "5C" * 64
    failure = Failure.of(ValueError(f"plan: sha2(concat(0x{padded}, x))"))
    record = logging.LogRecord("spark_jobs", logging.INFO, "", 0, "plan: 0x%s", (padded,), None)
    line = JsonLines([]).format(record)
    assert not [text for text in (failure.message, failure.line, line) if padded in text]
    assert failure.message.startswith("plan: sha2(concat(")


def test_wrong_arguments_are_one_line_and_code_2(capsys: pytest.CaptureFixture[str]) -> None:
    from spark_jobs import curate, reprocess, standardize

    for module in (standardize, curate, reprocess):
        assert module.main(["--topic", "events"]) == 2
        assert capsys.readouterr().err.splitlines() == [
            f"Cannot start {module.__name__.split('.')[1]}, unknown argument: '--topic'. Use --topics."
        ]
        assert module.main(["--help"]) == 0
        assert "--warehouse" in capsys.readouterr().out


def test_a_result_is_written_even_when_spark_does_not_start(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spark_jobs import application, standardize
    from tests.spark_jobs.lakehouse import Topic

    def refused(*_: object) -> None:
        raise RuntimeError("no Java")

    monkeypatch.setattr(application, "spark_session", refused)
    command = Command(spark, tmp_path, [Topic.new(spark), Topic.new(spark)])
    assert standardize.main(command.argv()) == 1
    assert [each["error"]["line"] for each in command.document()["topics"].values()] == ["no Java"] * 2


def test_a_result_that_cannot_be_written_is_in_the_log(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from spark_jobs import standardize
    from tests.spark_jobs.lakehouse import Topic

    topic = Topic.new(spark)
    command = Command(spark, tmp_path, [topic])
    (tmp_path / "results").write_text("a file where the folder should be")
    assert standardize.main(command.argv()) == 1
    last = lines(capsys.readouterr().err)[-1]
    assert last["level"] == "ERROR"
    document = json.loads(last["message"].split("The result: ")[1])
    assert document["topics"][topic.names.topic]["ok"]


def test_the_job_runs_as_a_process_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    (topic,) = landed(spark, ["events"])
    command = Command(spark, tmp_path, [topic])
    jars = ",".join(str(jar.path) for jar in locked() if "spark-runtime" in jar.artifact)
    settings = (
        "--conf spark.ui.enabled=false --conf spark.driver.host=127.0.0.1 --conf spark.driver.bindAddress=127.0.0.1"
    )
    environment = os.environ | {
        "PYTHONPATH": f"{ROOT / 'plugins'}:{ROOT}",
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_SUBMIT_ARGS": f"--master local[1] --jars {jars} {settings} pyspark-shell",
        # The job must not depend on the machine's zone.
        "TZ": "Asia/Kolkata",
    }
    # In Spark's own processes this is the port of the JVM that runs these tests.
    environment.pop("PYSPARK_GATEWAY_PORT", None)
    process = subprocess.run(
        [sys.executable, "-m", "spark_jobs.standardize", *command.argv()],
        env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr[-3000:]
    (outcome,) = command.document()["topics"].values()
    assert outcome["results"][0]["counts"]["raw"] == 60
    twin = landed(spark, ["events"])[0]
    twin.standardize()
    assert topic.standardized() == twin.standardized()
    assert topic.parse_errors()
    told = [json.loads(line) for line in process.stderr.splitlines() if line.startswith("{")]
    assert {line.get("topic") for line in told} == {topic.names.topic, None}
