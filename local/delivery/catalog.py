"""The lake's catalog for the delivery service."""

from __future__ import annotations

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.glue import GlueCatalog

from leanops.aws import settings
from leanops.core.naming import Environment


def catalog(environment: Environment) -> Catalog:
    """Files through boto3, which finds the emulator by its variable; PyArrow would need the endpoint spelled out."""
    return GlueCatalog(
        "lake",
        client=settings.client("glue"),
        **{"warehouse": environment.warehouse, "py-io-impl": "leanops.aws.files.S3Files"},
    )
