"""Accepted records on disk. They survive the process; a segment goes only when all of it is delivered."""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Lock
from typing import BinaryIO, Final, NamedTuple

HEAD: Final = struct.Struct(">QQII")


class Record(NamedTuple):
    """`arrival` is in milliseconds since 1970."""

    number: int
    arrival: int
    data: bytes


class Spool:
    """Numbered segment files. The newest is open for appending, the others are sealed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = Lock()
        self._file: BinaryIO | None = None
        self._bytes = 0
        self._opened = 0.0
        # A new process leaves the old one's segments sealed and counts on: ids stay unique.
        sealed = self.sealed()
        self._segment = max((int(path.stem) for path in sealed), default=0)
        self._number = max((record.number for path in sealed for record in read(path)), default=0)

    def append(self, records: Sequence[bytes]) -> list[int]:
        """The records' numbers, once they are on the disk."""
        if not records:
            return []
        with self._lock:
            file = self._file or self._opened_file()
            arrival = int(time.time() * 1000)
            numbers = []
            for data in records:
                self._number += 1
                numbers.append(self._number)
                frame = HEAD.pack(self._number, arrival, len(data), zlib.crc32(data)) + data
                file.write(frame)
                self._bytes += len(frame)
            file.flush()
            os.fsync(file.fileno())
            return numbers

    def is_due(self, size: int, seconds: float) -> bool:
        """Whether the open segment holds that much or is that old."""
        with self._lock:
            return self._file is not None and (self._bytes >= size or time.monotonic() - self._opened >= seconds)

    def seal(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def sealed(self) -> list[Path]:
        """Oldest first."""
        with self._lock:
            paths = sorted(self._folder.glob("*.spool"))
            return paths[:-1] if self._file is not None else paths

    @staticmethod
    def remove(segment: Path) -> None:
        segment.unlink()

    def _opened_file(self) -> BinaryIO:
        self._segment += 1
        file = self._file = (self._folder / f"{self._segment:012d}.spool").open("xb")
        self._bytes = 0
        self._opened = time.monotonic()
        # The new name must be as durable as what is written under it.
        folder = os.open(self._folder, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        return file


def read(segment: Path) -> Iterator[Record]:
    """A torn end is left out: its append never returned, so nobody was told that it was accepted."""
    content = segment.read_bytes()
    position = 0
    while position + HEAD.size <= len(content):
        number, arrival, length, checksum = HEAD.unpack_from(content, position)
        start = position + HEAD.size
        data = content[start : start + length]
        if len(data) < length or zlib.crc32(data) != checksum:
            return
        yield Record(number, arrival, data)
        position = start + length
