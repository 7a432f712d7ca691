import struct

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes, part_size
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    TimestampType,
    build_batch,
    check_crc,
    compute_crc,
    iter_headers,
    parse_header,
    read_records,
)
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000


def batch(count: int = 1, timestamp: int = NOW, size: int = 10, **options: int) -> bytes:
    return build_batch(
        [Record(i, timestamp, b"k%d" % i, b"v" * size) for i in range(count)], **options
    )  # type: ignore[arg-type]


def open_log(
    file_system: MemoryFileSystem | None = None,
    *,
    clean: bool = False,
    recovery_point: int = 0,
    **config: str,
) -> Log:
    keys = {key.replace("_", "."): value for key, value in config.items()}
    log, _ = load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        file_system or MemoryFileSystem(),
        LogConfig.parse(keys),
        clean_shutdown=clean,
        recovery_point=recovery_point,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    return log


def filled(batches: int = 10, records: int = 3, **config: str) -> Log:
    log = open_log(**config)
    for i in range(batches):
        log.append_as_leader(batch(records, NOW + i), 0, NOW + i)
    log.update_high_watermark(log.log_end_offset)
    return log


def offsets(log: Log, start: int = 0) -> list[int]:
    found = []
    while start < log.log_end_offset:
        data = part_bytes(log.read(start, 10_000_000).records)
        for position, header in iter_headers(data):
            found += [
                r.offset for r in read_records(data[position : position + header.size_in_bytes])
            ]
        start = found[-1] + 1
    return found


def test_a_leader_gives_offsets_and_touches_nothing_but_the_header() -> None:
    log = open_log()
    sent = [batch(3), batch(2, compression=CompressionType.LZ4)]
    first = log.append_as_leader(memoryview(sent[0]), 4, NOW)
    second = log.append_as_leader(sent[1], 5, NOW)
    assert (first.first_offset, first.last_offset, second.first_offset, second.last_offset) == (
        0,
        2,
        3,
        4,
    )
    assert first.log_append_time == -1
    stored = part_bytes(log.read(0, 1 << 20).records)
    (_, one), (at, two) = iter_headers(stored)
    assert (
        one.base_offset,
        one.partition_leader_epoch,
        two.base_offset,
        two.partition_leader_epoch,
    ) == (0, 4, 3, 5)
    assert bytes(stored[16:at]) == sent[0][16:], "from the magic on, byte for byte"
    assert bytes(stored[at + 16 :]) == sent[1][16:]
    check_crc(stored[at:], two)
    assert [(e.epoch, e.start_offset) for e in log.leader_epoch_cache.entries] == [(4, 0), (5, 3)]


def test_log_append_time_is_the_leader_s_and_the_checksum_is_right() -> None:
    log = open_log(message_timestamp_type="LogAppendTime")
    info = log.append_as_leader(batch(2, timestamp=5), 0, NOW)
    assert info.log_append_time == NOW
    stored = part_bytes(log.read(0, 1 << 20).records)
    header = parse_header(stored)
    check_crc(stored, header)
    assert header.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert {r.timestamp for r in read_records(stored)} == {NOW}


def damaged(at: int, layout: str, value: int, *, fix_crc: bool = True, count: int = 2) -> bytes:
    out = bytearray(batch(count))
    struct.pack_into(layout, out, at, value)
    if fix_crc:
        struct.pack_into(">I", out, 17, compute_crc(out))
    return bytes(out)


def test_a_batch_above_segment_bytes_is_refused() -> None:
    with pytest.raises(KafkaException) as refused:
        open_log(segment_bytes="100").append_as_leader(batch(5), 0, NOW)
    assert refused.value.error is Errors.RECORD_LIST_TOO_LARGE


def test_a_follower_stores_what_it_gets_byte_for_byte() -> None:
    leader = filled(6, index_interval_bytes="100")
    data = bytes(part_bytes(leader.read(0, 1 << 20).records))
    follower = open_log(index_interval_bytes="100")
    cut = follower.append_as_follower(memoryview(data)[:-1], NOW)
    assert (cut.first_offset, cut.last_offset) == (0, 14), "the incomplete batch is left out"
    rest = bytes(part_bytes(leader.read(15, 1 << 20).records))
    follower.append_as_follower(rest, NOW)
    assert bytes(part_bytes(follower.read(0, 1 << 20).records)) == data
    assert follower.leader_epoch_cache.entries == leader.leader_epoch_cache.entries
    one, other = follower.active_segment.offset_index, leader.active_segment.offset_index
    assert [one.entry(i) for i in range(one.entries)] == [
        other.entry(i) for i in range(other.entries)
    ]


def test_a_follower_refuses_what_does_not_follow() -> None:
    leader = filled(2)
    follower = filled(1)
    data = bytearray(part_bytes(leader.read(0, 1 << 20).records))
    with pytest.raises(KafkaException) as refused:
        follower.append_as_follower(data, NOW)
    assert refused.value.error is Errors.OFFSET_OUT_OF_RANGE
    data[-1] ^= 1
    with pytest.raises(KafkaException) as refused:
        open_log().append_as_follower(data, NOW)
    assert refused.value.error is Errors.CORRUPT_MESSAGE


def test_an_offset_inside_a_batch_gives_that_batch() -> None:
    log = filled(3)
    assert parse_header(part_bytes(log.read(4, 1 << 20).records)).base_offset == 3


def test_a_read_stops_at_the_batch_of_the_high_watermark() -> None:
    log = filled(4)
    one = log.active_segment.size // 4
    assert part_size(log.read(0, 1 << 20, max_offset=6).records) == 2 * one
    assert part_size(log.read(0, 1 << 20, max_offset=7).records) == 2 * one, (
        "the batch of offset 7 begins at 6"
    )
    assert part_size(log.read(6, 1 << 20, max_offset=6).records) == 0
    assert part_size(log.read(9, 1 << 20, max_offset=6).records) == 0
    assert part_size(log.read(12, 1 << 20).records) == 0
    assert log.read(12, 1 << 20).fetch_offset_metadata == log.log_end_offset_metadata


@pytest.mark.parametrize("offset", [-1, 10, 31])
def test_offsets_outside_are_out_of_range(offset: int) -> None:
    log = filled(10)
    if offset == 10:
        log.maybe_increment_log_start_offset(11)
    with pytest.raises(KafkaException) as refused:
        log.read(offset, 100)
    assert refused.value.error is Errors.OFFSET_OUT_OF_RANGE


def test_deleted_segments_wait_as_files_of_another_name() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system, segment_bytes="500", retention_bytes="0")
    for _ in range(10):
        log.append_as_leader(batch(3), 0, NOW)
    log.update_high_watermark(30)
    reading = log.read(0, 1 << 20).records
    log.delete_old_segments(NOW)
    assert "00000000000000000000.log.deleted" in file_system.list("/d/t-0")
    assert len(part_bytes(reading)) > 0, "who is reading it can read on"
    for segment in log.deleted_segments:
        segment.delete()
    assert [n for n in file_system.list("/d/t-0") if n.endswith(".deleted")] == []


def test_the_log_start_offset_does_not_pass_the_high_watermark() -> None:
    log = filled(3)
    log.update_high_watermark(5)
    with pytest.raises(KafkaException) as refused:
        log.maybe_increment_log_start_offset(6)
    assert refused.value.error is Errors.OFFSET_OUT_OF_RANGE
    assert log.maybe_increment_log_start_offset(5)
    assert not log.maybe_increment_log_start_offset(4)


@pytest.mark.parametrize("offset", range(31))
def test_truncation_leaves_a_prefix(offset: int) -> None:
    log = filled(10, segment_bytes="500", index_interval_bytes="100")
    changed = log.truncate_to(offset, NOW)
    assert changed == (offset < 30)
    assert log.log_end_offset == offset // 3 * 3, "a batch is not cut open"
    assert offsets(log) == list(range(log.log_end_offset))
    log.append_as_leader(batch(3), 1, NOW)
    assert offsets(log) == list(range(log.log_end_offset))


def test_truncation_forgets_epochs_producers_and_the_recovery_point() -> None:
    log = open_log()
    for epoch in range(4):
        log.append_as_leader(
            batch(2, producer_id=epoch, producer_epoch=0, base_sequence=0), epoch, NOW
        )
    log.flush()
    log.update_high_watermark(8)
    log.truncate_to(4, NOW)
    assert [(e.epoch, e.start_offset) for e in log.leader_epoch_cache.entries] == [(0, 0), (1, 2)]
    assert sorted(log.producer_state_manager.producers) == [0, 1]
    assert (log.recovery_point, log.high_watermark) == (4, 4)


def test_truncating_fully_starts_anew() -> None:
    log = filled(10, segment_bytes="500")
    log.truncate_fully_and_start_at(100, NOW)
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark, log.recovery_point) == (
        100,
        100,
        100,
        100,
    )
    assert log.append_as_leader(batch(1), 3, NOW).first_offset == 100
    below = filled(10)
    below.maybe_increment_log_start_offset(6)
    below.truncate_to(3, NOW)
    assert (below.log_start_offset, below.log_end_offset) == (3, 3)


def test_a_copy_takes_over_what_its_records_do_not_say() -> None:
    old, copy = filled(), filled()
    old.update_high_watermark(20)
    old.maybe_increment_log_start_offset(7)
    old.maybe_assign_epoch_start_offset(9, old.log_end_offset)
    copy.take_over(old)
    assert (copy.log_start_offset, copy.high_watermark) == (7, 20)
    assert copy.leader_epoch_cache.entries == old.leader_epoch_cache.entries


def test_a_full_disk_is_a_storage_error_and_leaves_no_half_batch() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system, segment_index_bytes="1000")
    log.append_as_leader(batch(3), 0, NOW)
    size = log.size
    file_system.capacity = file_system.used() + 50
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(batch(3), 0, NOW)
    assert refused.value.error is Errors.KAFKA_STORAGE_ERROR
    assert (log.log_end_offset, log.size) == (3, size)
    file_system.capacity = None
    assert log.append_as_leader(batch(3), 0, NOW).first_offset == 3


def test_flush_messages_forces_the_disk_at_every_so_many() -> None:
    file_system = MemoryFileSystem()
    log = open_log(file_system, flush_messages="6")
    log.append_as_leader(batch(3), 0, NOW)
    assert log.recovery_point == 0
    log.append_as_leader(batch(3), 0, NOW)
    assert log.recovery_point == 6
