"""Text in local files and in S3, and the PII key."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar
from uuid import uuid4

from leanops.core.contract import Contract
from leanops.core.errors import LeanOpsError, shown

S3: Final = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:/(?P<key>.*))?", re.DOTALL)
SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
PII_VARIABLE: Final = "LEANOPS_PII_KEY"
KEYED_TREATMENTS: Final = frozenset({"hash", "tokenise"})
T = TypeVar("T")


class UnreachablePlace(LeanOpsError):
    """A file or object that cannot be read or written."""


class MissingPiiKey(LeanOpsError):
    """A contract hashes or tokenises, and there is no key to do it with."""


def checked_place(place: str) -> str:
    if SCHEME.match(place) and not S3.fullmatch(place):
        raise UnreachablePlace("use place", "it is neither a path nor an s3:// URL", shown(place), "Give one of those.")
    return place


@dataclass(frozen=True)
class Places:
    """Reads and writes whole texts. `endpoint` stands in for AWS; boto3 knows AWS_ENDPOINT_URL by itself."""

    region: str | None = None
    endpoint: str | None = None

    def read_text(self, place: str) -> str:
        def read() -> bytes:
            bucket, key = _bucket_and_key(place)
            body: bytes = self.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read()
            return body

        content = _reached("read", shown(place), read if _is_s3(place) else Path(place).read_bytes)
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UnreachablePlace("read", "it is not UTF-8", shown(place), "Save it as UTF-8.") from error

    def write_text(self, place: str, text: str) -> None:
        """Whole or not at all: S3 shows an object once it is complete, a local file comes by a rename."""
        content = text.encode("utf-8")

        def put() -> None:
            bucket, key = _bucket_and_key(place)
            self.client("s3").put_object(Bucket=bucket, Key=key, Body=content)

        _reached("write", shown(place), put if _is_s3(place) else lambda: _replace(Path(place), content))

    def client(self, service: str) -> Any:
        # Local runs need no AWS, and this import takes half a second.
        import boto3
        from botocore.config import Config

        # A stand-in has no host name per bucket.
        config = Config(s3={"addressing_style": "path"}) if self.endpoint else None
        # A session of its own: boto3's shared one must not make clients in two threads at a time.
        session = boto3.session.Session(region_name=self.region)
        return session.client(service, endpoint_url=self.endpoint, config=config)


class PiiKey:
    """The key of HMAC for personal data, fetched at its first use and once for all topics."""

    def __init__(self, places: Places, secret: str | None = None, variables: Mapping[str, str] = os.environ) -> None:
        self._places = places
        self._secret = secret
        self._variables = variables
        self._found: bytes | None = None
        self._lock = Lock()

    def for_contract(self, contract: Contract) -> bytes:
        """Empty where the contract does not need it: who sees no key cannot spill one."""
        return self._key() if needs_key(contract) else b""

    def _key(self) -> bytes:
        with self._lock:
            if self._found is None:
                self._found = self._fetched()
            return self._found

    def _fetched(self) -> bytes:
        key: bytes
        secret = self._secret
        if secret is None:
            subject, key = PII_VARIABLE, self._variables.get(PII_VARIABLE, "").encode()
        else:
            subject = f"secret {shown(secret)}"
            client = self._places.client("secretsmanager")
            answer = _reached("read", subject, lambda: client.get_secret_value(SecretId=secret))
            key = answer["SecretString"].encode() if "SecretString" in answer else answer["SecretBinary"]
        if not key.strip():
            remedy = f"Give --pii-secret NAME, or the key in {PII_VARIABLE}."
            raise MissingPiiKey("treat personal data", "there is no key", subject, remedy)
        return key


def needs_key(contract: Contract) -> bool:
    return contract.is_curated and any(
        column.pii is not None and column.pii.treatment in KEYED_TREATMENTS for column in contract.columns
    )


def _is_s3(place: str) -> bool:
    return checked_place(place).startswith("s3://")


def _bucket_and_key(place: str) -> tuple[str, str]:
    found = S3.fullmatch(place)
    if found is None or not found["key"]:
        raise UnreachablePlace("use place", "it names no object", shown(place), "Give s3://bucket/key.")
    return found["bucket"], found["key"]


def _reached(verb: str, subject: str, call: Callable[[], T]) -> T:
    try:
        return call()
    except LeanOpsError:
        raise
    except Exception as error:
        # botocore's errors and the system's share no class, and both say in a line what is wrong.
        reason = " ".join(str(error).split()) or type(error).__name__
        remedy = "Check that it exists and that the job's role may reach it."
        raise UnreachablePlace(verb, reason, subject, remedy) from error


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
