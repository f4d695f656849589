"""Where the messages are afterwards: read back from the tables and the archive."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from leanops.aws.catalog import Catalog
from leanops.core.naming import DLQ_ERRORS_TABLE, QUARANTINE_TABLE, Environment
from tests.edge.sendings import TOPICS, Sending

Key = tuple[str, str, str]


def key(sending: Sending) -> Key:
    return sending.topic, sending.message_id, sending.payload


@dataclass
class Findings:
    """Deliveries in RAW by what they hold; archived messages by the id that SQS gave."""

    raw: Counter[Key] = field(default_factory=Counter)
    archived: dict[str, str] = field(default_factory=dict)
    dead: set[str] = field(default_factory=set)
    quarantined: int = 0
    undelivered: int = 0
    oversize: int = 0

    def lost(self, sent: Mapping[str, Sending]) -> list[str]:
        """SQS ids of messages that are nowhere: neither archived with their body nor in RAW often enough."""
        left = self.raw.copy()
        lost = []
        for sqs_id, sending in sent.items():
            if self.archived.get(sqs_id) == sending.body:
                continue
            if left[key(sending)] > 0:
                left[key(sending)] -= 1
            else:
                lost.append(sqs_id)
        return lost

    def invented(self, sent: Mapping[str, Sending]) -> list[Key]:
        """What is in RAW though nobody sent it so."""
        return list(self.raw.keys() - {key(sending) for sending in sent.values()})


def find(client: Any, environment: Environment) -> Findings:
    findings = Findings()
    s3, bucket = client("s3"), environment.archive_bucket
    catalog = Catalog(environment)
    for topic in TOPICS:
        for row in catalog.rows(environment.topic(topic).raw_table, {}):
            payload = row["json_payload"]
            if row["payload_ref"] is not None:
                payload = _text(s3, bucket, row["payload_ref"].removeprefix(f"s3://{bucket}/"))
                findings.oversize += 1
            findings.raw[topic, row["message_id"], payload] += 1
    for name in _keys(s3, bucket, "dlq/"):
        document = json.loads(_text(s3, bucket, name))
        findings.archived[document["sqs_message_id"]] = document["body"]
    findings.dead = {row["sqs_message_id"] for row in catalog.rows(DLQ_ERRORS_TABLE, {})}
    findings.quarantined = len(catalog.rows(QUARANTINE_TABLE, {}))
    errors = _keys(s3, bucket, f"{environment.delivery_error_prefix}/")
    findings.undelivered = sum(_text(s3, bucket, name).count("\n") for name in errors)
    return findings


def _keys(s3: Any, bucket: str, prefix: str) -> Sequence[str]:
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    return [each["Key"] for page in pages for each in page.get("Contents", [])]


def _text(s3: Any, bucket: str, name: str) -> str:
    return str(s3.get_object(Bucket=bucket, Key=name)["Body"].read().decode())
