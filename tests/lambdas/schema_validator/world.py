"""A topic of its own on the local AWS: uploads in, the state of every store out."""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lambdas.schema_validator import handler
from lambdas.schema_validator.validation import Outcome, Validation
from leanops.aws import settings
from leanops.aws.catalog import Catalog
from leanops.aws.contracts import Contracts
from leanops.aws.registry import Registry
from leanops.core import layout
from leanops.core.naming import Environment, Names
from tests.core.contract.documents import document
from tests.emulator import Aws

Document = dict[str, Any]
# What depends on when or how often something was done.
PASSING = {"submitted_at", "decided_at", "updated_at", "discovered_at", "detected_ts", "requested_at", "at", "revision"}


def prepare(aws: Aws, environment: Environment) -> None:
    """What Terraform would have made for the function."""
    s3 = aws.client("s3")
    for bucket in (environment.lake_bucket, environment.schema_bucket):
        s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": environment.region})
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
    aws.client("dynamodb").create_table(
        TableName=environment.schema_registry,
        KeySchema=[{"AttributeName": "topic_name", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "topic_name", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
    )
    aws.client("sns").create_topic(Name=environment.notifications)


class World:
    def __init__(self, environment: Environment) -> None:
        self.names: Names = environment.topic(f"t{secrets.token_hex(6)}")
        self.contracts = Contracts(environment)
        self.registry = Registry(environment)
        self.catalog = Catalog(environment)
        self._s3 = settings.client("s3")
        self._digests: list[str] = []
        self.mails: list[tuple[str, str]] = []

    @property
    def topic(self) -> str:
        return self.names.topic

    def contract(self, version: str = "1.0.0", **changes: Any) -> Document:
        return document() | {"table_name": self.topic, "schema_version": version} | changes

    def upload(self, content: Document | bytes | str) -> dict[str, Any]:
        """The event that EventBridge would deliver."""
        if isinstance(content, dict):
            content = json.dumps(content)
        body = content.encode() if isinstance(content, str) else content
        self._digests.append(hashlib.sha256(body).hexdigest())
        key = self.names.schema_key("pending")
        answer = self._s3.put_object(Bucket=self.contracts.bucket, Key=key, Body=body)
        return event(self.contracts.bucket, key, answer)

    def handle(self, content: Document | bytes | str) -> dict[str, Any]:
        return self.deliver(self.upload(content))

    def deliver(self, upload: Mapping[str, Any]) -> dict[str, Any]:
        return handler.handler(upload, None)

    def validate(self) -> Outcome:
        """As the handler does it, but for the metrics, which threads can't share."""
        tell = lambda *mail: self.mails.append(mail)  # noqa: E731
        return Validation(self.names, self.contracts, self.registry, self.catalog, tell).run()

    def object(self, state: str, file: str = "schema.json") -> bytes | None:
        stored = self.contracts.read(self.names, state, file)
        return None if stored is None else stored.content

    def error(self) -> Document:
        found: Document = json.loads(self.object("failed", "error.json") or b"null")
        return found

    def archived(self) -> dict[str, bytes]:
        prefix = self.names.schema_key("archive", "x").removesuffix("x")
        listed = self._s3.list_objects_v2(Bucket=self.contracts.bucket, Prefix=prefix).get("Contents", [])
        files = [entry["Key"].removeprefix(prefix) for entry in listed]
        return {file: self.object("archive", file) or b"" for file in files}

    def rows(self, table: str, **unit: str) -> list[dict[str, Any]]:
        return self.catalog.rows(table, {"topic_name": self.topic, **unit})

    def versions(self) -> dict[str, str]:
        """Status by version."""
        return {row["schema_version"]: row["status"] for row in self.rows(layout.SCHEMA_VERSIONS.table)}

    def schema(self, table: str) -> dict[str, str]:
        found = self.catalog._found(table)
        return {} if found is None else {field.name: str(field.field_type) for field in found.schema().fields}

    def state(self) -> dict[str, Any]:
        """All that there is of the topic, but for clock times."""
        entry = self.registry.get(self.topic)
        tables = (self.names.raw_table, self.names.standardized_table, self.names.curated_table)
        history = (layout.SCHEMA_VERSIONS.table, layout.DRIFT_LOG.table, layout.TOPIC_REGISTRY.table)
        return {
            "pending": self.object("pending"),
            "active": self.object("active"),
            "failed": self.object("failed"),
            "error": _lasting(self.error()),
            "archive": self.archived(),
            "registry": _lasting(vars(entry)) if entry else None,
            "tables": {table: self.schema(table) for table in tables},
            **{table: [_lasting(row) for row in sorted(self.rows(table), key=_order)] for table in history},
        }

    def told(self) -> str:
        """The state with this topic's own names left out: to compare it with another topic's."""
        text = json.dumps(self.state(), indent=1, default=str, sort_keys=True).replace(self.topic, "TOPIC")
        for number, digest in enumerate(dict.fromkeys(self._digests)):
            text = text.replace(digest, f"DIGEST{number}").replace(digest[:16], f"DIGEST{number}")
        return text


def event(bucket: str, key: str, answer: Mapping[str, Any] | None = None) -> dict[str, Any]:
    answer = answer or {}
    return {
        "version": "0",
        "detail-type": "Object Created",
        "source": "aws.s3",
        "detail": {
            "bucket": {"name": bucket},
            "object": {
                "key": key,
                "etag": answer.get("ETag", "").strip('"'),
                "version-id": answer.get("VersionId", ""),
                "size": 1,
                "sequencer": "0",
            },
            "reason": "PutObject",
        },
    }


def _order(row: Mapping[str, Any]) -> tuple[str, ...]:
    """By what two topics' rows have in common: a digest would shuffle them."""
    return tuple(str(row.get(name)) for name in ("schema_version", "status", "level", "column_name"))


def _lasting(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _lasting(each) for name, each in value.items() if name not in PASSING}
    if isinstance(value, list):
        return [_lasting(each) for each in value]
    return str(value) if isinstance(value, datetime) else value
