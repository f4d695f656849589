"""The texts of a batch as bytes, and what can be said of them all at once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from leanops.core.flatten import NESTING_LIMIT
from spark_jobs.tokens import Bytes, Mask, Numbers

CALL_BYTES: Final = 2**31 - 1
RECORD_BYTES: Final = 1024 * 1024
SAMPLE_RECORDS: Final = 200
SAMPLE_BYTES: Final = 2 * RECORD_BYTES


class Payloads:
    def __init__(self, texts: Any) -> None:
        self.count = len(texts)
        self._texts = texts
        self._valid: Mask = texts.is_valid().to_numpy(zero_copy_only=False)
        bounds = _bounds(texts)
        size = int(bounds[-1] - bounds[0])
        if size > CALL_BYTES:
            raise ValueError(f"Cannot flatten, one call takes {CALL_BYTES} bytes: {size}. Split the batch.")
        self._data: bytes = texts.buffers()[2].slice(int(bounds[0]), size).to_pybytes() if size else b""
        self._buffer: Bytes = np.frombuffer(self._data, np.uint8)
        self._starts, self._ends = bounds[:-1] - bounds[0], bounds[1:] - bounds[0]

    @cached_property
    def quotes(self) -> Numbers:
        return self._counts(self._buffer == ord('"'))

    @property
    def candidates(self) -> Numbers:
        """Rows that a shape may try: UTF-8, not large, and without so many brackets that depth must be measured."""
        sizes = self._ends - self._starts
        passed = self._valid & (sizes <= RECORD_BYTES)
        if np.any(passed & (sizes > 2 * NESTING_LIMIT)):
            # One bit tells `[` from `{`.
            passed &= self._counts(self._buffer & 0b1101_1111 == ord("[")) <= NESTING_LIMIT
        if not self._is_utf8():
            for row in np.flatnonzero(passed).tolist():
                passed[row] = _is_utf8(self._bytes(row))
        return np.flatnonzero(passed)

    def _counts(self, marked: Mask) -> Numbers:
        places = np.flatnonzero(marked)
        counts: Numbers = np.searchsorted(places, self._ends) - np.searchsorted(places, self._starts)
        return counts

    def _is_utf8(self) -> bool:
        try:
            self._texts.validate(full=True)
        except pa.ArrowInvalid:
            return False
        return True

    def records(self, rows: Numbers) -> Iterator[tuple[int, bytes]]:
        bounds = map(slice, self._starts[rows].tolist(), self._ends[rows].tolist())
        return zip(rows.tolist(), map(self._data.__getitem__, bounds), strict=True)

    def sample(self, rows: Numbers) -> Iterator[str]:
        """Some of the rows' texts, from the first to the last, with an end to their number and to their bytes."""
        room = SAMPLE_BYTES
        for row in rows[:: len(rows) // SAMPLE_RECORDS + 1].tolist():
            text = self.text(row) or ""
            room -= len(text)
            if room < 0:
                return
            yield text

    def text(self, row: int) -> str | None:
        """Bytes that are not UTF-8 become halves of surrogate pairs, which the reference refuses."""
        return self._bytes(row).decode(errors="surrogateescape") if self._valid[row] else None

    def _bytes(self, row: int) -> bytes:
        return self._data[self._starts[row] : self._ends[row]]


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _bounds(texts: Any) -> Numbers:
    offsets = texts.buffers()[1]
    if not len(texts) or offsets is None:
        return np.zeros(len(texts) + 1, np.int64)
    wide = pa.types.is_large_string(texts.type)
    bounds = np.frombuffer(offsets, np.int64 if wide else np.int32)
    return bounds[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
