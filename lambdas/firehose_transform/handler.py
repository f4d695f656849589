"""Names the table of each record, and keeps the answer within Lambda's limit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit

from lambdas.firehose_transform.routing import routed
from lambdas.firehose_transform.tables import RawTables
from leanops.aws import settings
from leanops.core.naming import QUARANTINE_TABLE

SERVICE: Final = "firehose_transform"
# Lambda's limit is 6 MiB.
ANSWER_BYTES: Final = 6_000_000
# The letters of `{"recordId": …, "result": "ProcessingFailed"}, ` without the id.
FAILED_BYTES: Final = 52
# Those of `{"recordId": …, "result": "Ok", "data": …, "metadata": {"otfMetadata": {…}}}, ` without id, data and names.
OK_BYTES: Final = 164

logger: Final = Logger(service=SERVICE)
metrics: Final = Metrics(namespace="lean-ops", service=SERVICE)
tables: Final = RawTables(lambda: settings.client("glue"))


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    logger.append_keys(request_id=getattr(context, "aws_request_id", None))
    records = event["records"]
    # Every record can at least be answered as failed, which puts it into the stream's error prefix.
    left = ANSWER_BYTES - sum(FAILED_BYTES + len(record["recordId"]) for record in records)
    counts: Counter[str] = Counter(received=len(records))
    answers: list[dict[str, Any]] = []
    for record in records:
        record_id: str = record["recordId"]
        try:
            table, data = routed(record, tables.has)
        except Exception:
            logger.exception("A record could not be routed; it goes to the error prefix", extra={"record": record_id})
            counts["failed"] += 1
            answers.append({"recordId": record_id, "result": "ProcessingFailed"})
            continue
        cost = OK_BYTES - FAILED_BYTES + len(table) + len(data)
        if cost > left:
            counts["surplus"] += 1
            answers.append({"recordId": record_id, "result": "ProcessingFailed"})
            continue
        left -= cost
        if table == QUARANTINE_TABLE:
            counts["quarantined"] += 1
        answers.append({"recordId": record_id, "result": "Ok", "data": data, "metadata": _metadata(table)})
    _tell(counts)
    return {"records": answers}


@lru_cache(maxsize=4096)
def _metadata(table: str) -> dict[str, dict[str, str]]:
    database, _, name = table.partition(".")
    return {"otfMetadata": {"destinationDatabaseName": database, "destinationTableName": name, "operation": "insert"}}


def _tell(counts: Counter[str]) -> None:
    try:
        for name, value in counts.items():
            metrics.add_metric(name=name, unit=MetricUnit.Count, value=value)
        metrics.flush_metrics()
        if counts["surplus"] or counts["failed"]:
            logger.error(
                "Records went to the stream's error prefix; replay them from there", extra={"counts": dict(counts)}
            )
    except Exception:
        logger.exception("Counters could not be told; the records were answered")
