"""Logs of message.format.version before 0.11: what they store, what they refuse, what followers and
readers get of them.
"""

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.memory_records import build_records, read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import BatchHeader, TimestampType, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

NOW = 1_600_000_000_000
RELEASES = {0: "0.9.0", 1: "0.10.1"}
CODECS = [CompressionType.NONE, CompressionType.GZIP, CompressionType.SNAPPY, CompressionType.LZ4]
RECORDS = [Record(i, NOW + i, b"k%d" % i, b"v" * 20) for i in range(3)]


def open_log(
    magic: int = 1, *, disk: MemoryFileSystem | None = None, clean: bool = False, **config: str
) -> Log:
    keys = {"message.format.version": RELEASES.get(magic, "2.0")} | {
        key.replace("_", "."): value for key, value in config.items()
    }
    tp = TopicPartition("t", 0)
    return load_log(
        tp,
        "/d",
        "/d/t-0",
        disk or MemoryFileSystem(),
        LogConfig.parse(keys),
        clean_shutdown=clean,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )[0]


def stored(log: Log) -> tuple[list[BatchHeader], list[Record]]:
    data = b"".join(segment.log.pread(segment.size, 0) for segment in log.segments)
    return [header for _, header in iter_headers(data)], read_all(data)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("magic", [0, 1])
def test_whatever_comes_is_stored_in_the_log_s_format(
    magic: int, sent: int, codec: CompressionType
) -> None:
    log = open_log(magic)
    for i in range(3):
        info = log.append_as_leader(build_records(RECORDS, sent, codec), 5, NOW)
        assert (info.first_offset, info.last_offset, info.log_append_time) == (3 * i, 3 * i + 2, -1)
    headers, records = stored(log)
    assert {(h.magic, h.compression) for h in headers} == {(magic, codec)}
    assert [r.offset for r in records] == list(range(9))
    assert {r.timestamp for r in records} == ({NOW, NOW + 1, NOW + 2} if sent and magic else {-1})
    assert [r.value for r in records] == [b"v" * 20] * 9
    assert log.latest_epoch == -1, "old messages name no leader"


@pytest.mark.parametrize("codec", CODECS)
def test_log_append_time(codec: CompressionType) -> None:
    log = open_log(1, message_timestamp_type="LogAppendTime")
    assert (
        log.append_as_leader(build_records(RECORDS, 1, codec), 0, NOW + 50).log_append_time
        == NOW + 50
    )
    headers, records = stored(log)
    assert {h.timestamp_type for h in headers} == {TimestampType.LOG_APPEND_TIME}
    assert {r.timestamp for r in records} == {NOW + 50}


def test_what_older_messages_cannot_hold_is_refused() -> None:
    log = open_log(1)
    for sent, error in (
        (
            build_records([RECORDS[0]._replace(headers=(("h", b""),))], 2),
            Errors.UNKNOWN_SERVER_ERROR,
        ),
        (build_records(RECORDS, 2, CompressionType.ZSTD), Errors.UNKNOWN_SERVER_ERROR),
    ):
        with pytest.raises(KafkaException) as refused:
            log.append_as_leader(sent, 0, NOW)
        assert refused.value.error is error
    assert log.log_end_offset == 0


def test_a_follower_has_the_same_bytes_and_rolls_where_it_must() -> None:
    disk = MemoryFileSystem()
    leader, follower = (
        open_log(1),
        open_log(
            1, disk=disk, segment_bytes="400", segment_index_bytes="120", index_interval_bytes="50"
        ),
    )
    for codec in CODECS * 3:
        leader.append_as_leader(build_records(RECORDS, 1, codec), 0, NOW)
    while follower.log_end_offset < leader.log_end_offset:
        follower.append_as_follower(
            part_bytes(leader.read(follower.log_end_offset, 300, min_one_message=True).records), NOW
        )
    assert stored(follower) == stored(leader)
    assert len(follower.segments) > 3
    follower.close()
    again = open_log(1, disk=disk, clean=True, segment_bytes="400", segment_index_bytes="120")
    assert again.log_end_offset == 36
    for offset in range(36):
        assert offset in [
            r.offset
            for r in read_all(part_bytes(again.read(offset, 300, min_one_message=True).records))
        ]


def test_times_are_looked_up_in_v1_and_not_in_v0() -> None:
    log = open_log(1)
    for codec in (CompressionType.GZIP, CompressionType.NONE):
        log.append_as_leader(build_records(RECORDS, 1, codec), 0, NOW)
    found = log.fetch_offset_by_timestamp(NOW + 1)
    assert found is not None
    assert (found.offset, found.timestamp, found.leader_epoch) == (1, NOW + 1, -1)
    with pytest.raises(KafkaException) as refused:
        open_log(0).fetch_offset_by_timestamp(NOW)
    assert refused.value.error is Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT


def test_a_format_that_goes_back_takes_the_epochs_with_it() -> None:
    disk = MemoryFileSystem()
    log = open_log(2, disk=disk)
    log.append_as_leader(build_records(RECORDS, 2), 3, NOW)
    log.close()
    log = open_log(1, disk=disk, clean=True)
    assert log.latest_epoch == -1
    log.append_as_leader(build_records(RECORDS, 1), 4, NOW)
    assert log.latest_epoch == -1
    assert [r.offset for r in stored(log)[1]] == list(range(6))


def test_messages_without_times_are_as_old_as_their_file() -> None:
    clock = [NOW]
    disk = MemoryFileSystem(now_ms=lambda: clock[0])
    log = open_log(0, disk=disk, retention_ms="1000")
    for time in (NOW, NOW + 900, NOW + 1800):
        clock[0] = time
        log.append_as_leader(build_records(RECORDS, 0), 0, time)
        if time == NOW + 900:
            log.roll(time)
    log.update_high_watermark(9)
    assert log.delete_old_segments(NOW + 1900) == 0, "the first segment was written to 1000 ms ago"
    log.close()
    log = open_log(0, disk=disk, clean=True, retention_ms="1000")
    log.update_high_watermark(9)
    assert log.delete_old_segments(NOW + 1901) == 1, "a restart does not make it younger"
    assert log.log_start_offset == 6
