"""The topics as the DAG factory reads them: one file beside the DAGs, compiled from the active contracts.

Every parse and every start of a task reads it, so it holds only what a DAG is made of and is checked by plain Python.
The same contracts give the same bytes. A topic whose entry is broken is a fault of its own and hides no other.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from leanops.core.errors import InvalidName, LeanOpsError, shown
from leanops.core.naming import valid_topic

if TYPE_CHECKING:
    from leanops.core.contract import Contract

VERSION: Final = 1
# Topics share out the quarter of an hour between their runs.
INTERVAL_SECONDS: Final = 900
ENGINES: Final = frozenset({"glue", "emr_serverless", "spark_submit"})
SIZES: Final = frozenset({"small", "medium", "large"})
DESCRIPTION_CHARACTERS: Final = 300


class UnreadableRegistry(LeanOpsError):
    def __init__(self, path: Path, reason: str) -> None:
        self.path = path
        super().__init__(
            "read the topics' registry", reason, str(path), "Deploy it again, or run the DAG that compiles it."
        )


class BrokenEntry(LeanOpsError):
    def __init__(self, topic: str, reason: str) -> None:
        self.topic = topic
        super().__init__(
            "make the topic's DAG",
            reason,
            shown(topic),
            "Mend the contract, then run the DAG that compiles the registry.",
        )


@dataclass(frozen=True)
class Topic:
    name: str
    schema_version: str
    curated: bool
    engine: str
    size: str
    pool: str
    tier: int
    owner_team: str
    owner_email: str
    alert_sns: str
    alert_slack: str | None
    alert_pagerduty: str | None
    history_months: int
    offset_seconds: int
    description: str | None = None

    @property
    def offset_minutes(self) -> int:
        return self.offset_seconds // 60


@dataclass(frozen=True)
class CompiledRegistry:
    """By name, in order. `faults` are the topics that have no DAG, with the reason."""

    topics: Mapping[str, Topic] = field(default_factory=dict)
    faults: Mapping[str, BrokenEntry] = field(default_factory=dict)


def offset_seconds(topic: str) -> int:
    """The topic's place in the interval: always the same, and spread evenly."""
    return int.from_bytes(hashlib.sha256(topic.encode()).digest()[:8]) % INTERVAL_SECONDS


def compiled(contract: Contract) -> Topic:
    description = " ".join((contract.description or "").split())
    if len(description) > DESCRIPTION_CHARACTERS:
        description = description[: DESCRIPTION_CHARACTERS - 1].rstrip() + "…"
    return Topic(
        name=contract.topic,
        schema_version=contract.schema_version,
        curated=contract.is_curated,
        engine=contract.compute.engine,
        size=contract.compute.size,
        pool=contract.compute.pool,
        tier=contract.compute.tier,
        owner_team=contract.owner.team,
        owner_email=contract.owner.email,
        alert_sns=contract.alert_route.sns,
        alert_slack=contract.alert_route.slack,
        alert_pagerduty=contract.alert_route.pagerduty,
        history_months=contract.partitioning.history_months,
        offset_seconds=offset_seconds(contract.topic),
        description=description or None,
    )


def to_bytes(contracts: Iterable[Contract], faults: Mapping[str, str] | None = None) -> bytes:
    """The file's content, a line for each topic. `faults` are the topics whose contracts can't be loaded, and why:
    they are handed on, so that a person sees them where the DAG is missing."""
    topics = {topic.name: _document(topic) for topic in map(compiled, contracts)}
    broken = {topic: {"fault": " ".join(reason.split())} for topic, reason in (faults or {}).items()}
    # Sorted, and no time is told: a diff shows what has changed and nothing else.
    lines = [f"  {_text(name)}: {_text(document)}" for name, document in sorted((broken | topics).items())]
    body = ",\n".join(lines)
    return f'{{\n "version": {VERSION},\n "topics": {{\n{body}\n }}\n}}\n'.encode()


def write(path: Path, content: bytes) -> bool:
    """Puts the content in the file's place, whole or not at all. False: it was there already, and is not touched."""
    with contextlib.suppress(FileNotFoundError):
        if path.read_bytes() == content:
            return False
    # Beside the file, since only within one file system a rename is atomic; with a dot, so that no parser looks at it.
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        # Scheduler, workers and triggerer may be other users than the one that writes.
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return True


def load(path: Path, only: Collection[str] | None = None) -> CompiledRegistry:
    """The registry in this file. `only` limits it to some topics: a task that starts needs its own DAG alone."""
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise UnreadableRegistry(path, "there is no such file") from error
    return loaded(content, path, only)


def loaded(content: bytes, source: Path, only: Collection[str] | None = None) -> CompiledRegistry:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UnreadableRegistry(source, f"it is no JSON ({error})") from error
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise UnreadableRegistry(source, f"its version is not {VERSION}")
    entries = document.get("topics")
    if not isinstance(entries, dict):
        raise UnreadableRegistry(source, "it lists no topics")
    topics, faults = {}, {}
    for name in sorted(entries):
        if only is not None and name not in only:
            continue
        try:
            topics[name] = _topic(name, entries[name])
        except BrokenEntry as error:
            faults[name] = error
    return CompiledRegistry(topics, faults)


def _document(topic: Topic) -> dict[str, Any]:
    return {
        "alert_route": {"pagerduty": topic.alert_pagerduty, "slack": topic.alert_slack, "sns": topic.alert_sns},
        "curated": topic.curated,
        "description": topic.description,
        "engine": topic.engine,
        "history_months": topic.history_months,
        "offset_seconds": topic.offset_seconds,
        "owner": {"email": topic.owner_email, "team": topic.owner_team},
        "pool": topic.pool,
        "schema_version": topic.schema_version,
        "size": topic.size,
        "tier": topic.tier,
    }


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(", ", ": "))


def _topic(name: str, document: Any) -> Topic:
    try:
        valid_topic(name)
    except InvalidName as error:
        raise BrokenEntry(name, error.reason) from error
    entry = _Entry(name, document)
    fault = entry.get("fault", str, None)
    if fault is not None:
        raise BrokenEntry(name, fault)
    route, owner = _Entry(name, entry.get("alert_route", dict)), _Entry(name, entry.get("owner", dict))
    return Topic(
        name=name,
        schema_version=entry.text("schema_version"),
        curated=entry.get("curated", bool),
        engine=entry.one_of("engine", ENGINES),
        size=entry.one_of("size", SIZES),
        pool=entry.text("pool"),
        tier=entry.between("tier", 1, 3),
        owner_team=owner.text("team"),
        owner_email=owner.text("email"),
        alert_sns=route.text("sns"),
        alert_slack=route.get("slack", str, None),
        alert_pagerduty=route.get("pagerduty", str, None),
        history_months=entry.between("history_months", 1, 1200),
        offset_seconds=entry.between("offset_seconds", 0, INTERVAL_SECONDS - 1),
        description=entry.get("description", str, None),
    )


_REQUIRED: Final = object()


class _Entry:
    """An object of the file, read key by key."""

    def __init__(self, topic: str, document: Any) -> None:
        self._topic = topic
        if not isinstance(document, dict):
            raise BrokenEntry(topic, f"its entry is {shown(document)}, not an object")
        self._document = document

    def get(self, key: str, kind: type, default: Any = _REQUIRED) -> Any:
        value = self._document.get(key)
        if value is None and default is not _REQUIRED:
            return default
        # Exactly this type: a bool is an int to isinstance.
        if type(value) is not kind:
            raise BrokenEntry(self._topic, f"{key} is {shown(value)}, not {kind.__name__}")
        return value

    def text(self, key: str) -> str:
        value: str = self.get(key, str)
        if not value:
            raise BrokenEntry(self._topic, f"{key} is empty")
        return value

    def one_of(self, key: str, allowed: Collection[str]) -> str:
        value: str = self.get(key, str)
        if value not in allowed:
            raise BrokenEntry(self._topic, f"{key} is {shown(value)}, not one of {', '.join(sorted(allowed))}")
        return value

    def between(self, key: str, least: int, most: int) -> int:
        value: int = self.get(key, int)
        if not least <= value <= most:
            raise BrokenEntry(self._topic, f"{key} is {value}, not between {least} and {most}")
        return value
