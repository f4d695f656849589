"""Tables in the Glue catalog, made and altered from their layouts by PyIceberg: the same layouts that Spark uses."""

from __future__ import annotations

import json
import logging
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from leanops.aws import settings
from leanops.core.errors import LeanOpsError
from leanops.core.iceberg import partition_field, schema_json, sort_json, spec_json, widens_to
from leanops.core.layout import Field, Layout, Partition
from leanops.core.naming import Environment

if TYPE_CHECKING:
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction

LOG = logging.getLogger(__name__)
T = TypeVar("T")
Row = dict[str, Any]
# Columns and what they equal.
Unit = Mapping[str, str | int]
TRIES: Final = 20
LONGEST_PAUSE: Final = 2.0
# It decides how the metadata itself is written and is no property of the table.
NOT_KEPT: Final = frozenset({"format-version"})


class TableMoved(LeanOpsError):
    def __init__(self, table: str) -> None:
        self.table = table
        super().__init__(
            "commit", f"others were faster {TRIES} times", table, "Try again; look for a writer that commits in a loop."
        )


@dataclass(frozen=True)
class Conflict:
    """A column whose type in the table can't become the wanted one in place."""

    table: str
    column: str
    found: str
    wanted: str


@dataclass(frozen=True)
class Evolution:
    """What a table lacks of its layout."""

    missing: tuple[Field, ...]
    widened: tuple[str, ...]
    documented: tuple[str, ...]
    properties: Mapping[str, str]
    is_repartitioned: bool
    is_sorted: bool
    conflicts: tuple[Conflict, ...]

    @property
    def is_needed(self) -> bool:
        return bool(
            self.missing
            or self.widened
            or self.documented
            or self.properties
            or self.is_repartitioned
            or self.is_sorted
        )


class Catalog:
    """The lake's tables. A commit is made from a fresh table, and again from a fresh one where another was faster."""

    def __init__(
        self, environment: Environment, client: Any = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._environment = environment
        self._client = client
        self._pause = pause
        self._made: Any = None

    @property
    def _glue(self) -> Any:
        if self._made is None:
            from pyiceberg.catalog.glue import GlueCatalog

            self._made = GlueCatalog(
                "lake",
                client=self._client or settings.client("glue"),
                **{"warehouse": self._environment.warehouse, "py-io-impl": "leanops.aws.files.S3Files"},
            )
        return self._made

    # Layout

    def ensure(self, layout: Layout) -> tuple[Conflict, ...]:
        """Creates the table, or adds what it lacks in one commit. Nothing is dropped or narrowed: what would have to
        be is answered."""

        def attempt() -> tuple[Conflict, ...]:
            table = self._found(layout.table) or self._created(layout)
            evolution = evolved(table, layout)
            if evolution.is_needed:
                with table.transaction() as transaction:
                    _evolve(transaction, layout, evolution)
                LOG.info("altered %s: %s", layout.table, evolution)
            return evolution.conflicts

        return self._retried(layout.table, attempt)

    def conflicts(self, layout: Layout) -> tuple[Conflict, ...]:
        """What `ensure` would answer; nothing is changed."""
        table = self._found(layout.table)
        return () if table is None else evolved(table, layout).conflicts

    def _found(self, name: str) -> Table | None:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            table: Table = self._glue.load_table(name)
        except NoSuchTableError:
            return None
        return table

    def _created(self, layout: Layout) -> Table:
        from pyiceberg.exceptions import NamespaceAlreadyExistsError, NoSuchNamespaceError, TableAlreadyExistsError

        database = layout.table.split(".")[0]
        try:
            return self._create(layout)
        except NoSuchNamespaceError:
            try:
                # With a location, or Spark and PyIceberg would each have their own idea of where a table lies.
                self._glue.create_namespace(database, {"location": f"{self._environment.warehouse}/{database}"})
            except NamespaceAlreadyExistsError:
                LOG.info("%s was made meanwhile", database)
            return self._created(layout)
        except TableAlreadyExistsError:
            LOG.info("%s was made meanwhile", layout.table)
            table: Table = self._glue.load_table(layout.table)
            return table

    def _create(self, layout: Layout) -> Table:
        from pyiceberg.partitioning import PartitionSpec
        from pyiceberg.table.sorting import SortOrder

        table: Table = self._glue.create_table(
            layout.table,
            schema_of(layout),
            location=f"{self._environment.warehouse}/{layout.table.replace('.', '/')}",
            partition_spec=PartitionSpec.model_validate(spec_json(layout)),
            sort_order=SortOrder.model_validate(sort_json(layout)),
            properties=dict(layout.properties),
        )
        LOG.info("created %s", layout.table)
        return table

    # Rows

    def rows(self, table: str, unit: Unit) -> list[Row]:
        return _rows(self._glue.load_table(table), unit)

    def replace_unit(self, table: str, unit: Unit, rows: Sequence[Row]) -> None:
        """The unit's rows become these and no others."""
        self.revise(table, unit, lambda _: rows)

    def revise(self, table: str, unit: Unit, change: Callable[[list[Row]], Sequence[Row]]) -> None:
        """The unit's rows become what `change` makes of them. It is asked again whenever another commit came between,
        so whatever it reads besides is never older than the rows it is given."""

        def attempt() -> None:
            fresh: Table = self._glue.load_table(table)
            before = _rows(fresh, unit)
            after = [_fitted(row, fresh.schema()) for row in change(before)]
            kept = Counter(map(_told, before))
            added = [row for row in after if not _taken(kept, _told(row))]
            if kept.total():
                _commit(fresh, after, unit)
            elif added:
                _commit(fresh, added, None)

        self._retried(table, attempt)

    def _retried(self, table: str, attempt: Callable[[], T]) -> T:
        from pyiceberg.exceptions import CommitFailedException

        for number in range(TRIES):
            try:
                return attempt()
            except CommitFailedException as error:
                LOG.info("%s moved, starting over: %s", table, error)
                # Jitter is no secret.
                self._pause(random.uniform(0, min(0.05 * 2**number, LONGEST_PAUSE)))  # nosec B311
        raise TableMoved(table)


def schema_of(layout: Layout) -> Schema:
    from pyiceberg.schema import Schema

    return Schema.model_validate(schema_json(layout))


def evolved(table: Table, layout: Layout) -> Evolution:
    has = {field.name: field for field in table.schema().fields}
    wanted = {field.name: field for field in schema_of(layout).fields}
    missing = tuple(field for field in layout.fields if field.name not in has)
    types = {name: (_bare(has[name].field_type), _bare(wanted[name].field_type)) for name in wanted if name in has}
    differ = {name: pair for name, pair in types.items() if pair[0] != pair[1]}
    return Evolution(
        missing=missing,
        widened=tuple(name for name, (old, new) in differ.items() if widens_to(old, new)),
        documented=tuple(name for name in types if wanted[name].doc not in (None, has[name].doc)),
        properties={
            key: value
            for key, value in layout.properties.items()
            if key not in NOT_KEPT and table.properties.get(key) != value
        },
        is_repartitioned=_partitions(table) != [_wanted_partition(partition) for partition in layout.partitions],
        # One that somebody has chosen since stays.
        is_sorted=bool(layout.sorted_by) and table.sort_order().is_unsorted,
        conflicts=tuple(
            Conflict(layout.table, name, str(old), str(new))
            for name, (old, new) in differ.items()
            # A column that is wider already serves the narrower contract.
            if not widens_to(old, new) and not widens_to(new, old)
        ),
    )


def _evolve(transaction: Transaction, layout: Layout, evolution: Evolution) -> None:
    from pyiceberg.table.sorting import NullOrder
    from pyiceberg.transforms import IdentityTransform

    wanted = {field.name: field for field in schema_of(layout).fields}
    with transaction.update_schema() as schema:
        for field in evolution.missing:
            # Rows that are there already lack it, so it can't be required.
            schema.add_column(field.name, wanted[field.name].field_type, field.doc)
        for name in evolution.widened:
            schema.update_column(name, wanted[name].field_type)
        for name in evolution.documented:
            schema.update_column(name, doc=wanted[name].doc)
    if evolution.is_repartitioned:
        _repartition(transaction, layout)
    if evolution.is_sorted:
        with transaction.update_sort_order() as order:
            for name in layout.sorted_by:
                order.asc(name, IdentityTransform(), NullOrder.NULLS_FIRST)
    if evolution.properties:
        transaction.set_properties(dict(evolution.properties))


def _repartition(transaction: Transaction, layout: Layout) -> None:
    """New files follow the new cut; old ones keep theirs until they are compacted."""
    metadata = transaction.table_metadata
    wanted = [_wanted_partition(partition) for partition in layout.partitions]
    kept = set()
    with transaction.update_spec() as spec:
        for field in metadata.spec().fields:
            has = (str(metadata.schema().find_column_name(field.source_id)), str(field.transform))
            kept.add(has)
            if has not in wanted:
                spec.remove_field(field.name)
        for column, transform in wanted:
            if (column, transform) not in kept:
                spec.add_field(column, transform)


def _partitions(table: Table) -> list[tuple[str, str]]:
    schema = table.schema()
    return [(str(schema.find_column_name(field.source_id)), str(field.transform)) for field in table.spec().fields]


def _wanted_partition(partition: Partition) -> tuple[str, str]:
    return partition.column, partition_field(partition)[1]


def _bare(type_: Any) -> Any:
    """A type's JSON without ids, which every table gives anew."""
    return _without_ids(json.loads(type_.model_dump_json()))


def _without_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_ids(each) for key, each in value.items() if key not in {"id", "element-id", "doc"}}
    return [_without_ids(each) for each in value] if isinstance(value, list) else value


def _rows(table: Table, unit: Unit) -> list[Row]:
    rows: list[Row] = table.scan(row_filter=_condition(unit)).to_arrow().to_pylist()
    return rows


def _condition(unit: Unit) -> BooleanExpression:
    from pyiceberg.expressions import AlwaysTrue, And, EqualTo

    condition: BooleanExpression = AlwaysTrue()
    for column, value in unit.items():
        condition = And(condition, EqualTo(column, value))  # type: ignore[call-arg, arg-type]
    return condition


def _fitted(row: Row, schema: Schema) -> Row:
    """The row with all columns of the table; one that the table has not is a mistake, not a value to lose."""
    unknown = row.keys() - set(schema.column_names)
    if unknown:
        raise LeanOpsError("write row", "the table has no such column", ", ".join(sorted(unknown)), "Alter it first.")
    return {field.name: row.get(field.name) for field in schema.fields}


def _told(row: Row) -> str:
    """The same text for the same row, whichever class its zone of UTC has."""
    utc = {name: value.astimezone(UTC) for name, value in row.items() if isinstance(value, datetime)}
    return repr(sorted({**row, **utc}.items()))


def _taken(kept: Counter[str], told: str) -> bool:
    """Whether the row was there before; each row counts for one."""
    is_there = kept[told] > 0
    kept[told] -= is_there
    return is_there


def _commit(table: Table, rows: Sequence[Row], instead_of: Unit | None) -> None:
    import pyarrow

    content = pyarrow.Table.from_pylist(list(rows), schema=table.schema().as_arrow())
    with table.transaction() as transaction:
        if instead_of is None:
            transaction.append(content)
        else:
            transaction.overwrite(content, overwrite_filter=_condition(instead_of))
