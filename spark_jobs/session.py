"""The one place for Spark's and the catalog's settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from spark_jobs.places import Places
from spark_jobs.treatments import PADDED_KEY

CATALOG = "lake"

BEHAVIOUR: Mapping[str, str] = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.defaultCatalog": CATALOG,
    # Moments are UTC everywhere; a zone of the machine would move them.
    "spark.sql.session.timeZone": "UTC",
    # What cannot be cast is found by our own rules, which name it; ANSI would stop the batch instead.
    "spark.sql.ansi.enabled": "false",
    # The jobs know a batch's size from snapshot summaries and choose partitions by it. Adaptive plans would submit each
    # stage as a job of its own, which is most of the cost of a small batch.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # A batch is small beside its target; the driver's broadcast must not give up on it.
    "spark.sql.autoBroadcastJoinThreshold": str(256 * 1024 * 1024),
    # Iceberg's rewrite of a predicate needs no statistics that a job never reads.
    "spark.sql.statistics.size.autoUpdate.enabled": "false",
    # The PII key stands in plans as a literal.
    "spark.sql.redaction.string.regex": PADDED_KEY,
    # `${…}` in a name or literal is text, never a variable.
    "spark.sql.variable.substitute": "false",
}


@dataclass(frozen=True)
class CatalogSettings:
    """Where the tables are. `endpoint` points Glue and S3 somewhere else than at AWS."""

    warehouse: str
    kind: str = "glue"
    region: str | None = None
    endpoint: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, variables: Mapping[str, str] = os.environ) -> CatalogSettings:
        return cls(
            warehouse=variables["LEANOPS_WAREHOUSE"],
            kind=variables.get("LEANOPS_CATALOG", "glue"),
            region=variables.get("AWS_REGION"),
            endpoint=variables.get("AWS_ENDPOINT_URL"),
        )

    def properties(self) -> dict[str, str]:
        prefix = f"spark.sql.catalog.{CATALOG}"
        properties = {
            prefix: "org.apache.iceberg.spark.SparkCatalog",
            f"{prefix}.warehouse": self.warehouse,
            # Runs side by side must see each other's commits.
            f"{prefix}.cache-enabled": "false",
        }
        if self.kind == "hadoop":
            properties[f"{prefix}.type"] = "hadoop"
        else:
            properties[f"{prefix}.type"] = "glue"
            properties[f"{prefix}.io-impl"] = "org.apache.iceberg.aws.s3.S3FileIO"
        if self.region:
            properties[f"{prefix}.client.region"] = self.region
        if self.endpoint:
            properties[f"{prefix}.glue.endpoint"] = self.endpoint
            properties[f"{prefix}.s3.endpoint"] = self.endpoint
            properties[f"{prefix}.s3.path-style-access"] = "true"
        return properties | {f"{prefix}.{key}": value for key, value in self.more.items()}


def spark_session(
    catalog: CatalogSettings, name: str = "lean-ops", settings: Mapping[str, str] | None = None
) -> SparkSession:
    """The application's session; `settings` are the caller's own (master, jars, memory)."""
    builder = SparkSession.builder.appName(name)
    for key, value in {**BEHAVIOUR, **catalog.properties(), **(settings or {})}.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def catalog_places(spark: SparkSession) -> Places:
    """S3 as the catalog reaches it."""
    prefix = f"spark.sql.catalog.{CATALOG}"
    return Places(spark.conf.get(f"{prefix}.client.region", None), spark.conf.get(f"{prefix}.s3.endpoint", None))


def topic_session(spark: SparkSession, catalog: CatalogSettings | None = None) -> SparkSession:
    """A session of its own for one topic in a shared application: temporary views and settings do not meet.

    Where the platform had a session before us, the catalog is known to that session alone: it is then to be given.
    """
    own = spark.newSession()
    static = "spark.sql.extensions"
    for key, value in {**BEHAVIOUR, **(catalog.properties() if catalog else {})}.items():
        if key != static:
            own.conf.set(key, value)
    # Iceberg's source asks the thread for its session; without one it finds the application's.
    own._jvm.SparkSession.setActiveSession(own._jsparkSession)  # type: ignore[union-attr]
    return own
