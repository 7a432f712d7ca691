"""The cleaner of a broker: it finds dirty logs, has each cleaned, and puts the result in place
(Kafka: LogCleaner.scala and CleanerThread).

    grab the filthiest log → `run_job` copies its segments (another process)
    → the log takes the new segments, in memory, in one step
    → a worker renames the files: .cleaned → .swap, the old ones → .deleted, .swap → the segment
    → the log dir's checkpoint says where the clean part ends

A kill at any moment leaves either the old segments or the new one: `log_loader` removes `.cleaned`,
and finishes a `.swap`.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Sequence
from typing import NamedTuple, Protocol

from kafka_edu.common.files import FileSystem
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.cleaner.clean_job import CleanedGroup, CleanJob, CleanResult
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager, LogToClean
from kafka_edu.log.log import Log
from kafka_edu.log.log_file_names import CLEANED_SUFFIX, SEGMENT_SUFFIXES, segment_file
from kafka_edu.log.log_manager import LogManager, RunBlocking, checkpoint_unreadable
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE, OffsetCheckpointFile
from kafka_edu.trace.events.log import LogCleaned, LogNotCleanable, SegmentsCleaned
from kafka_edu.trace.tracer import Tracer


class CleanerConfig(NamedTuple):
    """The settings of the cleaner; each field has the name of its key."""

    log_cleaner_enable: bool
    log_cleaner_threads: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_backoff_ms: int


class RunJob(Protocol):
    """Does a job where it does not hold up the broker. Raises OSError, and RuntimeError if the
    worker itself has failed.
    """

    def __call__(self, job: CleanJob, /) -> Awaitable[CleanResult]: ...


class LogCleaner:
    """log.cleaner.threads tasks. `start` and `shutdown` are called once."""

    def __init__(
        self,
        config: CleanerConfig,
        log_manager: LogManager,
        file_system: FileSystem,
        time: Time,
        run_job: RunJob,
        run_blocking: RunBlocking,
        on_failure: OnFailure,
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._log_manager = log_manager
        self._file_system = file_system
        self._time = time
        self._run_job = run_job
        self._run_blocking = run_blocking
        self._on_failure = on_failure
        self._trace = trace
        self._tasks: list[asyncio.Task[None]] = []
        self.manager = LogCleanerManager({})
        log_manager.on_truncation(self.manager.truncated)
        log_manager.on_deletion(self.manager.forget)

    async def start(self) -> None:
        """Read the checkpoints, and begin."""
        if not self._config.log_cleaner_enable:
            return
        for log_dir in self._log_manager.live_log_dirs:
            file = self._checkpoint(log_dir)
            try:
                self.manager.first_dirty |= await self._run_blocking(file.read)
            except (OSError, CorruptCheckpointError) as error:
                # Then all of its logs are dirty from their start, which costs one pass.
                if self._trace:
                    self._trace(checkpoint_unreadable(log_dir, file, error))
        for number in range(self._config.log_cleaner_threads):
            task = asyncio.get_running_loop().create_task(
                self._clean_for_ever(), name=f"kafka-log-cleaner-thread-{number}"
            )
            report_failure(task, self._on_failure)
            self._tasks.append(task)

    async def shutdown(self) -> None:
        """Stop. A pass that is under way is given up."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _clean_for_ever(self) -> None:
        while True:
            if not await self.clean_filthiest():
                await self._time.sleep(self._config.log_cleaner_backoff_ms)

    async def clean_filthiest(self) -> bool:
        """Clean the log that needs it most. Return whether one is cleaner than before."""
        logs = self._log_manager.logs.values()
        filthy = self.manager.grab(logs, self._time.milliseconds())
        if filthy is None:
            return False
        tp = filthy.log.topic_partition
        try:
            return await self._clean(filthy)
        finally:  # also after a cancellation
            self.manager.in_progress.pop(tp, None)

    async def _clean(self, filthy: LogToClean) -> bool:
        log, began_ms = filthy.log, self._time.hi_res_clock_ms()
        tp = log.topic_partition
        try:
            result = await self._run_job(self._job(filthy))
        except (OSError, RuntimeError) as error:
            if not self._is_current(log) or isinstance(error, FileNotFoundError):
                self.manager.given_up(tp)  # deleted, or retention has taken a segment meanwhile
            elif isinstance(error, OSError):
                self.manager.given_up(tp)
                self._log_manager.handle_log_dir_failure(log.log_dir, error)
            else:
                self._not_cleanable(tp, str(error))
            return False
        if result.corrupt:
            self._not_cleanable(tp, result.corrupt)
            return False
        if not await self._put_in_place(filthy, result):
            return False
        self.manager.done(tp, result.end_offset)
        self._tell(filthy, result, self._time.hi_res_clock_ms() - began_ms)
        await self._write_checkpoint(log.log_dir)
        return result.end_offset > filthy.first_dirty

    def _job(self, filthy: LogToClean) -> CleanJob:
        config, threads = self._config, max(self._config.log_cleaner_threads, 1)
        return job_of(
            filthy,
            map_bytes=config.log_cleaner_dedupe_buffer_size // threads,
            load_factor=config.log_cleaner_io_buffer_load_factor,
            max_bytes_per_second=config.log_cleaner_io_max_bytes_per_second / threads,
        )

    def _is_current(self, log: Log) -> bool:
        return self._log_manager.get_log(log.topic_partition) is log and not log.closed

    async def _put_in_place(self, filthy: LogToClean, result: CleanResult) -> bool:
        """Replace the segments. Return False if the log has changed meanwhile: it was truncated or
        deleted, or retention has taken some of them.
        """
        log = filthy.log
        by_base = {segment.base_offset: segment for segment in filthy.segments}
        groups = [[by_base[base] for base in group.bases] for group in result.groups]
        try:
            new = await self._run_blocking(lambda: self._opened(log, groups))
        except FileNotFoundError:  # the folder is gone: the log was deleted
            return False
        except CorruptIndexError as error:
            self._not_cleanable(log.topic_partition, str(error))
            return False
        except OSError as error:
            self._log_manager.handle_log_dir_failure(log.log_dir, error)
            return False
        there = set(log.segments) if self._is_current(log) else set()
        if log.topic_partition in self.manager.disturbed or not all(
            segment in there for group in groups for segment in group
        ):
            await self._run_blocking(lambda: self._remove(log, new))
            return False
        for segment, old, group in zip(new, groups, result.groups, strict=True):
            log.replace_segments(old, segment)
            self._tell_segments(log.topic_partition, group)
        try:
            await self._run_blocking(log.settle_replaced_segments)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._log_manager.handle_log_dir_failure(log.log_dir, error)
            return False
        log.note_deleted_segments()
        return True

    def _opened(self, log: Log, groups: Sequence[Sequence[LogSegment]]) -> list[LogSegment]:
        """Open the cleaned segments, with their indexes in memory. Blocks."""
        made = []
        for group in groups:
            segment = LogSegment(
                self._file_system,
                log.directory,
                group[0].base_offset,
                log.config.index_interval_bytes,
                group[-1].created_ms,
                CLEANED_SUFFIX,
            )
            segment.load()
            made.append(segment)
        return made

    def _remove(self, log: Log, segments: Iterable[LogSegment]) -> None:
        """Remove cleaned segments that are of no use any more. Blocks."""
        for segment in segments:
            segment.close_handlers()
            for suffix in SEGMENT_SUFFIXES:
                path = segment_file(log.directory, segment.base_offset, suffix) + CLEANED_SUFFIX
                try:
                    self._file_system.remove(path)
                except OSError:
                    return  # the next start removes what is left

    def _not_cleanable(self, tp: TopicPartition, reason: str) -> None:
        self.manager.given_up(tp, reason or "the cleaner has failed")
        if self._trace:
            self._trace(LogNotCleanable(topic=tp.topic, partition=tp.partition, reason=reason))

    def _tell_segments(self, tp: TopicPartition, group: CleanedGroup) -> None:
        if self._trace:
            self._trace(
                SegmentsCleaned(
                    topic=tp.topic,
                    partition=tp.partition,
                    base_offset=group.bases[0],
                    segments=len(group.bases),
                    bytes_before=group.bytes_before,
                    bytes_after=group.bytes_after,
                    records_before=group.records_before,
                    superseded=group.lost.superseded,
                    tombstones=group.lost.tombstones,
                    aborted=group.lost.aborted,
                    markers=group.lost.markers,
                    without_key=group.lost.without_key,
                )
            )

    def _tell(self, filthy: LogToClean, result: CleanResult, took_ms: int) -> None:
        if not self._trace:
            return
        topic, partition = filthy.log.topic_partition
        self._trace(
            LogCleaned(
                topic=topic,
                partition=partition,
                from_offset=filthy.first_dirty,
                to_offset=result.end_offset,
                segments_before=sum(len(group.bases) for group in result.groups),
                segments_after=len(result.groups),
                bytes_before=sum(group.bytes_before for group in result.groups),
                bytes_after=sum(group.bytes_after for group in result.groups),
                keys=result.map_entries,
                took_ms=took_ms,
            )
        )

    def _checkpoint(self, log_dir: str) -> OffsetCheckpointFile:
        return OffsetCheckpointFile(f"{log_dir}/{CLEANER_OFFSET_FILE}", self._file_system)

    async def _write_checkpoint(self, log_dir: str) -> None:
        offsets = {
            tp: offset
            for tp, offset in self.manager.first_dirty.items()
            if (log := self._log_manager.get_log(tp)) is not None and log.log_dir == log_dir
        }
        try:
            await self._run_blocking(lambda: self._checkpoint(log_dir).write(offsets))
        except OSError as error:
            self._log_manager.handle_log_dir_failure(log_dir, error)


def job_of(
    filthy: LogToClean, *, map_bytes: int, load_factor: float, max_bytes_per_second: float
) -> CleanJob:
    """Return the job of one pass: the log's state and settings as they are now."""
    log, config, chosen = filthy.log, filthy.log.config, len(filthy.segments)
    return CleanJob(
        directory=log.directory,
        bases=tuple(segment.base_offset for segment in filthy.segments),
        later_bases=tuple(one.base_offset for one in list(log.segments)[chosen:]),
        first_dirty=filthy.first_dirty,
        first_uncleanable=filthy.first_uncleanable,
        delete_retention_ms=config.delete_retention_ms,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        last_of_producers=tuple(
            (one.producer_id, one.producer_epoch, one.last_offset)
            for one in log.producer_state_manager.producers.values()
        ),
        map_bytes=map_bytes,
        load_factor=load_factor,
        max_bytes_per_second=max_bytes_per_second,
    )
