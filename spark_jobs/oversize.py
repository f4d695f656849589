"""Payloads too large for the delivery stream: RAW holds where they lie, the flattening takes them from there."""

from __future__ import annotations

import pyarrow as pa

from leanops.core.errors import shown
from spark_jobs.places import Places, UnreachablePlace


def whole_payloads(payloads: pa.Array, references: pa.Array, places: Places) -> pa.Array:
    """The payloads, with those that lie elsewhere fetched. One that cannot be reached stops the batch: to go on would
    call a record broken that is only out of sight."""
    if references.null_count == len(references):
        return payloads
    pairs = zip(payloads.to_pylist(), references.to_pylist(), strict=True)
    return pa.array([text if place is None else _fetched(place, places) for text, place in pairs], pa.string())


def _fetched(place: str, places: Places) -> str:
    if not place.startswith("s3://"):
        remedy = "The edge writes s3://bucket/key; find out who wrote this row of RAW."
        raise UnreachablePlace("fetch payload", "it is no object in S3", shown(place), remedy)
    return places.read_text(place)
