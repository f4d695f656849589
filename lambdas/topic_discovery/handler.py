"""Lists GCP's topics by schedule and registers those that are new. Each step may be repeated, and a run that died is
made up for by the next: what it does follows from what is there, not from what was new when it looked."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.topic_discovery import pubsub
from lambdas.topic_discovery.findings import Findings, findings
from lambdas.topic_discovery.problems import ToldProblems
from lambdas.topic_discovery.sources import Sources
from lambdas.topic_discovery.topics_file import TopicsFile
from leanops.aws import moments, settings
from leanops.aws.notifications import notify
from leanops.core.errors import shown
from leanops.core.naming import Environment

LISTED: Final = 100

logger = Logger(service="topic_discovery")
metrics = Metrics(namespace="lean-ops", service="topic_discovery")


def handler(event: Any, context: Any) -> dict[str, Any]:
    environment = settings.environment()
    secret_id = os.environ.get("LEANOPS_GCP_SECRET")
    if not secret_id:
        raise settings.MissingSetting(["LEANOPS_GCP_SECRET"])
    secret = settings.client("secretsmanager").get_secret_value(SecretId=secret_id)["SecretString"]
    project, sources = pubsub.topics(
        secret, os.environ.get("LEANOPS_GCP_PROJECT"), os.environ.get("LEANOPS_PUBSUB_URL") or pubsub.URL
    )
    answer = discover(environment, project, sources, lambda: context.get_remaining_time_in_millis() / 1000)
    metrics.add_metric("TopicsListed", MetricUnit.Count, len(sources))
    metrics.add_metric("TopicsFound", MetricUnit.Count, len(answer["announced"]))
    metrics.add_metric("TopicsRefused", MetricUnit.Count, len(answer["problems"]))
    metrics.flush_metrics()
    logger.info("Discovery ended", extra=answer)
    return answer


def discover(
    environment: Environment, project: str, sources: list[str], seconds_left: Callable[[], float]
) -> dict[str, Any]:
    registry = Sources(environment)
    known = registry.known()
    found = findings(sources, {topic: each.source for topic, each in known.items() if each.source})
    for topic, source in found.topics.items():
        if topic not in known or known[topic].source is None:
            registry.register(topic, source, moments.text(moments.now()))
            logger.info("Topic registered", extra={"topic": topic, "source": source})
    onboarded = frozenset(topic for topic, each in known.items() if each.status == "READY")
    added = TopicsFile(environment).add(found.topics, onboarded)
    silent = [topic for topic in found.topics if topic not in known or known[topic].is_news]
    announced = _announce(environment, project, registry, silent, found, seconds_left)
    return {
        "project": project,
        "listed": len(sources),
        "added_to_file": added,
        "announced": announced,
        "problems": list(found.problems),
    }


def _announce(
    environment: Environment,
    project: str,
    registry: Sources,
    silent: list[str],
    found: Findings,
    seconds_left: Callable[[], float],
) -> list[str]:
    """One message with all that is new; the topics in it. Two runs at once share them out, none is told twice."""
    now = moments.now()
    until = moments.text(now + timedelta(seconds=seconds_left() + 60))
    told = ToldProblems(environment)
    mine = [topic for topic in silent if registry.claim(topic, moments.text(now), until)]
    try:
        is_news = told.is_news(found.problems)
        if mine or is_news:
            notify(environment, *_news(environment, project, mine, found, is_news))
    except Exception:
        for topic in mine:
            registry.release(topic, until)
        raise
    for topic in mine:
        registry.announced(topic, moments.text(moments.now()))
    if is_news:
        told.told(found.problems, moments.text(moments.now()))
    return mine


def _news(
    environment: Environment, project: str, new: list[str], found: Findings, with_problems: bool
) -> tuple[str, str]:
    lines = [f"Pub/Sub topics of project {project}, environment {environment.name}."]
    if new:
        lines += ["", f"{len(new)} new, registered as DISCOVERED; nothing is processed before a contract is active:"]
        for topic in new[:LISTED]:
            was = f" (renamed: {shown(found.topics[topic])})" if topic in found.renamed else ""
            lines.append(f"- {topic}{was}")
        if len(new) > LISTED:
            lines.append(f"- and {len(new) - LISTED} more, in {environment.topics_file}")
        lines.append(f"Next: copy {environment.topics_file} from the schema bucket to Terraform and apply it.")
    if with_problems:
        lines += ["", f"{len(found.problems)} names were not taken:"]
        lines += [f"- {problem}" for problem in found.problems[:LISTED]]
        if len(found.problems) > LISTED:
            lines.append(f"- and {len(found.problems) - LISTED} more, in the log")
    subject = f"[{environment.name}] {len(new)} new topics" + (
        f", {len(found.problems)} refused" if with_problems else ""
    )
    return subject, "\n".join(lines)
