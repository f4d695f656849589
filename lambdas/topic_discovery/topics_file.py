"""The topics file that Terraform reads: `{"topics": {"<topic>": {"source": …, "status": …}}}`, sorted by name.

Entries are added and their status moves on; none is removed, and what people wrote into one stays.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from leanops.aws import settings
from leanops.core.errors import LeanOpsError
from leanops.core.naming import Environment

RACES: Final = 10
DISCOVERED: Final = "discovered"
ONBOARDED: Final = "onboarded"


class UnusableTopicsFile(LeanOpsError):
    def __init__(self, key: str, reason: str) -> None:
        super().__init__(
            "write topics file", reason, key, "Mend it by hand or restore a former version; it is never overwritten."
        )


def merged(document: Mapping[str, Any], topics: Mapping[str, str], onboarded: frozenset[str]) -> dict[str, Any]:
    """The document with an entry for each topic (topic → source); of former entries only the status changes."""
    entries: dict[str, dict[str, Any]] = {topic: dict(entry) for topic, entry in document.get("topics", {}).items()}
    for topic, source in topics.items():
        entry = entries.setdefault(topic, {"source": source, "status": DISCOVERED})
        entry.setdefault("source", source)
    for topic, entry in entries.items():
        if topic in onboarded and entry.get("status", DISCOVERED) == DISCOVERED:
            entry["status"] = ONBOARDED
    return {**document, "topics": dict(sorted(entries.items()))}


def rendered(document: Mapping[str, Any]) -> bytes:
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


class TopicsFile:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.bucket, self.key = environment.schema_bucket, environment.topics_file
        self._s3 = client or settings.client("s3")

    def add(self, topics: Mapping[str, str], onboarded: frozenset[str]) -> list[str]:
        """The topics that had no entry. Written on condition that nobody else wrote since it was read."""
        for _ in range(RACES):
            content, document, condition = self._read()
            new = merged(document, topics, onboarded)
            added = sorted(new["topics"].keys() - document.get("topics", {}).keys())
            if rendered(new) == content or (content is None and not added):
                return []
            if self._put(rendered(new), condition):
                return added
        raise UnusableTopicsFile(self.key, "others wrote it at each attempt")

    def _read(self) -> tuple[bytes | None, dict[str, Any], dict[str, str]]:
        try:
            found = self._s3.get_object(Bucket=self.bucket, Key=self.key)
        except self._s3.exceptions.NoSuchKey:
            return None, {"topics": {}}, {"IfNoneMatch": "*"}
        with found["Body"] as stream:
            content: bytes = stream.read()
        try:
            document = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise UnusableTopicsFile(self.key, "it is not JSON") from error
        topics = document.get("topics") if isinstance(document, dict) else None
        if not isinstance(topics, dict) or not all(isinstance(entry, dict) for entry in topics.values()):
            raise UnusableTopicsFile(self.key, "it has no map `topics` of objects")
        return content, document, {"IfMatch": found["ETag"]}

    def _put(self, content: bytes, condition: Mapping[str, str]) -> bool:
        from botocore.exceptions import ClientError

        try:
            self._s3.put_object(
                Bucket=self.bucket, Key=self.key, Body=content, ContentType="application/json", **condition
            )
        except ClientError as error:
            # 412: another one wrote; 409: is writing; 404: somebody deleted it.
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in {404, 409, 412}:
                return False
            raise
        return True
