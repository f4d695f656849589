"""Writes a scenario's message bodies as JSON lines.

python -m tests.traffic --scenario NAME --topic T --count N --seed S
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import NoReturn, TextIO

from tests.traffic import Message, Scenario, ScenarioError, load_scenario, messages, scenario_names
from tests.traffic.oracle import Ledger, read_contract

_SCHEMAS = Path(__file__).parents[2] / "schemas"


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"Cannot read command line, {message}; see --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m tests.traffic", description="Made-up traffic and the truth about it.")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    parser.add_argument("--scenario", help="name of a file in scenarios/")
    parser.add_argument("--topic", help="one topic instead of the scenario's own")
    parser.add_argument("--count", type=int, help="number of messages instead of the scenario's own")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same bytes (default 0)")
    parser.add_argument("--batches", type=int, help="number of batches instead of the scenario's own")
    parser.add_argument("--out", type=Path, help="file for the message bodies (default: standard output)")
    parser.add_argument("--truth", type=Path, help="file for what must become of each message")
    return parser


def _scenario(options: argparse.Namespace) -> Scenario:
    if options.scenario is None:
        raise ScenarioError("Cannot write traffic, no scenario given: pass --scenario NAME, or --list to see the names")
    if options.seed < 0:
        raise ScenarioError(f"Cannot seed traffic, seed is negative: {options.seed}")
    scenario = load_scenario(options.scenario).resized(options.topic, options.count, options.batches)
    if len(scenario.topics) > 1:
        names = ", ".join(scenario.topics)
        raise ScenarioError(f"Cannot write traffic, a body does not name its topic: pass --topic with one of {names}")
    return scenario


def _write(scenario: Scenario, seed: int, out: TextIO, truth: TextIO | None) -> None:
    stream = messages(scenario, seed)
    if truth is None:
        for message in stream:
            out.write(message.body + "\n")
        return
    ledger = Ledger(read_contract(_SCHEMAS / scenario.topics[0] / "active" / "schema.json"))
    for batch, group in groupby(stream, key=lambda message: message.batch):
        delivered = list(group)
        for message in delivered:
            out.write(message.body + "\n")
        for line in _truth_lines(ledger, batch, delivered):
            truth.write(line + "\n")


def _truth_lines(ledger: Ledger, batch: int, delivered: list[Message]) -> Iterable[str]:
    for outcome in ledger.take(batch, delivered):
        yield json.dumps(
            {
                "batch": batch,
                "message_id": outcome.message_id,
                "ingestion_ts": outcome.message.ingestion_ts,
                "kind": outcome.message.kind,
                "key": outcome.key,
                "disposition": outcome.disposition,
                "reason": outcome.reason,
            }
        )


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        if options.list:
            for name in scenario_names():
                print(f"{name:26}{load_scenario(name).description}")
            return 0
        scenario = _scenario(options)
        with ExitStack() as files:
            out = files.enter_context(options.out.open("w", encoding="utf-8")) if options.out else sys.stdout
            truth = files.enter_context(options.truth.open("w", encoding="utf-8")) if options.truth else None
            _write(scenario, options.seed, out, truth)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has had enough; without this, Python complains again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ScenarioError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(f"Cannot write traffic, {error.strerror}: {error.filename}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
