"""Checkpoints of a topic's layers and the records of its runs: a fast copy for gates and lineage, never the truth.

A lost or unreadable checkpoint costs a look into the tables, no row. What is written is fenced: who writes says under
which lease (`leanops.aws.leases`), and a former holder's write does not pass a later one's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from leanops.aws import moments
from leanops.aws.alerts import notice_key
from leanops.aws.items import Item, Items, Refused, as_seen
from leanops.aws.registry import Entry, _entry
from leanops.core.errors import LeanOpsError, shown
from leanops.core.naming import Environment, Names

LOG = logging.getLogger(__name__)
Layer = Literal["standardized", "curated"]
LAYERS: Final[tuple[Layer, ...]] = ("standardized", "curated")
# Longer than a run can be cleared with use: the snapshots of its batch are expired by then.
RUN_DAYS: Final = 400


class UnreadableRun(LeanOpsError):
    def __init__(self, topic: str, run_id: str, reason: str) -> None:
        self.topic = topic
        self.run_id = run_id
        super().__init__(
            "read run record",
            reason,
            f"run_{topic}, {shown(run_id)}",
            "Compare the item in the checkpoints table with the run's gate log; delete it and clear the run.",
        )


@dataclass(frozen=True)
class Checkpoint:
    """How far a layer's table is, as the run that moved it saw it.

    `raw_metadata_location` is RAW's metadata file of which the table has taken in everything. While RAW still points to
    it there is nothing to do; None where something was left over.
    """

    layer: Layer
    batch: int
    snapshot: int | None
    records: int = 0
    raw_snapshot: int | None = None
    raw_metadata_location: str | None = None
    fencing: int = 0
    written_by: str | None = None
    updated_at: str | None = None


@dataclass(frozen=True)
class Overtaken:
    """A later batch, or a later holder of the lease, was faster. What is in force stays; None: it is unreadable."""

    in_force: Checkpoint | None


@dataclass(frozen=True)
class RunRecord:
    """The batch that a run is about: RAW's snapshots after `start` (None: from the beginning) up to `end`.

    `rows_left` is what RAW held after `end` when the batch was cut; `raw_metadata_location` the file it was cut from.
    """

    run_id: str
    number: int
    start: int | None
    end: int
    rows: int
    contract_version: str
    rows_left: int = 0
    raw_metadata_location: str | None = None
    done: bool = False
    created_at: str | None = None
    done_at: str | None = None

    @property
    def settled_location(self) -> str | None:
        """What the checkpoint may say of RAW once this batch is taken in."""
        return None if self.rows_left else self.raw_metadata_location


@dataclass(frozen=True)
class LookUp:
    """All that the gate needs of DynamoDB, from one moment. `notices` are the kinds that stand."""

    registry: Entry | None
    standardized: Checkpoint | None
    curated: Checkpoint | None
    run: RunRecord | None
    notices: frozenset[str] = frozenset()


class Checkpoints:
    def __init__(
        self,
        environment: Environment,
        client: Any = None,
        clock: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._environment = environment
        self._items = Items(environment.checkpoints, client, clock, pause)

    @property
    def calls(self) -> int:
        return self._items.calls

    # Reading

    def look_up(self, names: Names, run_id: str | None = None, notices: Sequence[str] = ()) -> LookUp:
        """Registry, both checkpoints, the run's record and whether these notices stand: one BatchGetItem."""
        keys = [_key(names, layer) for layer in LAYERS]
        keys += [] if run_id is None else [_run_key(names, run_id)]
        keys += [notice_key(names.topic, kind) for kind in dict.fromkeys(notices)]
        registry, checkpoints = self._environment.schema_registry, self._environment.checkpoints
        found = self._items.get_many({registry: [{"topic_name": names.topic}], checkpoints: keys})
        items = {(item["pipeline_id"], item["checkpoint_type"]): item for item in found[checkpoints]}

        def item(key: dict[str, str]) -> Item | None:
            return items.get((key["pipeline_id"], key["checkpoint_type"]))

        return LookUp(
            registry=next((_entry(names.topic, each) for each in found[registry]), None),
            standardized=_checkpoint("standardized", item(_key(names, "standardized"))),
            curated=_checkpoint("curated", item(_key(names, "curated"))),
            run=None if run_id is None else _run(names, run_id, item(_run_key(names, run_id))),
            # One that is claimed and not yet sent does not stand: whoever has claimed it may be dead.
            notices=frozenset(kind for kind in notices if "sent_at" in (item(notice_key(names.topic, kind)) or {})),
        )

    # Layers

    def write(
        self, names: Names, checkpoint: Checkpoint, *, by: str, fencing: int, force: bool = False
    ) -> Checkpoint | Overtaken:
        """The checkpoint becomes this one, unless it is at a later batch or a later holder of the lease has written it.

        `force` lets it move back to an earlier batch, for a table that was rolled back; the lease counts nevertheless.
        A repeated write passes its own condition, so a lost answer needs no care.
        """
        condition = "(attribute_not_exists(#fencing) OR #fencing <= :fencing)"
        if not force:
            condition += " AND (attribute_not_exists(#batch) OR #batch <= :batch)"
        content = asdict(checkpoint) | {"fencing": fencing, "written_by": by, "updated_at": _now()}
        del content["layer"]
        written = self._items.update(_key(names, checkpoint.layer), condition, put=content)
        if not isinstance(written, Refused):
            return _read(checkpoint.layer, written)
        overtaken = Overtaken(_checkpoint(checkpoint.layer, written.item))
        LOG.warning("%s, %s: batch %s of %s comes late; in force is %s", names.topic, checkpoint.layer,
                    checkpoint.batch, by, overtaken.in_force)  # fmt: skip
        return overtaken

    def settle(self, names: Names, seen: Checkpoint, raw_metadata_location: str) -> bool:
        """Notes that this metadata of RAW holds nothing new for the checkpoint as it was read: compaction changes the
        file and not the rows. Needs no lease. False: the checkpoint has moved, and stays as it is."""
        condition, values = as_seen(_stored(seen), ("batch", "fencing"))
        written = self._items.update(
            _key(names, seen.layer),
            condition,
            put={"raw_metadata_location": raw_metadata_location},
            values=values,
        )
        return not isinstance(written, Refused)

    # Runs

    def record_run(self, names: Names, record: RunRecord) -> RunRecord:
        """The run's record: this one, or the one that was there before, whose batch is the one to do."""
        now = self._items.now()
        content = asdict(record) | {"created_at": _now(), "expires_at": int(now) + RUN_DAYS * 86400}
        del content["run_id"]
        written = self._items.update(_run_key(names, record.run_id), "attribute_not_exists(#pipeline_id)", put=content)
        # Our own, where an answer got lost, and somebody else's are treated alike: what is there is in force.
        item = written.item if isinstance(written, Refused) else written
        found = _run(names, record.run_id, item)
        if found is None:
            raise UnreadableRun(names.topic, record.run_id, "it was deleted at this moment")
        return found

    def mark_done(self, names: Names, run_id: str) -> RunRecord:
        written = self._items.update(
            _run_key(names, run_id), "attribute_exists(#pipeline_id)", put={"done": True, "done_at": _now()}
        )
        found = None if isinstance(written, Refused) else _run(names, run_id, written)
        if found is None:
            raise UnreadableRun(names.topic, run_id, "there is none")
        return found


def _key(names: Names, layer: Layer) -> dict[str, str]:
    pipeline, kind = names.checkpoint(layer)
    return {"pipeline_id": pipeline, "checkpoint_type": kind}


def _run_key(names: Names, run_id: str) -> dict[str, str]:
    return {"pipeline_id": f"run_{names.topic}", "checkpoint_type": run_id}


def _stored(checkpoint: Checkpoint) -> Item:
    """The attributes as the item had them: one without a fencing token was made by hand."""
    return {"batch": checkpoint.batch} | ({"fencing": checkpoint.fencing} if checkpoint.fencing else {})


def _checkpoint(layer: Layer, item: Item | None) -> Checkpoint | None:
    if item is None:
        return None
    try:
        return _read(layer, item)
    except (KeyError, TypeError, ValueError) as error:
        LOG.warning("checkpoint %s is unreadable, as if there were none: %r", item.get("pipeline_id"), error)
        return None


def _read(layer: Layer, item: Item) -> Checkpoint:
    return Checkpoint(
        layer=layer,
        batch=_whole(item["batch"]),
        snapshot=_whole_or_none(item.get("snapshot")),
        records=_whole(item.get("records", 0)),
        raw_snapshot=_whole_or_none(item.get("raw_snapshot")),
        raw_metadata_location=item.get("raw_metadata_location"),
        fencing=_whole(item.get("fencing", 0)),
        written_by=item.get("written_by"),
        updated_at=item.get("updated_at"),
    )


def _run(names: Names, run_id: str, item: Item | None) -> RunRecord | None:
    if item is None:
        return None
    try:
        return RunRecord(
            run_id=run_id,
            number=_whole(item["number"]),
            start=_whole_or_none(item.get("start")),
            end=_whole(item["end"]),
            rows=_whole(item["rows"]),
            contract_version=str(item["contract_version"]),
            rows_left=_whole(item.get("rows_left", 0)),
            raw_metadata_location=item.get("raw_metadata_location"),
            done=bool(item.get("done", False)),
            created_at=item.get("created_at"),
            done_at=item.get("done_at"),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UnreadableRun(names.topic, run_id, f"{type(error).__name__} {error}") from error


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{shown(value)} is no whole number")
    return value


def _whole_or_none(value: object) -> int | None:
    return None if value is None else _whole(value)


def _now() -> str:
    return moments.text(moments.now())
