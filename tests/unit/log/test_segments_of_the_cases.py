"""When a log rolls, and which of its segments are deleted, as in Kafka's LogTest and
LogSegmentTest.

`tests/interop/test_segments_beside_apache_kafka.py` runs the same cases on Apache Kafka 2.8.2.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.log.log_segment import MAX_RELATIVE_OFFSET
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS
from tests.unit.log.segment_cases import BATCH_BYTES, CASES, SegmentCase, batch_of, of_batches
from tests.unit.log.test_log_manager import StillTime

T = TypeVar("T")
NOW = 1_600_000_000_000


def open_log(
    config: dict[str, str], disk: MemoryFileSystem | None = None, *, start: int = 0
) -> Log:
    log, _ = load_log(
        TopicPartition("t", 0),
        "/d",
        "/d/t-0",
        disk or MemoryFileSystem(),
        LogConfig.parse(config),
        log_start_offset=start,
        clean_shutdown=disk is not None,
        now_ms=NOW,
        max_producer_id_expiration_ms=PRODUCER_ID_EXPIRATION_MS,
    )
    log.update_high_watermark(log.log_end_offset)
    return log


def bases(log: Log) -> tuple[int, ...]:
    return tuple(segment.base_offset for segment in log.segments)


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_the_segments_and_the_start(case: SegmentCase) -> None:
    disk = MemoryFileSystem()
    log = open_log(case.config, disk)
    for number in range(len(case.batches)):
        log.append_as_leader(batch_of(case, number, NOW), 0, NOW)
    assert log.size in (
        0,
        sum(len(batch_of(case, number, NOW)) for number in range(len(case.batches))),
    )
    log.update_high_watermark(log.log_end_offset)
    if case.delete_before:
        log.maybe_increment_log_start_offset(case.delete_before)
    if case.then:
        log.update_config(LogConfig.parse({**case.config, **case.then}))
        while log.delete_old_segments(NOW):
            pass
    assert (bases(log), log.log_start_offset) == (case.bases, case.start)
    log.close()
    again = open_log({**case.config, **case.then}, disk, start=log.log_start_offset)
    assert (bases(again), again.log_start_offset) == (case.bases, case.start)
    assert again.log_end_offset == log.log_end_offset


def test_a_batch_of_one_record_has_the_size_that_the_cases_count_with() -> None:
    assert {len(batch_of(CASES[0], number, NOW)) for number in range(7)} == {BATCH_BYTES}


def test_the_first_time_is_found_again_after_a_start() -> None:
    """The time of a roll depends on the records, not on the start of the process (LogTest:
    testTimeBasedLogRoll).
    """
    disk = MemoryFileSystem()
    log = open_log({"segment.ms": "1000"}, disk)
    for again in (False, True):
        if again:
            log = open_log({"segment.ms": "1000"}, disk)
        log.append_as_leader(build_batch([Record(0, NOW, b"k", b"v")]), 0, NOW)
        log.append_as_leader(build_batch([Record(0, NOW + 1000, b"k", b"v")]), 0, NOW)
        assert bases(log) == (0,)
        log.close()
    log = open_log({"segment.ms": "1000"}, disk)
    log.append_as_leader(build_batch([Record(0, NOW + 1001, b"k", b"v")]), 0, NOW)
    assert bases(log) == (0, 4)


@pytest.mark.parametrize(("waited_ms", "rolls"), [(1000, False), (1001, True)])
def test_records_without_times_roll_by_the_age_of_the_segment(waited_ms: int, rolls: bool) -> None:
    config = {"segment.ms": "1000", "message.format.version": "0.9.0"}
    log = open_log(config)
    for now in (NOW, NOW + waited_ms):
        log.append_as_leader(build_records([Record(0, -1, b"k", b"v")], 0), 0, now)
    assert (len(log.segments) == 2) is rolls


def test_an_empty_segment_does_not_roll_by_time() -> None:
    log = open_log({"segment.ms": "1000"})
    late = NOW + 10_000
    log.append_as_leader(build_batch([Record(0, late, b"k", b"v")]), 0, late)
    assert bases(log) == (0,)


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(MAX_RELATIVE_OFFSET, (0,)), (MAX_RELATIVE_OFFSET + 1, (0, MAX_RELATIVE_OFFSET + 1))],
)
def test_an_offset_that_does_not_fit_into_an_index_entry(
    offset: int, expected: tuple[int, ...]
) -> None:
    """From Kafka's LogTest: testOverCompactedLogRecovery and the tests next to it, for a
    follower.
    """
    log = open_log({})
    log.append_as_follower(build_batch([Record(0, NOW, b"k", b"v")]), NOW)
    log.append_as_follower(build_batch([Record(offset, NOW, b"k", b"v")]), NOW)
    assert bases(log) == expected


def test_an_old_message_far_away_gets_a_segment_in_which_it_fits() -> None:
    """A compressed message of format v1 names its last offset only: Kafka begins the segment 2^31 -
    1 below it.
    """
    log = open_log({"message.format.version": "0.10.2"})
    log.append_as_follower(build_records([Record(0, NOW, b"k", b"v")], 1), NOW)
    far = 3 * 2**31
    log.append_as_follower(build_records([Record(far, NOW, b"k", b"v")], 1), NOW)
    assert bases(log) == (0, far - MAX_RELATIVE_OFFSET)
    assert log.log_end_offset == far + 1


def test_nothing_above_the_high_watermark_goes() -> None:
    """From Kafka's LogTest: shouldDeleteSegmentsReadyToBeDeletedWithCleanupPolicy…, with a high
    watermark.
    """
    log = open_log({**of_batches(2), "retention.ms": "1"})
    for number in range(6):
        log.append_as_leader(batch_of(CASES[0], number, NOW - 10_000), 0, NOW)
    log.update_high_watermark(3)
    assert log.delete_old_segments(NOW) == 1
    assert bases(log) == (2, 4)


async def _inline(work: Callable[[], T]) -> T:
    return work()


def test_deleted_files_stay_for_file_delete_delay_ms() -> None:
    """All files of a segment, and its snapshot, get the suffix `.deleted` (LogTest:
    testAsyncDelete).
    """

    async def body() -> None:
        disk, time = MemoryFileSystem(), StillTime()
        run: Callable[[Callable[[], T]], Awaitable[T]] = _inline
        config = LogConfig.parse({**of_batches(2), "file.delete.delay.ms": "1000"})
        logs = LogManager(
            LogManagerSettings(("/d",), config, 1, PRODUCER_ID_EXPIRATION_MS), disk, time, run
        )
        await logs.load_logs()
        log = logs.get_or_create_log(TopicPartition("t", 0), config)
        for number in range(5):
            log.append_as_leader(batch_of(CASES[0], number, NOW), 0, NOW)
        log.update_high_watermark(5)
        log.maybe_increment_log_start_offset(4)
        await logs.cleanup_logs(NOW)
        for _ in range(20):
            await asyncio.sleep(0)

        def deleted() -> list[str]:
            return [name for name in disk.list("/d/t-0") if name.endswith(".deleted")]

        assert deleted() == [
            f"{base:020d}{suffix}.deleted"
            for base in (0, 2)
            for suffix in (".index", ".log", *((".snapshot",) if base else ()), ".timeindex")
        ]
        for late_ms, left in ((999, 7), (2, 0)):
            time.advance(late_ms)
            for _ in range(40):
                await asyncio.sleep(0)
            assert len(deleted()) == left
        await logs.shutdown()

    asyncio.run(body())
