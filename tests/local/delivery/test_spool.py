"""What the spool has taken is there after any crash."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from local.delivery import spool
from local.delivery.spool import Spool

batches = st.lists(st.lists(st.binary(max_size=200), min_size=1, max_size=5), min_size=1, max_size=8)


def held(folder: Path) -> list[bytes]:
    """What a process that starts on the folder finds."""
    found = Spool(folder)
    return [record.data for segment in found.sealed() for record in spool.read(segment)]


@given(batches, st.data())
def test_every_append_that_returned_survives_wherever_the_file_is_torn(
    appends: list[list[bytes]], data: st.DataObject
) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        own = Spool(folder)
        for records in appends[:-1]:
            own.append(records)
        segment = next(iter(folder.glob("*.spool")), None)
        returned = segment.stat().st_size if segment else 0
        own.append(appends[-1])
        own.seal()
        path = next(iter(folder.glob("*.spool")))
        content = path.read_bytes()
        path.write_bytes(content[: data.draw(st.integers(returned, len(content)))])
        before = [record for records in appends[:-1] for record in records]
        found = held(folder)
        assert found[: len(before)] == before
        assert found[len(before) :] == appends[-1][: len(found) - len(before)]


@given(batches)
def test_numbers_are_unique_over_seals_and_restarts(appends: list[list[bytes]]) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        numbers: list[int] = []
        for index, records in enumerate(appends):
            own = Spool(folder)
            numbers += own.append(records)
            own.seal()
            if index % 2:
                numbers += own.append(records)
                own.seal()
        assert numbers == list(range(1, len(numbers) + 1))
        repeated = [records * (1 + index % 2) for index, records in enumerate(appends)]
        assert held(folder) == [record for records in repeated for record in records]


def test_the_open_segment_is_not_among_the_sealed(tmp_path: Path) -> None:
    own = Spool(tmp_path)
    own.append([b"first"])
    own.seal()
    own.append([b"second"])
    sealed = own.sealed()
    assert [record.data for segment in sealed for record in spool.read(segment)] == [b"first"]
    own.remove(sealed[0])
    own.seal()
    assert held(tmp_path) == [b"second"]


def test_an_appended_segment_is_due_by_size_or_by_age(tmp_path: Path) -> None:
    own = Spool(tmp_path)
    assert not own.is_due(0, 0)
    own.append([b"x" * 100])
    assert own.is_due(100, 3600)
    assert not own.is_due(1000, 3600)
    assert own.is_due(1000, 0)
    own.seal()
