"""The local bootstrap and Terraform make resources of the same names."""

from __future__ import annotations

import json
from pathlib import Path

from leanops.core.naming import DATABASES
from local.bootstrap.resources import FUNCTIONS, SAMPLE_ENVIRONMENT, SAMPLE_TOPICS, expected

ROOT = Path(__file__).parents[3]
NAMES = ROOT / "tests" / "terraform" / "names.json"


def test_terraform_is_held_to_the_names_of_the_bootstrap() -> None:
    written = json.loads(NAMES.read_text(encoding="utf-8"))
    remedy = "Run `python -m local.bootstrap --names > tests/terraform/names.json`, then make Terraform agree."
    assert written == expected(SAMPLE_ENVIRONMENT, SAMPLE_TOPICS), remedy


def test_every_folder_of_lambdas_is_a_function() -> None:
    folders = {path.parent.name for path in (ROOT / "lambdas").glob("*/handler.py")}
    assert folders == {function.name for function in FUNCTIONS}


def test_each_topic_adds_two_queues_and_two_mappings_and_nothing_else() -> None:
    before = expected(SAMPLE_ENVIRONMENT, ["events"])
    after = expected(SAMPLE_ENVIRONMENT, ["events", "orders"])
    added = {kind: sorted(set(after[kind]) - set(before[kind])) for kind in after}
    assert {kind: names for kind, names in added.items() if names} == {
        "queues": ["lean-ops-dev-orders"],
        "dead_letter_queues": ["lean-ops-dev-orders-dlq"],
        "event_source_mappings": [
            "lean-ops-dev-orders -> lean-ops-dev-sqs_processor",
            "lean-ops-dev-orders-dlq -> lean-ops-dev-dlq_drainer",
        ],
    }
    assert after["glue_databases"] == sorted(DATABASES)
