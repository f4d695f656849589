"""Lambda functions from their zips, and what calls them. May be repeated: code and settings are brought up to date."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leanops.core.naming import Environment
from local.bootstrap import queues
from local.bootstrap.resources import FUNCTIONS, Function, rules, upload_pattern
from local.bootstrap.stores import WAIT, Client


def make_functions(
    client: Client,
    environment: Environment,
    zips: Mapping[str, Path],
    variables: Mapping[str, str],
    seconds: Mapping[str, int],
) -> None:
    """Those functions that have a zip."""
    service = client("lambda")
    for function in FUNCTIONS:
        if function.name in zips:
            chosen = function._replace(seconds=seconds.get(function.name, function.seconds))
            _make_function(service, environment, chosen, zips[function.name].read_bytes(), variables)


def _make_function(
    service: Any, environment: Environment, function: Function, code: bytes, variables: Mapping[str, str]
) -> None:
    name = environment.function(function.name)
    settings = {
        "FunctionName": name,
        "Runtime": "python3.12",
        "Handler": function.handler,
        "Role": f"arn:aws:iam::{environment.account}:role/{name}",
        "Timeout": function.seconds,
        "MemorySize": function.megabytes,
        "Environment": {"Variables": {**function_variables(environment, function.name), **variables}},
    }
    try:
        service.create_function(**settings, Code={"ZipFile": code}, Architectures=["arm64"])
    except service.exceptions.ResourceConflictException:
        service.update_function_code(FunctionName=name, ZipFile=code)
        service.get_waiter("function_updated_v2").wait(FunctionName=name, WaiterConfig=WAIT)
        service.update_function_configuration(**settings)
    service.get_waiter("function_active_v2").wait(FunctionName=name, WaiterConfig=WAIT)


def function_variables(environment: Environment, noun: str) -> dict[str, str]:
    """The variables that Terraform gives to every function."""
    return {
        "LEANOPS_ENVIRONMENT": environment.name,
        "LEANOPS_ACCOUNT": environment.account,
        "LEANOPS_REGION": environment.region,
        "POWERTOOLS_SERVICE_NAME": noun,
        "POWERTOOLS_METRICS_NAMESPACE": "lean-ops",
        "POWERTOOLS_LOG_LEVEL": "INFO",
    }


def make_mappings(
    client: Client,
    environment: Environment,
    topics: Sequence[str],
    nouns: Sequence[str],
    *,
    concurrency: int,
    enabled: bool,
) -> None:
    """Every topic's queue to sqs_processor, every dead letter queue to dlq_drainer; only for functions in `nouns`."""
    service = client("lambda")
    for topic in topics:
        names = environment.topic(topic)
        for noun, queue in (("sqs_processor", names.queue), ("dlq_drainer", names.dead_letter_queue)):
            if noun in nouns:
                function, source = environment.function(noun), queues.arn(environment, queue)
                _make_mapping(service, function, source, concurrency, enabled)


def _make_mapping(service: Any, function: str, source: str, concurrency: int, enabled: bool) -> None:
    settings = {
        "FunctionName": function,
        "Enabled": enabled,
        "BatchSize": 10,
        "FunctionResponseTypes": ["ReportBatchItemFailures"],
        "ScalingConfig": {"MaximumConcurrency": concurrency},
    }
    there = service.list_event_source_mappings(EventSourceArn=source, FunctionName=function)["EventSourceMappings"]
    if there:
        service.update_event_source_mapping(UUID=there[0]["UUID"], **settings)
    else:
        service.create_event_source_mapping(EventSourceArn=source, **settings)


def make_rules(client: Client, environment: Environment, nouns: Sequence[str], *, schedules: bool) -> None:
    """Schedules are made but stay off unless asked for: nobody wants a function to run by itself in a test."""
    events = client("events")
    for rule in rules(environment):
        if rule.function not in nouns:
            continue
        if rule.schedule is None:
            pattern = json.dumps(upload_pattern(environment))
            made = events.put_rule(Name=rule.name, EventPattern=pattern, State="ENABLED")
        else:
            state = "ENABLED" if schedules else "DISABLED"
            made = events.put_rule(Name=rule.name, ScheduleExpression=rule.schedule, State=state)
        events.put_targets(Rule=rule.name, Targets=[{"Id": rule.function, "Arn": arn(environment, rule.function)}])
        _permit(client, environment, rule.function, "events.amazonaws.com", made["RuleArn"])


def make_subscription(client: Client, environment: Environment, nouns: Sequence[str], topic: str) -> None:
    """The alarms' topic, given by its ARN, to the circuit breaker."""
    if "circuit_breaker" not in nouns:
        return
    client("sns").subscribe(TopicArn=topic, Protocol="lambda", Endpoint=arn(environment, "circuit_breaker"))
    _permit(client, environment, "circuit_breaker", "sns.amazonaws.com", topic)


def _permit(client: Client, environment: Environment, noun: str, principal: str, source: str) -> None:
    service = client("lambda")
    with contextlib.suppress(service.exceptions.ResourceConflictException):
        service.add_permission(
            FunctionName=environment.function(noun),
            StatementId=principal.split(".", maxsplit=1)[0],
            Action="lambda:InvokeFunction",
            Principal=principal,
            SourceArn=source,
        )


def arn(environment: Environment, noun: str) -> str:
    return f"arn:aws:lambda:{environment.region}:{environment.account}:function:{environment.function(noun)}"
