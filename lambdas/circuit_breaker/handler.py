"""Opens a topic's breaker on its alarm (SNS); by schedule settles, probes and closes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_lambda_powertools import Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.circuit_breaker.breakers import Breakers
from leanops.aws import settings
from leanops.core.errors import LeanOpsError, shown

metrics = Metrics(namespace="lean-ops", service="circuit_breaker")


class UnreadableEvent(LeanOpsError):
    def __init__(self, event: object) -> None:
        super().__init__(
            "act", "the event is neither SNS's nor the schedule's", shown(str(event)), 'Send {"action": "probe"}.'
        )


class UnsettledBreakers(LeanOpsError):
    def __init__(self, problems: Mapping[str, str]) -> None:
        self.problems = dict(problems)
        subject = "; ".join(f"{topic}: {problem}" for topic, problem in problems.items())
        super().__init__("settle breakers", "a step failed", subject, "The next scheduled run repeats it.")


def handler(event: Any, context: Any) -> dict[str, Any]:
    breakers = Breakers(settings.environment(), lambda: context.get_remaining_time_in_millis() / 1000)
    if isinstance(event, dict) and isinstance(event.get("Records"), list):
        breakers.take_alarms(event["Records"])
    elif isinstance(event, dict) and (
        event.get("action") == "probe" or event.get("detail-type") in {"Scheduled Event", "Scheduled"}
    ):
        breakers.tick()
    else:
        raise UnreadableEvent(event)
    metrics.add_metric("BreakerTransitions", MetricUnit.Count, len(breakers.transitions))
    metrics.add_metric("BreakerProblems", MetricUnit.Count, len(breakers.problems))
    metrics.flush_metrics()
    if breakers.problems:
        raise UnsettledBreakers(breakers.problems)
    return {"transitions": breakers.transitions, "ignored": breakers.ignored}
