"""The segments of exercise 16-7, and their right answers, compared with the broker's own
readers.
"""

from random import Random

import pytest

from exercises.ch16_spark.segments_made import Batch, Made, random_segment, written
from kafka_edu.common.files import FileSystem
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.record.record_batch import check_crc, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem


def opened(made: Made) -> LogSegment:
    """Return the segment, opened by the broker's code from the bytes of its files."""
    disk: FileSystem = MemoryFileSystem()
    disk.make_dirs("web-0")
    for suffix, data in ((".log", made.log), (".index", made.index_file)):
        disk.write_atomically(f"web-0/{made.base_offset:020d}{suffix}", data)
    return LogSegment(disk, "web-0", made.base_offset, 400, 0)


@pytest.mark.parametrize("seed", range(8))
def test_the_right_answers_are_the_brokers_own(seed: int) -> None:
    made = random_segment(Random(seed))
    heads = list(iter_headers(made.log))
    assert len(heads) == len(made.rows)
    for (position, head), row in zip(heads, made.rows, strict=True):
        assert row.shown == (
            position,
            head.base_offset,
            head.last_offset,
            head.records_count,
            head.compression.name.lower(),
        )
        assert row.marker == head.is_control
        check_crc(made.log[position : position + row.size], head)
    segment = opened(made)
    for row in made.rows:
        for offset in (row.first, row.last):
            found = made.find(offset)
            assert found is not None
            assert found[0] == segment.position_of(offset) == row.position
    assert made.find(made.rows[-1].last + 1 if made.rows else 0) is None


def test_an_entry_names_the_last_offset_of_a_batch_that_is_not_the_first() -> None:
    made = written([Batch() for _ in range(8)], 1000)
    by_position = {row.position: row.last for row in made.rows}
    assert made.entries
    for offset, position in made.entries:
        assert position > 0
        assert by_position[position] == offset


def test_an_active_index_is_longer_and_has_the_same_entries() -> None:
    batches = [Batch(codec=codec) for codec in (0, 1, 2, 3, 4, 0, 1, 2)]
    active, closed = written(batches, active=True), written(batches)
    assert active.entries == closed.entries
    assert len(closed.index_file) == 8 * len(closed.entries) < len(active.index_file)
    assert active.index_file.rstrip(b"\0") == closed.index_file.rstrip(b"\0")
    assert active.longest_walk() == closed.longest_walk() > 0


def test_a_cut_segment_has_one_batch_fewer() -> None:
    whole, cut = written([Batch()] * 3), written([Batch()] * 3, cut=70)
    assert whole.rows[:-1] == cut.rows
    assert whole.log[:-70] == cut.log
