"""A segment's time index: from a time to an offset."""

import pytest

from kafka_edu.common.files import FileSystem
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.time_index import TimeIndex
from tests.unit.log.test_offset_index import offset_index, time_index


@pytest.mark.parametrize(("offset", "left"), [(10, 0), (11, 1), (20, 1), (21, 2), (99, 4)])
def test_truncation_keeps_entries_below(
    disk: tuple[FileSystem, str], offset: int, left: int
) -> None:
    index, times = offset_index(disk), time_index(disk)
    for i in range(1, 5):
        index.append(10 * i, 100 * i)
        times.maybe_append(1000 * i, 10 * i)
    index.truncate_to(offset)
    times.truncate_to(offset)
    assert (index.entries, times.entries) == (left, left)
    assert index.last_offset == 10 * left
    assert times.last_entry == ((1000 * left, 10 * left) if left else (-1, 0))
    index.append(offset + 100, 5000)
    assert index.lookup(offset + 100).position == 5000


def test_a_time_index_takes_only_later_times_and_keeps_a_slot(disk: tuple[FileSystem, str]) -> None:
    index = time_index(disk, size=36)
    for timestamp, offset in ((100, 1), (100, 2), (90, 3), (110, 4), (120, 5), (130, 6)):
        index.maybe_append(timestamp, offset)
    assert index.is_full
    assert [index.entry(i) for i in range(index.entries)] == [(100, 1), (110, 4)]
    index.maybe_append(140, 7, last=True)
    index.maybe_append(150, 8, last=True)
    assert [index.entry(i) for i in range(index.entries)] == [(100, 1), (110, 4), (140, 7)]
    assert index.lookup(99) == (-1, 0)
    assert index.lookup(100) == (100, 1)
    assert index.lookup(139) == (110, 4)
    assert index.lookup(10**6) == (140, 7)


@pytest.mark.parametrize(
    "content", [b"\0" * 7, bytes.fromhex("000000000000000500000010") + b"\0" * 12]
)
def test_what_a_crash_leaves_of_a_time_index_is_not_trusted(
    disk: tuple[FileSystem, str], content: bytes
) -> None:
    path = f"{disk[1]}/00000000000000000000.timeindex"
    disk[0].write_atomically(path, content)
    with pytest.raises(CorruptIndexError):
        TimeIndex(disk[0], path, 0).sanity_check()
