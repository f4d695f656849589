"""Contracts in the schema bucket. What replaces something is put on condition, so that a racer sees that it lost."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from leanops.aws import moments, settings
from leanops.core.naming import Environment, Names

# A thousand columns with a paragraph each stay below it.
MOST_BYTES: Final = 1024 * 1024
CONTENT_TYPE: Final = "application/json; charset=utf-8"
# Not as it was expected, not there any more, or being written by somebody else at this moment.
LOST: Final = frozenset({404, 409, 412})


@dataclass(frozen=True)
class Stored:
    """An object of the bucket: its first MOST_BYTES + 1 bytes, and what it says of itself."""

    key: str
    content: bytes
    etag: str
    modified: datetime
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.content).hexdigest()

    @property
    def is_too_large(self) -> bool:
        return len(self.content) > MOST_BYTES

    @property
    def text(self) -> str:
        """For people; whoever reads the contract checks the bytes."""
        return self.content.decode("utf-8", "replace")

    @property
    def submitted_at(self) -> str:
        return self.notes.get("submitted-at") or moments.text(self.modified)

    @property
    def decided_at(self) -> str:
        return self.notes.get("decided-at") or moments.text(self.modified)

    @property
    def former(self) -> str | None:
        """The file in archive/ of the contract that this one replaced."""
        return self.notes.get("former")


class Contracts:
    def __init__(self, environment: Environment, client: Any = None) -> None:
        self.bucket = environment.schema_bucket
        self._s3 = client or settings.client("s3")

    def read(self, names: Names, state: str, file: str = "schema.json") -> Stored | None:
        key = names.schema_key(state, file)
        try:
            answer = self._s3.get_object(Bucket=self.bucket, Key=key)
        except self._s3.exceptions.NoSuchKey:
            return None
        with answer["Body"] as stream:
            content = stream.read(MOST_BYTES + 1)
        return Stored(key, content, answer["ETag"], answer["LastModified"], answer.get("Metadata", {}))

    def put_active(self, names: Names, content: bytes, former: Stored | None, notes: Mapping[str, str]) -> bool:
        """The new contract in place of the very one that was read. False: another one is active by now."""
        return self._put(names.schema_key("active"), content, notes, former)

    def archive(self, names: Names, stored: Stored, file: str) -> None:
        """The file's name holds the content's digest: whoever was here before has put the same."""
        self._put(names.schema_key("archive", file), stored.content, stored.notes, None)

    def put_failed(self, names: Names, content: bytes, notes: Mapping[str, str]) -> None:
        self._s3.put_object(
            Bucket=self.bucket,
            Key=names.schema_key("failed"),
            Body=content,
            Metadata=dict(notes),
            ContentType=CONTENT_TYPE,
        )

    def put_error(self, names: Names, document: Mapping[str, Any], former: Stored | None) -> bool:
        content = json.dumps(document, indent=2, ensure_ascii=False).encode("utf-8", "replace")
        return self._put(names.schema_key("failed", "error.json"), content, {}, former)

    def remove_pending(self, names: Names, stored: Stored) -> bool:
        """False: another upload lies there by now, and stays."""
        from botocore.exceptions import ClientError

        try:
            self._s3.delete_object(Bucket=self.bucket, Key=stored.key, IfMatch=stored.etag)
        except ClientError as error:
            if (status := error.response["ResponseMetadata"]["HTTPStatusCode"]) not in LOST:
                raise
            # Gone is gone, whoever took it away.
            return bool(status == 404)
        return True

    def _put(self, key: str, content: bytes, notes: Mapping[str, str], former: Stored | None) -> bool:
        from botocore.exceptions import ClientError

        condition = {"IfNoneMatch": "*"} if former is None else {"IfMatch": former.etag}
        try:
            self._s3.put_object(
                Bucket=self.bucket,
                Key=key,
                Body=content,
                Metadata=dict(notes),
                ContentType=CONTENT_TYPE,
                **condition,
            )
        except ClientError as error:
            if error.response["ResponseMetadata"]["HTTPStatusCode"] in LOST:
                return False
            raise
        return True
