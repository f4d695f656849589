"""An upload to schemas/<topic>/pending/schema.json, as EventBridge tells of it: judged, and in force or refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.schema_validator import notices
from lambdas.schema_validator.validation import Validation
from leanops.aws import settings
from leanops.aws.catalog import Catalog
from leanops.aws.contracts import Contracts
from leanops.aws.notifications import notify
from leanops.aws.registry import Registry
from leanops.core.errors import InvalidName
from leanops.core.naming import Environment, Names

PENDING: Final = re.compile(r"schemas/([^/]*)/pending/schema\.json", re.DOTALL)

logger = Logger(service="schema_validator")
metrics = Metrics(namespace="lean-ops", service="schema_validator")


@metrics.log_metrics  # type: ignore[untyped-decorator, unused-ignore]
def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    environment = settings.environment()

    def tell(subject: str, message: str) -> None:
        notify(environment, subject, message)

    # Before anything can go wrong: Powertools warns of a run without any metric.
    metrics.add_metric("ContractUploads", MetricUnit.Count, 1)
    bucket, key = _place(event)
    try:
        names = _names(environment, bucket, key)
    except InvalidName as error:
        # Trying again would change nothing; a person must move the upload.
        logger.error("Upload in no topic's folder", extra={"bucket": bucket, "key": key, "reason": str(error)})
        tell(*notices.misplaced(key, error.reason))
        metrics.add_metric("ContractsMisplaced", MetricUnit.Count, 1)
        return {"verdict": "misplaced"}
    validation = Validation(names, Contracts(environment), Registry(environment), Catalog(environment), tell)
    outcome = validation.run()
    name = {"active": "ContractsActivated", "failed": "ContractsRefused"}.get(outcome.verdict, "ContractsGone")
    metrics.add_metric(name, MetricUnit.Count, 1)
    logger.info(
        "Contract %s",
        outcome.verdict,
        extra={"topic": names.topic, "version": outcome.schema_version, "faults": len(outcome.faults)},
    )
    return {
        "topic": names.topic,
        "verdict": outcome.verdict,
        "schema_version": outcome.schema_version,
        "faults": len(outcome.faults),
    }


def _place(event: Mapping[str, Any]) -> tuple[object, object]:
    detail = event.get("detail") or {}
    return (detail.get("bucket") or {}).get("name"), (detail.get("object") or {}).get("key")


def _names(environment: Environment, bucket: object, key: object) -> Names:
    if bucket != environment.schema_bucket:
        raise InvalidName("bucket", bucket, "it is not the schema bucket", f"Upload to {environment.schema_bucket}.")
    match = PENDING.fullmatch(key) if isinstance(key, str) else None
    if match is None:
        raise InvalidName("key", key, "no contract is awaited there", "Use schemas/<topic>/pending/schema.json.")
    return environment.topic(match[1])
