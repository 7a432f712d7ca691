"""One segment: when it is full, and what is found in it."""

import struct

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.transport import part_size
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.log.test_log import NOW, batch, filled, open_log


def test_a_read_names_a_piece_of_the_file_and_copies_nothing() -> None:
    log = filled(3)
    data = log.read(3, 1 << 20)
    one = log.active_segment.size // 3
    assert data.records == (log.active_segment.log, one, 2 * one)
    assert data.fetch_offset_metadata == LogOffsetMetadata(3, 0, one)


def test_at_least_one_whole_batch_if_asked_for() -> None:
    log = filled(3)
    one = log.active_segment.size // 3
    assert part_size(log.read(0, 1, min_one_message=True).records) == one
    assert part_size(log.read(0, 0, min_one_message=True).records) == one
    hard = log.read(0, 1)
    assert part_size(hard.records) == 1
    assert hard.first_entry_incomplete
    assert log.read(0, 0).first_entry_incomplete
    assert part_size(log.read(0, one + 5, min_one_message=True).records) == one + 5
    assert not log.read(0, one).first_entry_incomplete
    with pytest.raises(KafkaException) as refused:
        log.read(0, -1)
    assert refused.value.error is Errors.UNKNOWN_SERVER_ERROR


def test_the_four_conditions_of_a_new_segment() -> None:
    by_size = filled(10, segment_bytes="500")
    assert [s.base_offset for s in by_size.segments] == [0, 12, 24]
    by_time = open_log(segment_ms="1000")
    for late in (0, 1000, 1001, 1500, 2002):
        by_time.append_as_leader(batch(1, NOW + late), 0, NOW + late)
    assert [s.base_offset for s in by_time.segments] == [0, 2, 4]
    by_index = filled(10, segment_index_bytes="36", index_interval_bytes="0")
    assert [s.base_offset for s in by_index.segments] == [0, 9, 18, 27], (
        "three batches: the first one needs no entry, and the time index keeps one of its three"
        " slots"
    )
    by_offset = open_log()
    far = bytearray(batch(1))
    struct.pack_into(">q", far, 0, 2**31)
    by_offset.append_as_leader(batch(1), 0, NOW)
    by_offset.append_as_follower(far, NOW)
    assert [s.base_offset for s in by_offset.segments] == [0, 2**31]
    assert by_offset.log_end_offset == 2**31 + 1


def test_rolled_segments_have_trimmed_indexes_and_a_snapshot() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system, segment_bytes="500", index_interval_bytes="100")
    for i in range(10):
        log.append_as_leader(batch(3, NOW + i), 0, NOW)
    sizes = {name: len(file_system.read(f"/d/t-0/{name}")) for name in file_system.list("/d/t-0")}
    assert sizes["00000000000000000000.index"] == 3 * 8
    assert sizes["00000000000000000000.timeindex"] == 3 * 12
    assert sizes["00000000000000000024.index"] == 10 * 1024 * 1024
    assert "00000000000000000012.snapshot" in sizes
