"""The whole deployment in one call. Repeating it changes nothing, or brings code and settings up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from leanops.core.naming import Environment
from local.bootstrap import functions, queues, stores, tables
from local.bootstrap.stores import Client


@dataclass(frozen=True)
class Options:
    """`zips` by the function's noun: a function without one is left out, with everything that would call it."""

    zips: Mapping[str, Path] = field(default_factory=dict)
    # The delivery service's endpoint: functions put records there instead of to the emulator.
    delivery: str | None = None
    # AWS advises six times the function's timeout.
    visibility_seconds: int = 360
    # Batches that one mapping has in flight: 2 is the least that AWS takes.
    concurrency: int = 2
    # Off: queues fill until the mappings are enabled.
    mappings_enabled: bool = True
    schedules: bool = False
    # Timeouts of functions, by noun, where they differ from AWS.
    seconds: Mapping[str, int] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def deploy(client: Client, environment: Environment, topics: Sequence[str], options: Options | None = None) -> None:
    """`client` gives a boto3 client by the service's name."""
    chosen = options or Options()
    variables = dict(chosen.variables)
    if chosen.delivery is not None:
        variables["AWS_ENDPOINT_URL_FIREHOSE"] = chosen.delivery
    nouns = tuple(chosen.zips)
    stores.make_buckets(client, environment)
    stores.make_state_tables(client, environment)
    sns = stores.make_sns_topics(client, environment)
    stores.make_databases(client, environment)
    tables.make_shared_tables(environment)
    queues.make_queues(client, environment, topics, chosen.visibility_seconds)
    functions.make_functions(client, environment, chosen.zips, variables, chosen.seconds)
    functions.make_rules(client, environment, nouns, schedules=chosen.schedules)
    functions.make_subscription(client, environment, nouns, sns[environment.alarms])
    functions.make_mappings(
        client, environment, topics, nouns, concurrency=chosen.concurrency, enabled=chosen.mappings_enabled
    )
