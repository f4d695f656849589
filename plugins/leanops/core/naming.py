"""Every name that derives from a topic or an environment. Outside text becomes a name here or nowhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from leanops.core.errors import InvalidName

TOPIC_LENGTH: Final = 40
TOPIC: Final = re.compile(r"[a-z][a-z0-9_]{0,39}")
ENVIRONMENT: Final = re.compile(r"[a-z][a-z0-9]{0,11}")
ACCOUNT: Final = re.compile(r"[0-9]{12}")
REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]")
COLUMN: Final = re.compile(r"[a-z_][a-z0-9_]{0,127}")
DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
TOKEN: Final = re.compile(r"[a-z0-9]{1,32}")

RAW_DATABASE: Final = "iceberg_raw_db"
STANDARDIZED_DATABASE: Final = "iceberg_standardized_db"
CURATED_DATABASE: Final = "iceberg_curated_db"
OPS_DATABASE: Final = "ops_db"

PARSE_ERRORS_TABLE: Final = f"{STANDARDIZED_DATABASE}.parse_errors"
ERRORS_TABLE: Final = f"{CURATED_DATABASE}.errors"
DLQ_ERRORS_TABLE: Final = f"{RAW_DATABASE}.dlq_errors"
QUARANTINE_TABLE: Final = f"{RAW_DATABASE}.quarantine"
DRIFT_LOG_TABLE: Final = f"{OPS_DATABASE}.drift_log"
TOPIC_REGISTRY_TABLE: Final = f"{OPS_DATABASE}.topic_registry"
SCHEMA_VERSIONS_TABLE: Final = f"{OPS_DATABASE}.schema_versions"
JOB_RUN_HISTORY_TABLE: Final = f"{OPS_DATABASE}.job_run_history"
RECONCILIATION_LOG_TABLE: Final = f"{OPS_DATABASE}.reconciliation_log"
DATABASES: Final = (RAW_DATABASE, STANDARDIZED_DATABASE, CURATED_DATABASE, OPS_DATABASE)

# Tables and views that live beside the topics' own.
RESERVED_TOPICS: Final = frozenset({"parse_errors", "errors", "dlq_errors", "quarantine"})
RESERVED_ENDINGS: Final = ("_staging", "_latest")

SQL_WORDS: Final = frozenset(
    """all alter and any array as asc at authorization between both by case cast check collate column commit constraint
    create cross cube current current_date current_time current_timestamp current_user database default delete desc
    describe distinct drop else end escape except exists external extract false fetch filter for foreign from full
    function global grant group grouping having in inner insert intersect interval into is join lateral leading left
    like limit local map merge minus natural no not null of offset on only or order outer overlaps partition position
    primary range references revoke right rollback rollup row rows schema select semi session_user set show some start
    struct table tablesample then time timestamp to trailing true truncate union unique unknown update user using
    values view when where window with""".split()
)


def _matched(pattern: re.Pattern[str], kind: str, name: object, allowed: str) -> str:
    remedy = f"Use {allowed}."
    if not isinstance(name, str):
        raise InvalidName(kind, name, f"it is {type(name).__name__}, not text", remedy)
    if not name:
        raise InvalidName(kind, name, "it is empty", remedy)
    if not name.isascii():
        odd = next(character for character in name if not character.isascii())
        raise InvalidName(kind, name, f"U+{ord(odd):04X} is not an ASCII letter, digit or underscore", remedy)
    if not pattern.fullmatch(name):
        raise InvalidName(kind, name, f"it does not match {pattern.pattern}", remedy)
    return name


def valid_topic(name: object) -> str:
    """The topic's name itself, or InvalidName with the reason."""
    allowed = "1 to 40 lower-case letters, digits and underscores, a letter first"
    topic = _matched(TOPIC, "topic", name, allowed)
    if topic in SQL_WORDS:
        raise InvalidName("topic", topic, "it is a reserved word of SQL", "Add a noun, for example 'sensor_<word>'.")
    if topic in RESERVED_TOPICS:
        raise InvalidName("topic", topic, "a shared table has this name", "Choose another name.")
    for ending in RESERVED_ENDINGS:
        if topic.endswith(ending):
            reason = f"names that end in {ending} belong to derived tables and views"
            raise InvalidName("topic", topic, reason, f"Drop the ending {ending}.")
    return topic


def valid_column(name: object) -> str:
    return _matched(COLUMN, "column", name, "1 to 128 lower-case letters, digits and underscores, no digit first")


def quoted(identifier: str) -> str:
    """An identifier for Spark SQL. Spark replaces `${…}` before it parses, even inside backticks, hence the refusal."""
    if not identifier:
        raise InvalidName("identifier", identifier, "it is empty", "Give the table's or column's name.")
    if "${" in identifier or any(ord(character) < 32 for character in identifier):
        reason = "it holds ${ or a control character"
        raise InvalidName("identifier", identifier, reason, "Flatten the name first (leanops.core.flatten).")
    return "`" + identifier.replace("`", "``") + "`"


def quoted_table(table: str) -> str:
    """`database.table` (or `catalog.database.table`) with each part quoted."""
    return ".".join(quoted(part) for part in table.split("."))


def literal(text: str) -> str:
    """A string literal for Spark SQL; `$` is escaped so that variable substitution finds nothing."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


@dataclass(frozen=True)
class Environment:
    """One deployment: everything shared by its topics."""

    name: str
    account: str
    region: str

    def __post_init__(self) -> None:
        _matched(ENVIRONMENT, "environment", self.name, "1 to 12 lower-case letters and digits, a letter first")
        _matched(ACCOUNT, "account", self.account, "the 12 digits of the AWS account")
        _matched(REGION, "region", self.region, "an AWS region such as eu-central-1")

    @property
    def prefix(self) -> str:
        return f"lean-ops-{self.name}"

    @property
    def lake_bucket(self) -> str:
        return f"{self.prefix}-{self.account}-lake"

    @property
    def schema_bucket(self) -> str:
        return f"{self.prefix}-{self.account}-schemas"

    @property
    def archive_bucket(self) -> str:
        return f"{self.prefix}-{self.account}-archive"

    @property
    def warehouse(self) -> str:
        return f"s3://{self.lake_bucket}/warehouse"

    @property
    def delivery_stream(self) -> str:
        return f"{self.prefix}-raw"

    @property
    def checkpoints(self) -> str:
        return f"{self.prefix}-checkpoints"

    @property
    def locks(self) -> str:
        return f"{self.prefix}-locks"

    @property
    def schema_registry(self) -> str:
        return f"{self.prefix}-schema-registry"

    @property
    def idempotency(self) -> str:
        return f"{self.prefix}-idempotency"

    @property
    def dlq_index(self) -> str:
        return f"{self.prefix}-dlq-index"

    @property
    def circuit_breakers(self) -> str:
        return f"{self.prefix}-circuit-breakers"

    @property
    def notifications(self) -> str:
        """The SNS topic for people."""
        return f"{self.prefix}-notifications"

    @property
    def alarms(self) -> str:
        """The SNS topic that CloudWatch alarms publish to; the circuit breaker listens."""
        return f"{self.prefix}-alarms"

    @property
    def topics_file(self) -> str:
        """The S3 key, in the schema bucket, of the list of topics that Terraform reads."""
        return "topics/topics.json"

    @property
    def delivery_error_prefix(self) -> str:
        """Where, in the archive bucket, the delivery stream puts what it could not deliver."""
        return "delivery-errors"

    def function(self, noun: str) -> str:
        """The name of a Lambda function."""
        return f"{self.prefix}-{_matched(re.compile(r'[a-z][a-z_]{0,30}'), 'function', noun, 'up to 31 letters')}"

    def topic(self, name: object) -> Names:
        return Names(self, valid_topic(name))


@dataclass(frozen=True)
class Names:
    """All names of one topic. Made by `Environment.topic`, which validates."""

    environment: Environment
    topic: str

    def __post_init__(self) -> None:
        valid_topic(self.topic)

    @property
    def raw_table(self) -> str:
        return f"{RAW_DATABASE}.{self.topic}_staging"

    @property
    def standardized_table(self) -> str:
        return f"{STANDARDIZED_DATABASE}.{self.topic}"

    @property
    def scientist_view(self) -> str:
        return f"{STANDARDIZED_DATABASE}.{self.topic}_latest"

    @property
    def curated_table(self) -> str:
        return f"{CURATED_DATABASE}.{self.topic}"

    @property
    def topic_dag(self) -> str:
        return f"topic_{self.topic}"

    @property
    def period_dag(self) -> str:
        return f"period_{self.topic}"

    @property
    def queue(self) -> str:
        return f"{self.environment.prefix}-{self.topic}"

    @property
    def dead_letter_queue(self) -> str:
        return f"{self.queue}-dlq"

    @property
    def table_location(self) -> dict[str, str]:
        """S3 locations by table name."""
        warehouse = self.environment.warehouse
        return {
            table: f"{warehouse}/{table.replace('.', '/')}"
            for table in (self.raw_table, self.standardized_table, self.curated_table)
        }

    def schema_key(self, state: str, file: str = "schema.json") -> str:
        """The S3 key of a contract: pending, active, failed or archive."""
        if state not in {"pending", "active", "failed", "archive"}:
            raise InvalidName("contract state", state, "no such folder", "Use pending, active, failed or archive.")
        _matched(re.compile(r"[a-z0-9][a-z0-9._-]{0,79}"), "contract file", file, "a plain file name")
        return f"schemas/{self.topic}/{state}/{file}"

    def archive_prefix(self, day: str) -> str:
        _matched(DAY, "day", day, "YYYY-MM-DD")
        return f"dlq/topic={self.topic}/day={day}"

    def oversize_key(self, day: str, digest: str) -> str:
        """The S3 key, in the archive bucket, of a payload too large for the delivery stream."""
        _matched(DAY, "day", day, "YYYY-MM-DD")
        _matched(re.compile(r"[0-9a-f]{64}"), "digest", digest, "64 hexadecimal digits")
        return f"oversize/topic={self.topic}/day={day}/{digest}"

    def run_branch(self, batch: int, token: str) -> str:
        """The Iceberg branch of one run; the token tells two runs of the same batch apart."""
        if batch < 0:
            raise InvalidName("batch", batch, "it is negative", "Give the RAW sequence number of the batch's end.")
        return f"run_{batch}_{_matched(TOKEN, 'run token', token, 'up to 32 lower-case letters and digits')}"

    def lease(self) -> str:
        """The key of the topic's lock."""
        return f"topic#{self.topic}"

    def checkpoint(self, layer: str) -> tuple[str, str]:
        """(pipeline_id, checkpoint_type) in the checkpoints table."""
        pipelines = {"standardized": ("standardization", "raw"), "curated": ("curation", "standardized")}
        if layer not in pipelines:
            raise InvalidName("layer", layer, "it has no checkpoint", f"Use {' or '.join(pipelines)}.")
        verb, source = pipelines[layer]
        return f"{verb}_{self.topic}", source
