"""Where a table stands: its metadata file's place from the Glue catalog, and the file itself only when it is asked for.

No Iceberg library is imported: the gate asks this of every topic every quarter of an hour, and reads plain JSON.
"""

from __future__ import annotations

import gzip
import json
import logging
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from leanops.aws import settings
from leanops.core.errors import LeanOpsError, shown

LOG = logging.getLogger(__name__)
SCHEMES: Final = frozenset({"s3", "s3a", "s3n"})
GZIP: Final = b"\x1f\x8b"
TRIES: Final = 3


class UnusableTable(LeanOpsError):
    def __init__(self, table: str, reason: str, remedy: str) -> None:
        self.table = table
        super().__init__("read table", reason, table, remedy)


@dataclass(frozen=True)
class Pointer:
    """A table of the catalog and the metadata file in force."""

    table: str
    location: str


@dataclass(frozen=True)
class Metadata:
    """The content of a metadata file; `leanops.core.batches` reads it."""

    pointer: Pointer
    document: Mapping[str, Any]


class RawMetadata:
    """RAW's, and any other Iceberg table's. `calls` counts what was asked of boto3."""

    def __init__(self, glue: Any = None, s3: Any = None) -> None:
        self.calls = 0
        self._glue = glue
        self._s3 = s3

    def pointer(self, table: str) -> Pointer | None:
        """One GetTable; None where there is no such table yet."""
        glue = self._glue or settings.client("glue")
        database, _, name = table.partition(".")
        self.calls += 1
        try:
            found = glue.get_table(DatabaseName=database, Name=name)["Table"]
        except glue.exceptions.EntityNotFoundException:
            return None
        location = found.get("Parameters", {}).get("metadata_location")
        if not location:
            raise UnusableTable(table, "the catalog has it, but not as an Iceberg table", "Look who has made it.")
        return Pointer(table, location)

    def read(self, pointer: Pointer) -> Metadata:
        """One GET. A file that was swept away since the pointer was read is replaced by its successor."""
        for _ in range(TRIES):
            content = self._content(pointer)
            if content is not None:
                return Metadata(pointer, _document(pointer, content))
            moved = self.pointer(pointer.table)
            if moved is None or moved == pointer:
                break
            LOG.info("%s moved meanwhile, reading %s", pointer.table, moved.location)
            pointer = moved
        raise UnusableTable(
            pointer.table,
            f"its metadata file {pointer.location} is not there",
            "Restore the file from the bucket's versions, or point the table to the newest one that is there.",
        )

    def _content(self, pointer: Pointer) -> bytes | None:
        s3 = self._s3 or settings.client("s3")
        parts = urlsplit(pointer.location, allow_fragments=False)
        if parts.scheme not in SCHEMES or not parts.netloc:
            raise UnusableTable(pointer.table, f"{shown(pointer.location)} is no place in S3", "Look who has made it.")
        self.calls += 1
        try:
            with s3.get_object(Bucket=parts.netloc, Key=parts.path.removeprefix("/"))["Body"] as stream:
                content: bytes = stream.read()
        except s3.exceptions.NoSuchKey:
            return None
        return content


def _document(pointer: Pointer, content: bytes) -> dict[str, Any]:
    try:
        # By content and not by name: writers disagree on where `.gz` stands in it.
        text = gzip.decompress(content) if content.startswith(GZIP) else content
        document = json.loads(text)
    except (ValueError, OSError, EOFError, zlib.error, RecursionError) as error:
        reason = f"its metadata file {pointer.location} is no JSON ({error})"
        raise UnusableTable(pointer.table, reason, "Compare it with the bucket's versions.") from error
    if not isinstance(document, dict):
        raise UnusableTable(
            pointer.table,
            f"its metadata file {pointer.location} is no object",
            "Compare it with the bucket's versions.",
        )
    return document
