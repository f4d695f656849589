"""RAW → Standardized → Curated on this machine, against a plain copy of the same rows in the same run."""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.benchmarks.harness import Measure

ROOT = Path(__file__).parents[2]
LARGE, SMALL = 1_000_000, 100_000
CORRECTIONS, PERIODS = 5_000, 24
TARGETS = (500_000, 2_000_000, 8_000_000)
SERIES, SERIES_ROWS = 96, 2_000


def measures() -> Iterator[Measure]:
    yield from measured("tests.benchmarks.data_path")


def measured(module: str) -> Iterator[Measure]:
    """Spark needs an environment of its own: the work is done by a process there, which prints a measure a line."""
    python = ROOT / ".venv" / "spark" / "bin" / "python"
    folder = tempfile.mkdtemp(prefix="data_path-", dir=ROOT / "build")
    variables = {**os.environ, "JAVA_HOME": (ROOT / ".venv" / "java_home").read_text().strip()}
    command = [str(python), "-m", module, folder]
    try:
        with subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if line.startswith("= "):
                    name, value, unit, ratio_to, aim = line[2:].rstrip("\n").split("\t")
                    yield Measure(name, float(value), unit, ratio_to or None, aim or None)
        if process.returncode:
            raise RuntimeError(f"Cannot measure, the Spark process ended with {process.returncode}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def say(name: str, value: float, unit: str, ratio_to: str = "", aim: str = "") -> None:
    print(f"= {name}\t{value}\t{unit}\t{ratio_to}\t{aim}", flush=True)


class Bench:
    """In the Spark environment."""

    def __init__(self, folder: Path) -> None:
        from spark_jobs.session import CatalogSettings, spark_session
        from tests.conftest import spark_settings

        settings = spark_settings(folder) | {
            "spark.driver.memory": "6g",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
            "spark.local.dir": str(folder / "local"),
        }
        self.spark = spark_session(CatalogSettings(str(folder / "warehouse"), kind="hadoop"), "bench", settings)
        self.spark.sparkContext.setLogLevel("ERROR")

    def jobs(self) -> int:
        count: int = self.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs()
        return count

    def peak(self, command: str) -> float:
        """The largest resident size that a process of ours had so far."""
        sizes = [0]
        own = os.getpid()
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                line = (status.parent / "cmdline").read_bytes().decode(errors="replace")
                fields = dict(row.split(":", 1) for row in status.read_text().splitlines() if ":" in row)
            except OSError:
                continue
            if command in line and os.getsid(int(status.parent.name)) == os.getsid(own):
                sizes.append(int(fields.get("VmHWM", "0 kB").split()[0]))
        return max(sizes) / 1024

    def topic(self) -> Any:
        from tests.spark_jobs.lakehouse import Topic

        return Topic.new(self.spark, "events", partitioning={"history_months": 24, "buckets": 8})

    def land(self, topic: Any, stream: Any) -> None:
        """Straight from the generator by Arrow, in files of 100,000 rows."""
        import pyarrow as pa

        from tests.traffic.oracle.records import raw

        rows: list[Any] = []
        for message in stream:
            rows.append(raw(message))
            if len(rows) == 100_000:
                self._append(topic, rows, pa)
                rows = []
        if rows:
            self._append(topic, rows, pa)

    def _append(self, topic: Any, rows: list[Any], pa: Any) -> None:
        columns = [
            [row.message_id for row in rows],
            [topic.names.topic] * len(rows),
            [row.publish_time for row in rows],
            [row.ingestion_ts for row in rows],
            [row.json_payload for row in rows],
        ]
        names = ["message_id", "topic_name", "publish_time", "ingestion_ts", "json_payload"]
        frame = self.spark.createDataFrame(pa.table(dict(zip(names, columns, strict=True))).to_pandas())
        fitted = topic.lake.fitted(frame.coalesce(1), topic.names.raw_table)
        fitted.writeTo(f"lake.{topic.names.raw_table}").append()

    def copied(self, topic: Any) -> float:
        """The same RAW rows read and written to another Iceberg table."""
        start = time.monotonic()
        target = f"lake.bench.copy_{topic.names.topic}"
        topic.lake.read(topic.names.raw_table).writeTo(target).using("iceberg").create()
        return time.monotonic() - start


def throughput(bench: Bench, rows: int) -> None:
    from tests.traffic import load_scenario, messages

    topic = bench.topic()
    shares = {
        "duplicate_same_batch": 0.02, "correction": 0.08, "correction_3_months": 0.01, "invalid_json": 0.01,
        "missing_cde": 0.01, "uncastable_value": 0.01, "field_added": 0.005, "type_changed": 0.005, "rare_field": 0.0001,
    }  # fmt: skip
    scenario = replace(load_scenario("clean").resized(topic="events", messages=rows, batches=1), shares=shares)
    # A topic's first records bring its columns; what is measured is any later batch.
    bench.land(topic, messages(scenario.resized(messages=2_000), seed=9))
    topic.run()
    bench.land(topic, messages(scenario, seed=1))
    bench.copied(topic)
    bench.spark.sql(f"DROP TABLE lake.bench.copy_{topic.names.topic} PURGE")
    copy = bench.copied(topic)
    before, start = bench.jobs(), time.monotonic()
    topic.standardize()
    middle = time.monotonic()
    topic.curate()
    end, jobs = time.monotonic(), bench.jobs() - before
    say(f"copy of {rows:,} rows", copy, "s")
    say(f"standardize {rows:,} rows, times as long", (middle - start) / copy, "ratio", f"copy of {rows:,} rows")
    say(f"curate {rows:,} rows, times as long", (end - middle) / copy, "ratio", f"copy of {rows:,} rows")
    say(f"both, {rows:,} rows, times as long", (end - start) / copy, "ratio", f"copy of {rows:,} rows", "≤ 4")
    say(f"Spark jobs for {rows:,} rows", jobs, "jobs", "", "≤ 12")


def late_corrections(bench: Bench) -> None:
    """Delete and append by key over a Curated-like table of growing size, through the one commit path."""
    from pyspark.sql import functions as F

    from leanops.core import layout

    first: float | None = None
    for rows in TARGETS:
        topic = bench.topic()
        topic.lake.ensure(layout.curated(topic.names, topic.contract))
        table = topic.names.curated_table
        month = F.concat(F.lit("20"), F.lpad((F.col("id") % PERIODS / 12 + 24).cast("int"), 2, "0"), F.lit("-"),
                         F.lpad((F.col("id") % 12 + 1).cast("string"), 2, "0"))  # fmt: skip
        fresh = bench.spark.range(rows).select(
            F.format_string("evt-%010d", "id").alias("idempotency_key"),
            month.alias("period_reference"),
            F.lit("m").alias("message_id"),
            F.col("id").cast("decimal(18,2)").alias("amount"),
            F.timestamp_seconds(F.col("id")).alias("publish_time"),
        )
        lake = topic.lake
        with lake.publication(table, lake.head(table), "fill") as publication:
            publication.append(lake.fitted(fresh.repartition(2, "period_reference"), table))
            publication.publish()
        step = rows // CORRECTIONS
        picked = fresh.where((F.substring("idempotency_key", 5, 10).cast("bigint") % step) == 0).limit(CORRECTIONS)
        batch = lake.kept(picked.coalesce(2))
        batch.count()
        seconds = []
        for number in range(2):
            start = time.monotonic()
            with lake.publication(table, lake.head(table), f"correct{number}") as publication:
                publication.delete_keys(batch, None)
                publication.append(lake.fitted(batch, table))
                tip = publication.publish()
            seconds.append(time.monotonic() - start)
        first = first or seconds[1]
        aim = "≤ 1.3" if rows == TARGETS[-1] else ""
        say(
            f"{CORRECTIONS:,} late corrections into {rows:,} rows",
            seconds[1] / first,
            "ratio",
            f"into {TARGETS[0]:,}",
            aim,
        )
        touched = int(tip.get("changed-partition-count") or 1)
        say(
            f"files written per touched partition, {rows:,} rows",
            int(tip.get("added-data-files") or 0) / touched,
            "files",
            "",
            "≤ 4",
        )


def series(bench: Bench) -> None:
    from tests.traffic import load_scenario, messages

    topic = bench.topic()
    scenario = load_scenario("everything").resized(topic="events", messages=SERIES * SERIES_ROWS, batches=SERIES)
    by_batch: dict[int, list[Any]] = {}
    for message in messages(scenario, seed=2):
        by_batch.setdefault(message.batch, []).append(message)
    seconds = []
    for deliveries in by_batch.values():
        topic.land(deliveries)
        start = time.monotonic()
        topic.run()
        seconds.append(time.monotonic() - start)
    # The first ones warm the JVM up.
    early, late = sum(seconds[5:15]), sum(seconds[-10:])
    say(f"ten batches of {SERIES_ROWS:,} rows, warm", early, "s")
    say(f"last ten of {SERIES} batches, times as long", late / early, "ratio", "ten batches, warm", "≤ 1.5")


def fixed_cost(bench: Bench) -> None:
    from tests.traffic import load_scenario, messages

    topic = bench.topic()
    seconds, jobs = [], 0
    stream = messages(load_scenario("clean").resized(topic="events", messages=1200, batches=12), seed=3)
    by_batch: dict[int, list[Any]] = {}
    for message in stream:
        by_batch.setdefault(message.batch, []).append(message)
    for deliveries in by_batch.values():
        topic.land(deliveries)
        before, start = bench.jobs(), time.monotonic()
        topic.run()
        seconds.append(time.monotonic() - start)
        jobs = bench.jobs() - before
    say("a batch of 100 rows, warm session", sorted(seconds)[len(seconds) // 2], "s", "", "≤ 3")
    say("Spark jobs for 100 rows", jobs, "jobs")


def flattening() -> None:
    import json

    import pyarrow as pa

    from leanops.core.contract import load
    from spark_jobs.flattening import Flattener
    from tests.spark_jobs.lakehouse import SCHEMAS
    from tests.traffic import load_scenario, messages

    contract = load((SCHEMAS / "events" / "active" / "schema.json").read_text(encoding="utf-8"))
    bodies = [m.body for m in messages(load_scenario("clean").resized(topic="events", messages=40_000), seed=4)]
    payloads = [json.loads(body)["payload"] for body in bodies]
    start = time.process_time()
    for payload in payloads:
        json.loads(payload, parse_float=str, parse_int=str)
    bare = time.process_time() - start
    names = sorted(Flattener(contract.owners, []).flattened(pa.array(payloads[:100])).census)
    flattener = Flattener(contract.owners, names)
    best = float("inf")
    for _ in range(3):
        start = time.process_time()
        for at in range(0, len(payloads), 10_000):
            flattener.flattened(pa.array(payloads[at : at + 10_000]))
        best = min(best, time.process_time() - start)
    say("parse alone by the standard library", len(payloads) / bare / 1000, "thousand rows/s/core")
    say(
        "flatten, digits exact",
        len(payloads) / best / 1000,
        "thousand rows/s/core",
        "parse alone by the standard library",
        "≥ 80",
    )


def main(folder: str) -> None:
    flattening()
    bench = Bench(Path(folder))
    fixed_cost(bench)
    for rows in (SMALL, LARGE):
        throughput(bench, rows)
        say(f"peak memory of the JVM, {rows:,} rows", bench.peak("java"), "MB")
        say(f"peak memory of a Python worker, {rows:,} rows", bench.peak("pyspark.daemon"), "MB")
    late_corrections(bench)
    series(bench)


if __name__ == "__main__":
    main(*sys.argv[1:])
