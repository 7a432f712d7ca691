"""A log dir with one small log, as a broker leaves it after a clean stop or after kill -9, and what
was written to that log.

The log has 27 batches in three segments, written by two leaders. They hold records of an idempotent
producer, of transactions that were committed and aborted, and of a producer without an id.
DeleteRecords has moved the log start to offset 3. After kill -9, everything below the active
segment is flushed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.time import MockTime
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log import Log
from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_manager import LogManager, LogManagerSettings
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE, OffsetCheckpointFile
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.replication.high_watermark_checkpoints import HIGH_WATERMARK_FILENAME
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.defaults import PRODUCER_ID_EXPIRATION_MS

T = TypeVar("T")
TOPIC: Final = "t"


def rounded(now_ms: int) -> int:
    """Return `now_ms`, rounded down by at most five hours. The last three bytes of the result are
    zero, so a flipped bit of a time index means the same whenever the files are written.
    """
    return now_ms - now_ms % (1 << 24)


NOW: Final = rounded(1_600_000_000_000)
LOG_START: Final = 3
FIRST_DIRTY: Final = 14
IDEMPOTENT, TRANSACTIONAL = 1001, 1002
TOPIC_CONFIG: Final = {
    "segment.bytes": "900",
    "segment.index.bytes": "480",
    "index.interval.bytes": "100",
    "retention.ms": "-1",
}
_D: Final = "/d"


class Written(NamedTuple):
    """The content of the log. File names are relative to the log dir. The log's folder is `t-0`."""

    files: Mapping[str, bytes]
    records: Mapping[int, Record]
    """Offset → record, without control records."""
    aborted: frozenset[int]
    """Offsets of records of aborted transactions."""
    markers: frozenset[int]
    """Offsets of control records."""
    bases: tuple[int, ...]
    """Base offsets of the segments."""
    second_epoch: int
    """The first offset of the second leader."""
    last_idempotent: bytes
    """The last batch of the idempotent producer, as it sent it."""
    last_idempotent_offset: int
    end: int

    @property
    def unflushed(self) -> int:
        """The first offset that may be lost after kill -9."""
        return self.bases[-1]


class _Writer:
    """Writes the log, and remembers what it has written."""

    def __init__(self, log: Log, now_ms: int) -> None:
        self.log, self.now_ms = log, now_ms
        self.records: dict[int, Record] = {}
        self.aborted: set[int] = set()
        self.markers: set[int] = set()
        self.open: list[int] = []
        self.sequences = {IDEMPOTENT: 0, TRANSACTIONAL: 0}
        self.last_idempotent = b""
        self.last_idempotent_offset = -1
        self.epoch = 0

    def write(self, producer: int) -> None:
        """Append two records of the producer with this id. -1 means a producer without an id."""
        first = self.log.log_end_offset
        records = [
            Record(i, self.now_ms + 10 * (first + i), b"k%d" % (first + i), b"v%d" % (first + i))
            for i in range(2)
        ]
        known = producer in self.sequences
        batch = build_batch(
            records,
            producer_id=producer,
            producer_epoch=0 if known else -1,
            base_sequence=self.sequences.get(producer, -1),
            is_transactional=producer == TRANSACTIONAL,
        )
        self.log.append_as_leader(batch, self.epoch, self.now_ms)
        if known:
            self.sequences[producer] += 2
        if producer == IDEMPOTENT:
            self.last_idempotent, self.last_idempotent_offset = batch, first
        if producer == TRANSACTIONAL:
            self.open += [first, first + 1]
        self.records |= {first + i: r._replace(offset=first + i) for i, r in enumerate(records)}

    def end_transaction(self, kind: ControlRecordType) -> None:
        offset = self.log.log_end_offset
        marker = build_end_transaction_marker(
            EndTransactionMarker(kind, 0), TRANSACTIONAL, 0, self.now_ms + 10 * offset
        )
        self.log.append_as_leader(marker, self.epoch, self.now_ms, origin=AppendOrigin.COORDINATOR)
        self.markers.add(offset)
        if kind is ControlRecordType.ABORT:
            self.aborted.update(self.open)
        self.open.clear()


async def _inline(work: Callable[[], T]) -> T:
    return work()


def _files(disk: MemoryFileSystem, folder: str, prefix: str = "") -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name in disk.list(folder):
        path = f"{folder}/{name}"
        if disk.is_dir(path):
            found |= _files(disk, path, f"{prefix}{name}/")
        else:
            found[prefix + name] = disk.read(path)
    return found


async def _write(clean: bool, now_ms: int) -> Written:
    disk = MemoryFileSystem()
    config = LogConfig.parse(TOPIC_CONFIG)
    run: Callable[[Callable[[], T]], Awaitable[T]] = _inline
    logs = LogManager(
        LogManagerSettings((_D,), config, 1, PRODUCER_ID_EXPIRATION_MS),
        disk,
        MockTime(now_ms),
        run,
    )
    await logs.load_logs()
    tp = TopicPartition(TOPIC, 0)
    writer = _Writer(log := logs.get_or_create_log(tp, config), now_ms)
    second_epoch = 0
    for turn in range(6):
        if turn == 3:
            writer.epoch, second_epoch = 1, log.log_end_offset
        writer.write(IDEMPOTENT)
        writer.write(TRANSACTIONAL)
        if turn < 5:
            writer.write(-1)
            writer.end_transaction(
                ControlRecordType.COMMIT if turn % 2 else ControlRecordType.ABORT
            )
    writer.end_transaction(ControlRecordType.COMMIT)
    writer.write(IDEMPOTENT)
    writer.write(-1)
    log.update_high_watermark(log.log_end_offset)
    log.maybe_increment_log_start_offset(LOG_START)
    for _ in range(20):  # the manager flushes the segments that were rolled
        await asyncio.sleep(0)
    bases = tuple(segment.base_offset for segment in log.segments)
    assert (len(bases), log.recovery_point) == (3, bases[-1])
    await logs.checkpoint_recovery_point_offsets()
    await logs.checkpoint_log_start_offsets()
    for name, offset in (
        (HIGH_WATERMARK_FILENAME, log.log_end_offset),
        (CLEANER_OFFSET_FILE, FIRST_DIRTY),
    ):
        OffsetCheckpointFile(f"{_D}/{name}", disk).write({tp: offset})
    killed = _files(disk, _D)
    end = log.log_end_offset
    await logs.shutdown()
    return Written(
        _files(disk, _D) if clean else killed,
        writer.records,
        frozenset(writer.aborted),
        frozenset(writer.markers),
        bases,
        second_epoch,
        writer.last_idempotent,
        writer.last_idempotent_offset,
        end,
    )


@cache
def written(*, clean: bool, now_ms: int = NOW) -> Written:
    """Return the log dir after a clean stop, or after kill -9. The records' times begin at
    `now_ms`.
    """
    return asyncio.run(_write(clean, now_ms))
