"""Columns of JSON tokens as Arrow columns of text, with next to no Python step per value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, TypeAlias

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from leanops.core.errors import UnreadablePayload
from leanops.core.flatten import parse, value_text

Bytes: TypeAlias = NDArray[np.uint8]
Mask: TypeAlias = NDArray[np.bool_]
Numbers: TypeAlias = NDArray[np.int64]


class Kind(IntEnum):
    """What a JSON value is."""

    NUMBER = 0
    TEXT = 1
    BOOLEAN = 2
    ARRAY = 3
    OBJECT = 4
    NULL = 5
    ABSENT = 6


# JSON allows neither byte outside of white space nor, as control characters, inside strings.
SEPARATOR: Final = b"\x00"
ABSENT_BYTE: Final = b"\x01"
ABSENT: Final = msgspec.Raw(ABSENT_BYTE)

FIRST_BYTES: Final = {
    b"-0123456789": Kind.NUMBER,
    b'"': Kind.TEXT,
    b"tf": Kind.BOOLEAN,
    b"[": Kind.ARRAY,
    b"{": Kind.OBJECT,
    b"n": Kind.NULL,
    ABSENT_BYTE: Kind.ABSENT,
}
KIND_BY_FIRST_BYTE: Final[Bytes] = np.zeros(256, np.uint8)
for _bytes, _kind in FIRST_BYTES.items():
    KIND_BY_FIRST_BYTE[list(_bytes)] = _kind

# Without white space, escapes and objects (whose keys may repeat) a valid array is its own compact text.
COMPACT: Final = re.compile(rb"[^\\\s{]*+")
EMPTY_OBJECT: Final = re.compile(rb"\{\s*+\}")
CACHED_TOKENS: Final = 20_000
CACHED_LENGTH: Final = 256


class Doubtful(Exception):
    """A token that only the reference can judge, together with its record."""


@dataclass(frozen=True)
class TokenColumn:
    """`quotes` is the number of quotation marks in each token, `doubtful` the places that the reference must judge."""

    texts: Any
    kinds: Bytes
    quotes: Numbers
    doubtful: Sequence[int] = ()

    @property
    def present(self) -> Mask:
        return np.not_equal(self.kinds, Kind.ABSENT)


class TokenReader:
    """Makes columns of tokens that msgspec has found to be valid JSON, in valid UTF-8."""

    def __init__(self) -> None:
        self._decode_text = msgspec.json.Decoder(str).decode
        self._compact: dict[bytes, str | None] = {}

    def column(self, raws: list[msgspec.Raw], *, objects_stay: bool) -> TokenColumn:
        """`objects_stay` where the path is so deep that an object is a value."""
        joined = SEPARATOR.join(raws)
        buffer = np.frombuffer(joined, np.uint8)
        starts, ends = _bounds(buffer, len(raws))
        kinds = KIND_BY_FIRST_BYTE[buffer[starts]]
        quotes = 2 * (kinds == Kind.TEXT).astype(np.int64)
        special = (kinds == Kind.ARRAY) | (kinds == Kind.OBJECT)
        if b"\\" in joined:
            escapes = np.flatnonzero(buffer == ord("\\"))
            special[np.searchsorted(ends, escapes)] = True
        values: list[str | None] = []
        doubtful: list[int] = []
        places = np.flatnonzero(special).tolist()
        for place in places:
            token = bytes(raws[place])
            quotes[place] = token.count(b'"')
            try:
                values.append(self._text(token, objects_stay))
            except (Doubtful, UnreadablePayload, msgspec.DecodeError):
                values.append(None)
                doubtful.append(place)
        if len(places) == len(raws):
            return TokenColumn(pa.array(values, pa.string()), kinds, quotes, doubtful)
        texts = _unquoted(joined, ends - starts - quotes, kinds)
        if places:
            texts = pc.replace_with_mask(texts, pa.array(special), pa.array(values, pa.string()))
        return TokenColumn(texts, kinds, quotes, doubtful)

    def _text(self, token: bytes, objects_stay: bool) -> str | None:
        if token.startswith(b'"'):
            return self._decode_text(token)
        if token in self._compact:
            return self._compact[token]
        if token.startswith(b"{") and not objects_stay and not EMPTY_OBJECT.fullmatch(token):
            raise Doubtful
        if COMPACT.fullmatch(token):
            text: str | None = token.decode()
        else:
            text = value_text(parse(f'{{"_":{token.decode()}}}')["_"])
        if len(token) <= CACHED_LENGTH and token.startswith(b"["):
            if len(self._compact) >= CACHED_TOKENS:
                self._compact.clear()
            self._compact[token] = text
        return text


def null_column(nulls: Mask) -> TokenColumn:
    """A column that has nothing but nulls, and not everywhere."""
    kinds = np.where(nulls, np.uint8(Kind.NULL), np.uint8(Kind.ABSENT))
    return TokenColumn(pa.nulls(len(nulls), pa.string()), kinds, np.zeros(len(nulls), np.int64))


def string_array(data: bytes, lengths: Numbers, valid: Mask) -> Any:
    """Texts that stand end to end in `data`."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    nulls = len(valid) - int(np.count_nonzero(valid))
    validity = pa.py_buffer(np.packbits(valid, bitorder="little")) if nulls else None
    return pa.Array.from_buffers(
        pa.string(), len(lengths), [validity, pa.py_buffer(offsets), pa.py_buffer(data)], nulls
    )


def _unquoted(joined: bytes, lengths: Numbers, kinds: Bytes) -> Any:
    """The tokens without quotation marks. What is left of a null's token lies under its validity bit."""
    data = joined.translate(None, b'"' + SEPARATOR + ABSENT_BYTE)
    return string_array(data, lengths - (kinds == Kind.ABSENT), kinds < Kind.NULL)


def _bounds(buffer: Bytes, count: int) -> tuple[Numbers, Numbers]:
    separators = np.flatnonzero(buffer == ord(SEPARATOR))
    starts = np.zeros(count, np.int64)
    ends = np.full(count, len(buffer), np.int64)
    starts[1:] = separators + 1
    ends[:-1] = separators
    return starts, ends
