"""A valid contract as frozen values. `loading` makes them; nothing here checks again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal

from leanops.core import flatten
from leanops.core.expression import Expression
from leanops.core.flatten import Path
from leanops.core.types import ColumnType, Value

PERIOD_PATH: Final[Path] = ("_metadata", "periodReference")

Treatment = Literal["hash", "tokenise", "truncate", "drop"]
Engine = Literal["glue", "emr_serverless", "spark_submit"]
Size = Literal["small", "medium", "large"]


@dataclass(frozen=True)
class Owner:
    team: str
    email: str


@dataclass(frozen=True)
class AlertRoute:
    sns: str
    slack: str | None = None
    pagerduty: str | None = None


@dataclass(frozen=True)
class Pii:
    treatment: Treatment
    keep: int | None = None


@dataclass(frozen=True)
class Range:
    minimum: Value | None = None
    maximum: Value | None = None


@dataclass(frozen=True)
class Length:
    minimum: int | None = None
    maximum: int | None = None


@dataclass(frozen=True)
class Column:
    """A column of Curated and where its value comes from; `path` is None for what the message itself carries."""

    name: str
    type: ColumnType
    path: Path | None = None
    required: bool = False
    cde: bool = False
    nullable: bool = True
    default: str | None = None
    enum: tuple[str, ...] = ()
    range: Range | None = None
    regex: str | None = None
    length: Length | None = None
    pii: Pii | None = None
    description: str | None = None

    @property
    def may_be_missing(self) -> bool:
        return self.nullable and not self.required and not self.cde

    @property
    def is_kept(self) -> bool:
        """Whether Curated has the column at all."""
        return self.pii is None or self.pii.treatment != "drop"


@dataclass(frozen=True)
class RowRule:
    name: str
    check: str
    expression: Expression


@dataclass(frozen=True)
class Partitioning:
    history_months: int = 24
    buckets: int = 16


@dataclass(frozen=True)
class Quality:
    max_rejected_ratio: Decimal = Decimal("0.10")
    warn_rejected_ratio: Decimal = Decimal("0.02")
    warn_parse_error_ratio: Decimal = Decimal("0.005")


@dataclass(frozen=True)
class Compute:
    engine: Engine = "glue"
    size: Size = "small"
    pool: str = "standard"
    tier: int = 3


@dataclass(frozen=True)
class Retention:
    raw_days: int = 2555
    error_days: int = 365
    snapshot_days: int = 90


@dataclass(frozen=True)
class Maintenance:
    target_file_mb: int = 256
    retain_snapshots: int = 20
    orphan_hours: int = 72
    enabled: bool = True


@dataclass(frozen=True)
class Approval:
    """The owner's word that a breaking change is meant."""

    from_version: str
    approved_by: str
    reason: str


@dataclass(frozen=True)
class Contract:
    topic: str
    schema_version: str
    owner: Owner
    alert_route: AlertRoute
    envelope_columns: tuple[Column, ...]
    payload_columns: tuple[Column, ...] | None = None
    rules: tuple[RowRule, ...] = ()
    description: str | None = None
    version_column: Literal["last_updated_ts", "publish_time"] = "last_updated_ts"
    partitioning: Partitioning = field(default_factory=Partitioning)
    column_budget: int = 500
    quality: Quality = field(default_factory=Quality)
    compute: Compute = field(default_factory=Compute)
    retention: Retention = field(default_factory=Retention)
    maintenance: Maintenance = field(default_factory=Maintenance)
    approve_breaking: Approval | None = None

    @property
    def is_curated(self) -> bool:
        """A contract without payload columns means Standardized only."""
        return self.payload_columns is not None

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        return (*self.envelope_columns, *(self.payload_columns or ()))

    @cached_property
    def by_name(self) -> Mapping[str, Column]:
        return {column.name: column for column in self.columns}

    @cached_property
    def owners(self) -> Mapping[str, Path]:
        """Which path has which Standardized column by this contract (see `flatten`)."""
        return {flatten.column_name(column.path): column.path for column in self.columns if column.path is not None}

    @cached_property
    def period_column(self) -> str:
        """Where Standardized keeps the payload's period, whether or not the contract names it."""
        if (named := self.by_name.get("period_reference")) is not None:
            return self.standardized_column(named)
        name = flatten.column_name(PERIOD_PATH)
        is_own = self.owners.get(name, PERIOD_PATH) == PERIOD_PATH
        return name if is_own else flatten.marked_name(name, PERIOD_PATH)

    def standardized_column(self, column: Column) -> str:
        """Where Standardized keeps the value of a column of Curated."""
        if column.path is None:
            return column.name
        name = flatten.column_name(column.path)
        return flatten.marked_name(name, column.path) if name in flatten.RESERVED else name
