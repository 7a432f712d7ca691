"""Reading the entries of a file: all entries are found, each is whole, and almost no byte is read
twice.
"""

from collections.abc import Sequence

import pytest

from kafka_edu.common.files import File
from kafka_edu.record import file_records
from kafka_edu.record.file_records import iter_file_batches, iter_file_headers
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import HEADER_BYTES, build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem

READ_AHEAD = 1_000


def written(parts: Sequence[bytes]) -> File:
    file = MemoryFileSystem().open("/segment.log")
    file.append(parts)
    return file


def batches(sizes: Sequence[int]) -> list[bytes]:
    """Return one batch for each size, with a value of that many bytes."""
    return [build_batch([Record(n, 100, None, b"x" * size)]) for n, size in enumerate(sizes)]


@pytest.mark.parametrize(
    "sizes", [[100] * 40, [7] * 300, [900] * 9, [5_000, 10, 5_000], list(range(0, 1_500, 37))]
)
def test_each_entry_is_whole_and_its_bytes_are_read_once(
    sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_records, "_READ_AHEAD", READ_AHEAD)
    entries = batches(sizes)
    file = written(entries)
    reads: list[int] = []
    pread = file.pread

    def counted(count: int, position: int) -> bytes:
        found = pread(count, position)
        reads.append(len(found))
        return found

    monkeypatch.setattr(file, "pread", counted)
    found = list(iter_file_batches(file, 0, file.size()))
    assert [bytes(batch) for _, _, batch in found] == entries
    assert [(at, header) for at, header, _ in found] == list(
        iter_file_headers(written(entries), 0, file.size())
    )
    again = sum(reads) - file.size()
    assert 0 <= again <= len(reads) * HEADER_BYTES


@pytest.mark.parametrize("cut", [1, 30, HEADER_BYTES, 1_020])
def test_an_incomplete_last_entry_is_left_out(cut: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_records, "_READ_AHEAD", READ_AHEAD)
    entries = batches([300, 300, 1_000])
    data = b"".join(entries)[:-cut]
    file = written([data])
    assert [bytes(batch) for _, _, batch in iter_file_batches(file, 0, len(data))] == entries[:2]
    longer = len(data) + cut  # the file is shorter than its owner says
    assert [bytes(batch) for _, _, batch in iter_file_batches(file, 0, longer)] == entries[:2]
