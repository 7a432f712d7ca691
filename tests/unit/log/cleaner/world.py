"""Logs to compact, on a disk in memory."""

from collections.abc import Sequence

from kafka_edu.common.transport import part_bytes
from kafka_edu.log.cleaner import log_cleaner
from kafka_edu.log.cleaner.clean_job import CleanJob, CleanResult
from kafka_edu.log.cleaner.cleaner import Cleaner, no_throttle
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager, LogToClean
from kafka_edu.log.log import Log
from kafka_edu.log.log_file_names import CLEANED_SUFFIX
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.record.memory_records import read_all
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers
from kafka_edu.sim.memory_file_system import MemoryFileSystem
from tests.unit.log.test_log import NOW, open_log

MANY = 1 << 20


class Disk(MemoryFileSystem):
    """A disk whose clock the test sets."""

    def __init__(self) -> None:
        self.clock_ms = NOW
        super().__init__(now_ms=lambda: self.clock_ms)


def compacted(disk: MemoryFileSystem | None = None, **config: str) -> Log:
    """An empty log of a compacted topic, which rolls when a test says so."""
    return open_log(disk or Disk(), **({"cleanup_policy": "compact"} | config))


def write(log: Log, *records: tuple[str | None, str | None], **options: int) -> None:
    """Append one batch of (key, value), and replicate it."""
    batch = build_batch(
        [
            Record(i, NOW, key and key.encode(), value and value.encode())
            for i, (key, value) in enumerate(records)
        ],
        **options,  # type: ignore[arg-type]
    )
    log.append_as_leader(batch, 0, NOW)
    log.update_high_watermark(log.log_end_offset)


def text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def rows(log: Log) -> list[tuple[int, str | None, str | None]]:
    """(offset, key, value) of each record that a reader finds, from the log's start."""
    found: list[tuple[int, str | None, str | None]] = []
    at = log.log_start_offset
    while at < log.log_end_offset:
        data = part_bytes(log.read(at, MANY).records)
        if not data:
            break
        found += [
            (one.offset, text(one.key), text(one.value))
            for one in read_all(data)
            if one.offset >= at
        ]
        at = max(at + 1, max(h.next_offset for _, h in iter_headers(data)))
    return found


def job_of(filthy: LogToClean, map_bytes: int = MANY) -> CleanJob:
    return log_cleaner.job_of(
        filthy, map_bytes=map_bytes, load_factor=0.9, max_bytes_per_second=1e18
    )


def clean(
    log: Log, disk: MemoryFileSystem, first_dirty: int = 0, **options: int
) -> tuple[CleanJob, CleanResult]:
    """Do one pass over the log's frozen segments. Nothing is put in place."""
    manager = LogCleanerManager({log.topic_partition: first_dirty})
    job = job_of(manager.look_at(log, NOW), **options)  # type: ignore[arg-type]
    return job, Cleaner(job, disk, no_throttle).clean()


def cleaned_rows(disk: MemoryFileSystem, base: int) -> list[tuple[int, str | None, str | None]]:
    """The records of a cleaned segment that is not in place yet."""
    data = disk.read(f"/d/t-0/{base:020d}.log.cleaned")
    return [(one.offset, text(one.key), text(one.value)) for one in read_all(data)]


def keys(found: Sequence[tuple[int, str | None, str | None]]) -> list[str | None]:
    return [key for _, key, _ in found]


def put_in_place(log: Log, disk: MemoryFileSystem, result: CleanResult) -> None:
    """Let the log take the cleaned segments, and give all files their names."""
    by_base = {segment.base_offset: segment for segment in log.segments}
    for group in result.groups:
        new = LogSegment(
            disk,
            log.directory,
            group.bases[0],
            log.config.index_interval_bytes,
            NOW,
            CLEANED_SUFFIX,
        )
        new.load()
        log.replace_segments([by_base[base] for base in group.bases], new)
    log.settle_replaced_segments()
