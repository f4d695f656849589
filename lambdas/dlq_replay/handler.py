"""Replays archived dead letters: `{"topic", "from", "to", "requested_by"}`, and if wanted `reason`, `ids`, `rate`,
`dry_run`, `again` (those that another replay has sent, too) and `replay_id`.

Safe to repeat. Where the time does not suffice, `complete` is false; the same request with the returned `continuation`
goes on from there, and without it looks at all of them again, failed ones included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.dlq_replay.replay import Replay, logger
from lambdas.dlq_replay.request import Request
from leanops.aws import settings

metrics = Metrics(namespace="lean-ops", service="dlq_replay")


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    request = Request.of(event)
    replay = Replay(settings.environment(), request, lambda: context.get_remaining_time_in_millis() / 1000)
    outcome = replay.run()
    answer = {
        "replay_id": request.replay_id,
        "topic": request.topic,
        "dry_run": request.dry_run,
        "selected": outcome.reasons.total(),
        "reasons": dict(outcome.reasons),
        "sent": outcome.sent,
        "would_send": outcome.would_send,
        "already_sent": outcome.already_sent,
        "in_flight": outcome.in_flight,
        "failed": outcome.failed,
        "problems": outcome.problems,
        "complete": outcome.complete,
        "continuation": outcome.continuation,
    }
    metrics.add_metric("DeadLettersReplayed", MetricUnit.Count, outcome.sent)
    metrics.add_metric("DeadLettersNotReplayed", MetricUnit.Count, outcome.failed)
    metrics.flush_metrics()
    logger.info("Replay ended", extra=answer | {"requested_by": request.requested_by})
    return answer
