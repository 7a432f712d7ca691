"""Logs for the exercises of chapter 09: the broker's own log, on a disk in memory."""

from random import Random
from typing import Final

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_loader import load_log
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import HEADER_START, build_batch, parse_header
from kafka_edu.sim.memory_file_system import MemoryFileSystem

NOW_MS: Final = 1_700_000_000_000
FOLDER: Final = "/d/web-0"
_PRODUCERS_MS: Final = 86_400_000


class Disk(MemoryFileSystem):
    """A disk in memory. Its clock gives the files their times."""

    def __init__(self) -> None:
        self.clock_ms = NOW_MS
        super().__init__(now_ms=lambda: self.clock_ms)


def empty_log(**config: object) -> Log:
    """Return an empty log with these settings; `segment_bytes` is segment.bytes."""
    return log_on(MemoryFileSystem(), **config)


def log_on(disk: MemoryFileSystem, **config: object) -> Log:
    """Return the log that is on this disk, or an empty one."""
    log, _ = load_log(
        TopicPartition("web", 0),
        "/d",
        FOLDER,
        disk,
        LogConfig.parse({key.replace("_", "."): str(value) for key, value in config.items()}),
        now_ms=NOW_MS,
        max_producer_id_expiration_ms=_PRODUCERS_MS,
    )
    return log


def plain_batch(count: int, value_bytes: int, at_ms: int = NOW_MS) -> bytes:
    """Return a batch of `count` records without keys."""
    return build_batch([Record(n, at_ms, None, bytes(value_bytes)) for n in range(count)])


def append_at(log: Log, offset: int, batch: bytes) -> None:
    """Append a batch whose first offset is `offset`, at the log's end or after it, as a follower
    does.
    """
    own = bytearray(batch)
    HEADER_START.pack_into(own, 0, offset, parse_header(batch).batch_length, 0)
    log.append_as_follower(own, NOW_MS)
    log.update_high_watermark(log.log_end_offset)


def random_log(random: Random, *, gaps: bool = False, batches: int = 60) -> Log:
    """Return a log of some segments with batches of random sizes.

    With `gaps`, offsets are missing as after compaction: between batches, and at the ends of
    segments.
    """
    log = empty_log(
        segment_bytes=random.choice((1_500, 3_000, 6_000)),
        index_interval_bytes=random.choice((100, 300, 900)),
    )
    at = 0
    for _ in range(batches):
        if gaps and random.random() < 0.3:
            at += random.randint(1, 12)
            if random.random() < 0.4:
                log.roll(NOW_MS, expected_offset=max(at - random.randint(0, 3), log.log_end_offset))
        at = max(at, log.log_end_offset)
        append_at(log, at, plain_batch(random.randint(1, 9), random.randint(1, 60)))
        at = log.log_end_offset
    return log
