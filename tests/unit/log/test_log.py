import struct

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes, part_size
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set
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


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [CompressionType.NONE, CompressionType.GZIP])
def test_old_messages_become_one_v2_batch(magic: int, codec: CompressionType) -> None:
    log = open_log()
    sent = build_message_set([Record(i, NOW, b"k", b"v%d" % i) for i in range(3)], magic, codec)
    assert log.append_as_leader(sent, 0, NOW).last_offset == 2
    stored = part_bytes(log.read(0, 1 << 20).records)
    ((_, header),) = iter_headers(stored)
    assert header.compression is codec
    check_crc(stored, header)
    assert [(r.offset, r.timestamp, r.value) for r in read_records(stored)] == [
        (i, NOW if magic else -1, b"v%d" % i) for i in range(3)
    ]


def test_nothing_to_append_is_no_error_to_old_producers() -> None:
    log = open_log()
    for sent in (b"", b"x" * 10, build_message_set([Record(0, 0, None, b"v")], 1)[:-1]):
        info = log.append_as_leader(sent, 0, NOW)
        assert (info.first_offset, info.last_offset) == (-1, -1)
    assert log.log_end_offset == 0


def damaged(at: int, layout: str, value: int, *, fix_crc: bool = True, count: int = 2) -> bytes:
    out = bytearray(batch(count))
    struct.pack_into(layout, out, at, value)
    if fix_crc:
        struct.pack_into(">I", out, 17, compute_crc(out))
    return bytes(out)


@pytest.mark.parametrize(
    ("sent", "error"),
    [
        (damaged(70, ">B", 77, fix_crc=False), Errors.CORRUPT_MESSAGE),
        (damaged(16, ">b", 5), Errors.CORRUPT_MESSAGE),
        (damaged(16, ">b", -1), Errors.CORRUPT_MESSAGE),
        (damaged(8, ">i", 10), Errors.CORRUPT_MESSAGE),
        (damaged(8, ">i", 40), Errors.CORRUPT_MESSAGE),
        (damaged(0, ">q", 7), Errors.INVALID_RECORD),
        (damaged(57, ">i", 3), Errors.INVALID_RECORD),
        (damaged(57, ">i", 0), Errors.INVALID_RECORD),
        (damaged(23, ">i", -1), Errors.INVALID_RECORD),
        (damaged(23, ">i", 5), Errors.INVALID_RECORD),
        (damaged(21, ">h", 0x20), Errors.INVALID_RECORD),
        (damaged(21, ">h", 0x08), Errors.INVALID_TIMESTAMP),
        (damaged(21, ">h", 0x05), Errors.UNKNOWN_SERVER_ERROR),
        (damaged(21, ">h", 0x01), Errors.UNKNOWN_SERVER_ERROR),
        (batch() + batch(), Errors.INVALID_RECORD),
        (batch(size=2_000_000), Errors.MESSAGE_TOO_LARGE),
    ],
)
def test_bad_batches_are_refused_as_kafka_refuses_them(sent: bytes, error: Errors) -> None:
    log = open_log()
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(sent, 0, NOW)
    assert refused.value.error is error
    assert log.log_end_offset == 0
    assert log.size == 0


def test_what_kafka_does_not_check_is_taken() -> None:
    log = open_log()
    for sent in (
        damaged(35, ">q", 5),
        damaged(27, ">q", -5),
        damaged(21, ">h", 0x4000),
        batch(2, producer_id=9, base_sequence=0),
    ):
        log.append_as_leader(sent, 0, NOW)
    log.append_as_leader(batch() + batch()[:-1], 0, NOW)
    assert log.log_end_offset == 9


def test_a_compacted_topic_wants_keys() -> None:
    log = open_log(cleanup_policy="compact")
    log.append_as_leader(batch(2), 0, NOW)
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(
            build_batch([Record(i, NOW, b"k" if i % 50 else None, b"v") for i in range(100)]),
            0,
            NOW,
        )
    assert refused.value.error is Errors.INVALID_RECORD
    assert [e.batch_index for e in refused.value.record_errors] == [0, 50]  # type: ignore[attr-defined]


def test_times_too_far_from_the_broker_s_are_refused() -> None:
    log = open_log(message_timestamp_difference_max_ms="1000")
    log.append_as_leader(batch(1, NOW - 1000), 0, NOW)
    with pytest.raises(KafkaException) as refused:
        log.append_as_leader(batch(1, NOW - 1001), 0, NOW)
    assert refused.value.error is Errors.INVALID_TIMESTAMP


def test_a_topic_s_own_codec_is_what_lies_on_disk() -> None:
    log = open_log(compression_type="gzip")
    log.append_as_leader(
        batch(
            50, compression=CompressionType.LZ4, producer_id=3, producer_epoch=0, base_sequence=0
        ),
        0,
        NOW,
    )
    stored = part_bytes(log.read(0, 1 << 20).records)
    header = parse_header(stored)
    assert header.compression is CompressionType.GZIP
    assert header.producer_id == 3
    check_crc(stored, header)
    assert len(read_records(stored)) == 50


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


def test_a_read_names_a_piece_of_the_file_and_copies_nothing() -> None:
    log = filled(3)
    data = log.read(3, 1 << 20)
    one = log.active_segment.size // 3
    assert data.records == (log.active_segment.log, one, 2 * one)
    assert data.fetch_offset_metadata == LogOffsetMetadata(3, 0, one)


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


@pytest.mark.parametrize("offset", [-1, 10, 31])
def test_offsets_outside_are_out_of_range(offset: int) -> None:
    log = filled(10)
    if offset == 10:
        log.maybe_increment_log_start_offset(11)
    with pytest.raises(KafkaException) as refused:
        log.read(offset, 100)
    assert refused.value.error is Errors.OFFSET_OUT_OF_RANGE


def test_every_offset_is_found_in_every_segment_with_and_without_memory_of_recent_batches() -> None:
    log = filled(60, segment_bytes="1000", index_interval_bytes="150")
    assert len(log.segments) > 5
    for segment in log.segments:
        segment._positions.clear()
    for offset in range(180):
        place = log.convert_to_offset_metadata(offset)
        header = parse_header(part_bytes(log.read(offset, 1 << 20).records))
        assert header.base_offset == offset // 3 * 3
        assert (
            place.segment_base_offset
            == log.read(offset, 1).fetch_offset_metadata.segment_base_offset
        )
    assert offsets(log) == list(range(180))


def test_records_are_found_by_time() -> None:
    log = open_log(segment_bytes="1000", index_interval_bytes="150")
    for i in range(40):
        log.append_as_leader(
            build_batch([Record(j, NOW + 10 * i + j, None, b"v" * 30) for j in range(3)]), 7, NOW
        )
    for i in (0, 1, 17, 39):
        for j in range(3):
            assert log.fetch_offset_by_timestamp(NOW + 10 * i + j) == (
                NOW + 10 * i + j,
                3 * i + j,
                7,
            )
    assert log.fetch_offset_by_timestamp(NOW + 5) == (NOW + 10, 3, 7)
    assert log.fetch_offset_by_timestamp(0) == (NOW, 0, 7)
    assert log.fetch_offset_by_timestamp(-3) == (NOW, 0, 7)
    assert log.fetch_offset_by_timestamp(NOW + 1000) is None
    assert log.fetch_offset_by_timestamp(-2) == (-1, 0, 7)
    assert log.fetch_offset_by_timestamp(-1) == (-1, 120, 7)
    log.update_high_watermark(120)
    log.maybe_increment_log_start_offset(50)
    assert log.fetch_offset_by_timestamp(NOW) == (NOW + 162, 50, 7)


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


def test_retention_by_time_by_size_and_by_start_offset() -> None:
    by_time = filled(10, segment_bytes="500", retention_ms="1000")
    by_time.delete_old_segments(NOW + 1003)
    assert [s.base_offset for s in by_time.segments] == [0, 12, 24]
    by_time.delete_old_segments(NOW + 1004)
    assert [s.base_offset for s in by_time.segments] == [12, 24]
    assert by_time.log_start_offset == 12
    by_time.delete_old_segments(NOW + 5000)
    assert [s.base_offset for s in by_time.segments] == [30], (
        "all are too old: an empty one takes their place"
    )
    by_size = filled(10, segment_bytes="500", retention_bytes="600")
    by_size.delete_old_segments(NOW)
    assert [s.base_offset for s in by_size.segments] == [12, 24]
    by_start = filled(10, segment_bytes="500")
    by_start.maybe_increment_log_start_offset(23)
    by_start.delete_old_segments(NOW)
    assert [s.base_offset for s in by_start.segments] == [12, 24]
    by_start.maybe_increment_log_start_offset(24)
    by_start.delete_old_segments(NOW)
    assert [s.base_offset for s in by_start.segments] == [24]


def test_retention_keeps_what_is_not_committed_and_what_is_compacted() -> None:
    log = filled(10, segment_bytes="500", retention_bytes="0")
    log.update_high_watermark(20)
    log.delete_old_segments(NOW)
    assert log.log_start_offset == 12
    compacted = filled(10, segment_bytes="500", retention_bytes="0", cleanup_policy="compact")
    compacted.delete_old_segments(NOW)
    assert compacted.log_start_offset == 0


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
