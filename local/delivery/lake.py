"""Appends to the lake's tables: one commit per table and delivery, again when another writer was faster."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Sequence
from typing import Final

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import CommitFailedException, NoSuchTableError

from local.delivery.rows import fitted
from local.delivery.transform import Failed, Routed

COMMITS: Final = 20
LOG: Final = logging.getLogger(__name__)


class Lake:
    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def append(self, table: str, routed: Sequence[Routed]) -> list[Failed]:
        """What does not fit the table. Anything else that goes wrong is raised: then nothing counts as delivered."""
        for attempt in range(COMMITS):
            try:
                target = self._catalog.load_table(table)
                data, misfits = fitted(target.schema(), [each.row for each in routed])
                if data.num_rows:
                    target.append(data)
            except NoSuchTableError:
                return [_failed(each, "Iceberg.NoSuchTable", f"there is no table {table}") for each in routed]
            except CommitFailedException:
                if attempt == COMMITS - 1:
                    raise
                LOG.info("another writer was faster on %s, attempt %s of %s", table, attempt + 1, COMMITS)
                time.sleep(random.uniform(0.02, 0.1) * (attempt + 1))  # nosec B311: jitter is no secret
            else:
                return [_failed(routed[index], "Iceberg.InvalidRow", reason) for index, reason in misfits]
        raise AssertionError("unreachable")


def _failed(routed: Routed, code: str, message: str) -> Failed:
    return Failed(routed.record, "iceberg-failed", code, message)
