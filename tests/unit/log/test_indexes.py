import os
from pathlib import Path

import pytest

from kafka_edu.common.files import FileSystem, OsFileSystem
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.offset_index import OffsetIndex
from kafka_edu.log.time_index import TimeIndex
from kafka_edu.sim.memory_file_system import MemoryFileSystem


@pytest.fixture(params=["machine", "memory"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    if request.param == "machine":
        return OsFileSystem(), str(tmp_path)
    file_system = MemoryFileSystem()
    file_system.make_dirs("/x")
    return file_system, "/x"


def offset_index(disk: tuple[FileSystem, str], base: int = 0, size: int = 80) -> OffsetIndex:
    file_system, folder = disk
    index = OffsetIndex(file_system, f"{folder}/{base:020d}.index", base)
    index.resize(size)
    return index


def time_index(disk: tuple[FileSystem, str], base: int = 0, size: int = 120) -> TimeIndex:
    file_system, folder = disk
    index = TimeIndex(file_system, f"{folder}/{base:020d}.timeindex", base)
    index.resize(size)
    return index


def test_the_seed_s_example_offset_425314_lies_in_segment_368769(
    disk: tuple[FileSystem, str],
) -> None:
    index = offset_index(disk, base=368769)
    for relative, position in (
        (0, 0),
        (3, 497),
        (6, 1407),
        (8, 1686),
        (56544, 99_000),
        (56546, 99_500),
    ):
        if relative:
            index.append(368769 + relative, position)
    assert index.lookup(425314) == (
        368769 + 56544,
        99_000,
    ), "425314 - 368769 = 56545: the entry before it"
    assert index.lookup(368769 + 7) == (368769 + 6, 1407)


def test_the_seed_s_example_115_begins_its_search_at_80(disk: tuple[FileSystem, str]) -> None:
    index = offset_index(disk, base=0)
    for offset, position in ((20, 320), (43, 756), (80, 1423), (120, 2100)):
        index.append(offset, position)
    assert index.lookup(115) == (80, 1423)
    assert index.lookup(19) == (0, 0)
    assert index.lookup(120) == (120, 2100)
    assert index.lookup(10**9) == (120, 2100)


def test_an_offset_index_survives_being_closed_and_is_as_long_as_what_it_holds(
    disk: tuple[FileSystem, str],
) -> None:
    index = offset_index(disk, base=100)
    for i in range(1, 5):
        index.append(100 + 10 * i, 1000 * i)
    assert not index.is_full
    index.close()
    assert len(disk[0].read(index.path)) == 4 * 8
    again = OffsetIndex(disk[0], index.path, 100)
    again.sanity_check()
    assert [again.entry(i) for i in range(again.entries)] == [
        (100 + 10 * i, 1000 * i) for i in range(1, 5)
    ]
    assert again.is_full
    again.resize(80)
    assert (again.entries, again.max_entries) == (4, 10)


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
    "content", [b"\0" * 80, b"\0" * 7, bytes.fromhex("0000000500000010") + b"\0" * 8]
)
def test_what_a_crash_leaves_of_an_offset_index_is_not_trusted(
    disk: tuple[FileSystem, str], content: bytes
) -> None:
    path = f"{disk[1]}/00000000000000000000.index"
    disk[0].write_atomically(path, content)
    with pytest.raises(CorruptIndexError):
        OffsetIndex(disk[0], path, 0).sanity_check()


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


def test_an_index_holds_no_file_handle_once_it_is_unmapped(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    index = offset_index((OsFileSystem(), str(tmp_path)))
    index.append(3, 4)
    index.close()
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before
    assert index.lookup(5) == (3, 4), "it is mapped again when somebody looks"
