"""The tables that must be there before the first record: those that the edge writes for all topics.

The topics' own tables come from their contracts, by schema_validator, here as on AWS.
"""

from __future__ import annotations

from leanops.aws.catalog import Catalog
from leanops.core.layout import DLQ_ERRORS, QUARANTINE
from leanops.core.naming import Environment


def make_shared_tables(environment: Environment) -> None:
    catalog = Catalog(environment)
    for layout in (QUARANTINE, DLQ_ERRORS):
        catalog.ensure(layout)
