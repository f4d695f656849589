"""`make demo`: contracts checked, traffic made, flattened and accounted for, with an independent oracle beside it."""

from __future__ import annotations

import json
import sys
from collections import Counter
from itertools import groupby
from pathlib import Path

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from leanops.core.accounting import RawDisposition
from leanops.core.contract import Contract, load
from leanops.core.errors import InvalidContract
from leanops.core.types import timestamp
from local.intake import Intake, RawRecord
from tests.traffic import Message, load_scenario, messages
from tests.traffic.oracle import Ledger, read_contract

ROOT = Path(__file__).parent.parent
MESSAGES, BATCHES, SEED = 6000, 4, 7


def main() -> int:
    console = Console(highlight=False)
    contracts = [_checked(path, console) for path in sorted(ROOT.glob("schemas/*/active/schema.json"))]
    _refused(console)
    agreements = [_told(contract, SEED + number, console) for number, contract in enumerate(contracts)]
    if all(agreements):
        console.print("\n[green]Every record has exactly one disposition, and an independent oracle agrees.[/green]")
        return 0
    console.print("\n[red]The core and the oracle differ: see the ≠ rows; docs/rules.md says which one is wrong.[/red]")
    return 1


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


def _told(contract: Contract, seed: int, console: Console) -> bool:
    """One topic's traffic, batch by batch; whether core and oracle agree."""
    scenario = load_scenario("everything").resized(topic=contract.topic, messages=MESSAGES, batches=BATCHES)
    intake = Intake(contract)
    ledger = Ledger(read_contract(ROOT / f"schemas/{contract.topic}/active/schema.json"))
    title = f"\n{contract.topic}: what became of {MESSAGES:,} messages"
    table = Table(title=title, title_justify="left", box=SIMPLE, padding=0)
    for heading in ("batch", "raw", *RawDisposition, "columns", "oracle"):
        table.add_column(heading.replace("_", "\n"), justify="right", no_wrap=True)
    agree = True
    for batch, group in groupby(messages(scenario, seed), key=lambda message: message.batch):
        deliveries = list(group)
        balance = intake.take(map(_raw, deliveries))
        expected = Counter(outcome.disposition for outcome in ledger.take(batch, deliveries))
        same = all(balance.counts.get(each, 0) == expected[each.value] for each in RawDisposition)
        agree &= same
        counts = [f"{balance.counts.get(each, 0):,}" for each in RawDisposition]
        table.add_row(str(batch), f"{balance.raw:,}", *counts, str(len(intake.columns)), "=" if same else "≠")
    console.print(table)
    reasons = ", ".join(f"{reason} {count}" for reason, count in intake.parse_errors.most_common())
    console.print(f"{len(intake.versions):,} keys in Standardized; parse errors: {reasons}")
    return agree


def _raw(message: Message) -> RawRecord:
    envelope = json.loads(message.body)
    return RawRecord(
        envelope["messageId"], timestamp(envelope["publishTime"]), message.ingestion_ts, envelope.get("payload")
    )


if __name__ == "__main__":
    sys.exit(main())
