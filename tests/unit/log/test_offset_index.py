import pytest

from kafka_edu.common.files import FileSystem
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.offset_index import OffsetIndex
from kafka_edu.log.time_index import TimeIndex


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
