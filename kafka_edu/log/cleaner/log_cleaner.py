"""The cleaner of a broker: it finds dirty logs, starts their cleaning, and replaces their segments
with the cleaned ones (Kafka: LogCleaner.scala and CleanerThread).

    take the dirtiest log → `run_job` copies its segments (another process)
    → the log replaces its segments in memory, in one step
    → a worker renames the files: new ones to .swap, old ones to .deleted, .swap to final names
    → the offset where the clean part ends is written into the log dir's checkpoint

If the broker is killed, the log has either the old segments or the new segment at the next start:
`log_loader` removes `.cleaned` files and completes the renaming of `.swap` files.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, Protocol

from kafka_edu.common.files import FileSystem
from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.abstract_index import CorruptIndexError
from kafka_edu.log.checkpoint_file import CorruptCheckpointError
from kafka_edu.log.cleaner.clean_job import CleanedGroup, CleanJob, CleanResult
from kafka_edu.log.cleaner.log_cleaner_manager import LogCleanerManager, LogToClean
from kafka_edu.log.log import Log
from kafka_edu.log.log_dir_scan import checkpoint_unreadable
from kafka_edu.log.log_file_names import CLEANED_SUFFIX, SEGMENT_SUFFIXES, segment_file
from kafka_edu.log.log_manager import LogManager
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.offset_checkpoint_file import CLEANER_OFFSET_FILE, OffsetCheckpointFile
from kafka_edu.trace.events.log import (
    CleanerForecast,
    CleaningGivenUp,
    CleaningStarted,
    LogCleaned,
    LogNotCleanable,
    SegmentsCleaned,
)
from kafka_edu.trace.tracer import Tracer

LOG_CHANGED: Final = (
    "meanwhile the log was truncated or deleted, retention took a segment, or the log dir failed"
)
SAMPLE_INTERVAL_MS: Final = 1000
"""The shortest time between two forecasts of the cleaner's work."""


class CleanerConfig(NamedTuple):
    """The settings of the cleaner. Each field is named after its key in server.properties."""

    log_cleaner_enable: bool
    log_cleaner_threads: int
    log_cleaner_dedupe_buffer_size: int
    log_cleaner_io_buffer_load_factor: float
    log_cleaner_io_max_bytes_per_second: float
    log_cleaner_backoff_ms: int


class RunJob(Protocol):
    """Runs a job without blocking the broker's loop. Raises OSError, and RuntimeError if the worker
    process itself has failed.
    """

    def __call__(self, job: CleanJob, /) -> Awaitable[CleanResult]: ...


class LogCleaner:
    """Cleans logs with log.cleaner.threads tasks. Call `start` and `shutdown` once."""

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
        self._sampled: dict[TopicPartition, CleanerForecast] = {}
        self._next_sample_ms = 0
        log_manager.on_truncation(self.manager.truncated)
        log_manager.on_deletion(self.manager.forget)
        if trace:
            trace.on_snapshot(self._forecasts)
            trace.on_gauges(self._new_forecasts)
        log_manager.on_cleaning_paused(self.manager.disturb)
        log_manager.on_replacement(self._replaced)
        self._unwritten: dict[str, None] = {}
        """Log dirs from which or to which a log has moved, so their checkpoint must be written."""

    async def start(self) -> None:
        """Read the checkpoints, and start the tasks."""
        if not self._config.log_cleaner_enable:
            return
        self._log_manager.cleaner_runs = True
        for log_dir in self._log_manager.live_log_dirs:
            file = self._checkpoint(log_dir)
            try:
                for tp, offset in (await self._run_blocking(file.read)).items():
                    log = self._log_manager.get_log(tp)
                    if log is None or log.log_dir == log_dir:  # else it is in another dir now
                        self.manager.first_dirty[tp] = offset
            except (OSError, CorruptCheckpointError) as error:
                # Without the checkpoint, all logs of this dir count as dirty from their start, so
                # the cleaner reads them once more.
                if self._trace:
                    self._trace(checkpoint_unreadable(log_dir, file, error))
        for number in range(self._config.log_cleaner_threads):
            task = asyncio.get_running_loop().create_task(
                self._clean_for_ever(), name=f"kafka-log-cleaner-thread-{number}"
            )
            report_failure(task, self._on_failure)
            self._tasks.append(task)

    async def shutdown(self) -> None:
        """Stop the tasks. A pass under way is cancelled."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()

    async def _clean_for_ever(self) -> None:
        while True:
            await self.write_checkpoints_of_moves()
            if not await self.clean_filthiest():
                await self._time.sleep(self._config.log_cleaner_backoff_ms)

    async def write_checkpoints_of_moves(self) -> None:
        """Write the cleaner's checkpoints of all log dirs from which or into which a replica has
        moved.
        """
        while self._unwritten:
            log_dir, _ = self._unwritten.popitem()
            if log_dir in self._log_manager.live_log_dirs:
                await self._write_checkpoint(log_dir)

    async def clean_filthiest(self) -> bool:
        """Clean the log with the largest dirty share. Return whether a log was cleaned."""
        manager = self._log_manager
        logs = [log for tp, log in manager.logs.items() if not manager.is_cleaning_paused(tp)]
        filthy = self.manager.grab(logs, self._time.milliseconds())
        if filthy is None:
            return False
        tp = filthy.log.topic_partition
        self._tell_started(filthy)
        try:
            return await self._clean(filthy)
        finally:  # even after a cancellation
            self.manager.in_progress.pop(tp, None)

    async def _clean(self, filthy: LogToClean) -> bool:
        log, began_ms = filthy.log, self._time.hi_res_clock_ms()
        tp = log.topic_partition
        try:
            result = await self._run_job(self._job(filthy))
        except (OSError, RuntimeError) as error:
            if not self._is_current(log) or isinstance(error, FileNotFoundError):
                self._give_up(tp, LOG_CHANGED)
            elif isinstance(error, OSError):
                self._give_up(tp, str(error))
                self._log_manager.handle_log_dir_failure(log.log_dir, error)
            else:
                self._not_cleanable(tp, str(error))
            return False
        if result.corrupt:
            self._not_cleanable(tp, result.corrupt)
            return False
        if not await self._put_in_place(filthy, result):
            self._give_up(tp, LOG_CHANGED)
            return False
        self.manager.done(tp, result.end_offset)
        self._tell(filthy, result, self._time.hi_res_clock_ms() - began_ms)
        await self._write_checkpoint(log.log_dir)
        return result.end_offset > filthy.first_dirty

    def _replaced(self, old_dir: str, new_dir: str) -> None:
        """Record that a log has moved between two dirs. The checkpoint of the new dir must now
        contain the log's first dirty offset (Kafka: alterCheckpointDir).
        """
        self._unwritten |= {new_dir: None, old_dir: None}

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
        """Replace the log's segments with the cleaned ones.

        Return False if the log has changed meanwhile: it was truncated or deleted, or retention has
        deleted some of the segments.
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
        """Open the cleaned segments and map their indexes. Blocks."""
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
        """Delete the files of cleaned segments that are not needed any more. Blocks."""
        for segment in segments:
            segment.close_handlers()
            for suffix in SEGMENT_SUFFIXES:
                path = segment_file(log.directory, segment.base_offset, suffix) + CLEANED_SUFFIX
                try:
                    self._file_system.remove(path)
                except OSError:
                    return  # the broker removes the rest at its next start

    def _give_up(self, tp: TopicPartition, reason: str) -> None:
        """End a cleaning pass without a result. If the pass has already ended, because the log
        cannot be cleaned, do nothing.
        """
        if tp not in self.manager.in_progress:
            return
        self.manager.given_up(tp)
        if self._trace:
            self._trace(CleaningGivenUp(topic=tp.topic, partition=tp.partition, reason=reason))

    def _tell_started(self, filthy: LogToClean) -> None:
        if self._trace:
            self._trace(
                CleaningStarted(
                    topic=filthy.log.topic_partition.topic,
                    partition=filthy.log.topic_partition.partition,
                    from_offset=filthy.first_dirty,
                    to_offset=filthy.first_uncleanable,
                    segments=len(filthy.segments),
                    clean_bytes=filthy.clean_bytes,
                    dirty_bytes=filthy.dirty_bytes,
                )
            )

    def _forecasts(self) -> Iterator[CleanerForecast]:
        """Yield what the cleaner would do with each compacted log now. O(segments of these
        logs).
        """
        now_ms = self._time.milliseconds()
        for tp, log in self._log_manager.logs.items():
            if log.config.compact:
                found = self.manager.look_at(log, now_ms)
                yield CleanerForecast(
                    topic=tp.topic,
                    partition=tp.partition,
                    first_dirty=found.first_dirty,
                    first_uncleanable=found.first_uncleanable,
                    clean_bytes=found.clean_bytes,
                    dirty_bytes=found.dirty_bytes,
                    due_above_bytes=int(found.bytes * log.config.min_cleanable_dirty_ratio),
                    state=self._state(found),
                )

    def _new_forecasts(self) -> Iterator[CleanerForecast]:
        """Yield the forecasts that differ from the last sample, at most once a second."""
        if self._time.hi_res_clock_ms() < self._next_sample_ms:
            return
        self._next_sample_ms = self._time.hi_res_clock_ms() + SAMPLE_INTERVAL_MS
        sampled = {TopicPartition(one.topic, one.partition): one for one in self._forecasts()}
        for tp, one in sampled.items():
            if self._sampled.get(tp) != one:
                yield one
        self._sampled = sampled

    def _state(self, found: LogToClean) -> str:
        tp = found.log.topic_partition
        if not self._config.log_cleaner_enable:
            return "cleaner is off"
        if tp in self.manager.in_progress:
            return "being cleaned"
        if tp in self.manager.uncleanable:
            return "left alone"
        if found.is_due:
            return "due"
        return "not dirty enough" if found.dirty_bytes else "nothing to clean"

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
    """Return the job of one pass, made from the log's current state and settings."""
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
