"""`make demo`: contracts checked, traffic made and taken by Spark through RAW, Standardized and Curated."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections import Counter
from itertools import groupby
from pathlib import Path

from pyspark.sql import SparkSession
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from leanops.core.accounting import RawDisposition
from leanops.core.contract import Contract, load
from leanops.core.errors import InvalidContract
from spark_jobs.session import CatalogSettings, spark_session
from tests.conftest import spark_settings
from tests.spark_jobs.lakehouse import Topic
from tests.traffic import load_scenario, messages
from tests.traffic.oracle import Ledger, read_contract

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "build" / "demo"
MESSAGES, BATCHES, SEED, SHOWN = 3000, 3, 7, 5


def main() -> int:
    # The widest table needs this much; a narrower terminal wraps it, which reads better than cut words.
    console = Console(highlight=False, width=max(100, shutil.get_terminal_size().columns))
    for path in sorted(ROOT.glob("schemas/*/active/schema.json")):
        _checked(path, console)
    _refused(console)
    console.print("\nStarting Spark …")
    spark = _spark()
    topic = Topic.new(spark, "payments")
    agree = _taken_in(topic, console)
    _corrections(topic, console)
    _rejections(topic, console)
    console.print(f"\nThe tables are in {FOLDER.relative_to(ROOT)}/warehouse: Iceberg, format 2.")
    spark.stop()
    if agree:
        console.print("[green]Every record has exactly one disposition, and an independent oracle agrees.[/green]")
        return 0
    console.print("[red]The tables and the oracle differ: see the ≠ rows; docs/rules.md says which one is wrong.[/red]")
    return 1


def _spark() -> SparkSession:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    catalog = CatalogSettings(str(FOLDER / "warehouse"), kind="hadoop")
    spark = spark_session(catalog, "demo", spark_settings(FOLDER))
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def _checked(path: Path, console: Console) -> Contract:
    contract = load(path.read_text(encoding="utf-8"), str(path.relative_to(ROOT)))
    pii = sum(column.pii is not None for column in contract.columns)
    console.print(
        f"[green]✓[/green] contract [bold]{contract.topic}[/bold] {contract.schema_version}: "
        f"{len(contract.columns)} columns, {sum(column.cde for column in contract.columns)} CDEs, {pii} with PII; "
        f"owner {contract.owner.team}"
    )
    return contract


def _refused(console: Console) -> None:
    """What a topic owner reads after a slip."""
    broken = json.loads((ROOT / "schemas/orders/active/schema.json").read_text(encoding="utf-8"))
    broken["payload_columns"][0]["type"] = "NUMBER"
    broken["payload_columns"][2]["default"] = "unknown"
    broken["compute"]["engine"] = "emr"
    try:
        load(json.dumps(broken), "orders, with three slips")
    except InvalidContract as error:
        console.print(f"[red]✗[/red] {error}", soft_wrap=True)


def _taken_in(topic: Topic, console: Console) -> bool:
    """The traffic, batch by batch; whether the jobs' counts and Curated's keys are the oracle's."""
    scenario = load_scenario("everything").resized(topic="payments", messages=MESSAGES, batches=BATCHES)
    ledger = Ledger(read_contract(topic.document))
    title = f"\npayments: what became of {MESSAGES:,} messages"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=0)
    for heading in ("batch", "raw", *RawDisposition, "curated", "rejected", "seconds", "oracle"):
        table.add_column(heading.replace("_", "\n"), justify="right", no_wrap=True)
    agree = True
    for batch, group in groupby(messages(scenario, SEED), key=lambda message: message.batch):
        deliveries = list(group)
        topic.land(deliveries)
        console.print(f"batch {batch}: {len(deliveries):,} records landed in RAW; standardize, curate …")
        start = time.monotonic()
        standardized, curated = topic.run()
        seconds = time.monotonic() - start
        expected = Counter(outcome.disposition for outcome in ledger.take(batch, deliveries))
        same = all(standardized.counts[each] == expected[each.value] for each in RawDisposition)
        same &= {row["idempotency_key"] for row in topic.curated()} == ledger.truth().curated.keys()
        agree &= same
        counts = [f"{standardized.counts[each]:,}" for each in RawDisposition]
        counts += [f"{curated.counts[name]:,}" for name in ("curated", "rejected")]
        table.add_row(str(batch), f"{len(deliveries):,}", *counts, f"{seconds:.0f}", "=" if same else "≠")
    console.print(table)
    return agree


def _corrections(topic: Topic, console: Console) -> None:
    rows = topic.rows(topic.names.curated_table, "period_reference <> first_period_reference")
    rows = sorted(rows, key=lambda row: row["period_reference"])[-SHOWN:]
    title = "Corrections that came in another period: one row each, wherever the original was"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=(0, 1))
    for heading in ("idempotency_key", "first_period_reference", "period_reference", "amount", "currency"):
        table.add_column(heading.replace("_", " "), no_wrap=True)
    for row in rows:
        table.add_row(*(str(row[name]) for name in ("idempotency_key", "first_period_reference", "period_reference")),
                      f"{row['amount']:,}", row["currency"])  # fmt: skip
    console.print(table)


def _rejections(topic: Topic, console: Console) -> None:
    found = Counter(
        (v["column"] or "(row)", v["rule"], v["value"]) for row in topic.errors() for v in row["violations"]
    )
    table = Table(title="Why rows were rejected, most frequent", title_justify="left", box=SIMPLE, padding=(0, 1))
    for heading in ("column", "rule", "value", "rows"):
        table.add_column(heading, no_wrap=True)
    for (column, rule, value), count in found.most_common(SHOWN):
        table.add_row(column, rule, repr(value)[:30], str(count))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
