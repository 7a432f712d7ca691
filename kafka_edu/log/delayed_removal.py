"""Remove the files of deleted segments and logs from the disk, file.delete.delay.ms after they were
renamed (Kafka: deleteLogs in LogManager.scala, deleteSegmentFiles in Log.scala).

The renamed files have the suffix `.deleted`, the folders `-delete`. Until the removal, a reader
that has opened a file can still read it. `run` is the task `kafka-delete-logs`. The log manager
starts it when there is something to remove. If files remain when the broker stops, its next start
finds them.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kafka_edu.common.files import FileSystem
from kafka_edu.common.run_blocking import RunBlocking
from kafka_edu.common.time import Time
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.trace.events.log import DoomedSegment, SegmentFilesRemoved
from kafka_edu.trace.tracer import Tracer

LONGEST_WAIT_MS: Final = 1000
"""The longest pause in ms between two checks for files that are due for removal. A file that is
added meanwhile may be due earlier than the others.
"""


class _Segment(NamedTuple):
    """A segment whose files wait for their removal."""

    due_ms: int
    """The monotonic ms at which the segment's files are removed."""
    at_ms: int
    """The same time as `due_ms`, in ms since 1970, for the log screen."""
    topic_partition: TopicPartition
    log_dir: str
    segment: LogSegment

    def close(self) -> None:
        self.segment.close_handlers()


class _Folder(NamedTuple):
    """A folder of a deleted log, at `path`.

    `log` is None if the broker found the folder at its start.
    """

    due_ms: int
    log_dir: str
    path: str
    log: Log | None

    def close(self) -> None:
        if self.log is not None:
            self.log.close_handlers()


class DelayedRemoval:
    """The segments and folders that wait for their removal. Owned by the log manager.

    `is_offline` returns whether a log dir has failed. `on_disk_failure` is called if a log dir
    fails now.
    """

    def __init__(
        self,
        file_system: FileSystem,
        time: Time,
        run_blocking: RunBlocking,
        trace: Tracer | None,
        *,
        is_offline: Callable[[str], bool],
        on_disk_failure: Callable[[str, OSError], None],
    ) -> None:
        self._file_system = file_system
        self._time = time
        self._run_blocking = run_blocking
        self._trace = trace
        self._is_offline = is_offline
        self._on_disk_failure = on_disk_failure
        self._waiting: list[_Segment | _Folder] = []

    def add_segments(self, log: Log) -> bool:
        """Take over the renamed segments of a log. Return whether the log had renamed segments."""
        delay_ms, taken = log.config.file_delete_delay_ms, False
        due_ms = self._time.hi_res_clock_ms() + delay_ms
        at_ms = self._time.milliseconds() + delay_ms
        while log.deleted_segments:  # a worker may append to it meanwhile
            segment = log.deleted_segments.pop(0)
            tp = log.topic_partition
            self._waiting.append(_Segment(due_ms, at_ms, tp, log.log_dir, segment))
            taken = True
        return taken

    def add_log(self, log: Log, path: str) -> None:
        """Take over a deleted log, whose folder is at `path` now."""
        due_ms = self._time.hi_res_clock_ms() + log.config.file_delete_delay_ms
        self._waiting.append(_Folder(due_ms, log.log_dir, path, log))

    def add_found(self, log_dir: str, path: str) -> None:
        """Take over the folder of a deleted log that the broker found at its start.

        The folder is due for removal now.
        """
        self._waiting.append(_Folder(self._time.hi_res_clock_ms(), log_dir, path, None))

    def segments(self) -> Mapping[str, tuple[DoomedSegment, ...]]:
        """Return the segments whose files are still on the disk, by the folder of their log.

        If several deleted segments of a log have the same base offset, they have the same file
        names, so only the files of the latest segment exist. These files are removed when the first
        of the segments is due.
        """
        found: dict[str, dict[int, DoomedSegment]] = {}
        for one in self._waiting:
            if isinstance(one, _Segment):
                segment = one.segment
                same_folder = found.setdefault(segment.directory, {})
                earlier = same_folder.get(segment.base_offset)
                at_ms = one.at_ms if earlier is None else min(earlier.at_ms, one.at_ms)
                same_folder[segment.base_offset] = DoomedSegment(
                    base_offset=segment.base_offset, size=segment.size, at_ms=at_ms
                )
        return {directory: tuple(many.values()) for directory, many in found.items()}

    def moved(self, before: str, directory: str) -> None:
        """Record that the folder of a log has a different name now."""
        for one in self._waiting:
            if isinstance(one, _Segment) and one.segment.directory == before:
                one.segment.moved_to(directory)

    async def run(self) -> None:
        """Remove each file and folder when it is due, until none waits any more."""
        while self._waiting:
            first = min(self._waiting, key=lambda one: one.due_ms)
            wait_ms = first.due_ms - self._time.hi_res_clock_ms()
            if wait_ms > 0:
                await self._time.sleep(min(wait_ms, LONGEST_WAIT_MS))
            else:
                self._waiting.remove(first)
                await self._remove(first)

    async def _remove(self, one: _Segment | _Folder) -> None:
        """Remove the files from the disk. In a dir that has failed, only close the open files.

        The broker finds the files that remain in such a dir at its next start.
        """
        if self._is_offline(one.log_dir):
            one.close()
            return
        try:
            if isinstance(one, _Segment):
                await self._run_blocking(one.segment.delete)
                self._tell(one)
            else:
                one.close()
                await self._run_blocking(lambda: self._file_system.remove_tree(one.path))
        except OSError as error:
            self._on_disk_failure(one.log_dir, error)

    def _tell(self, one: _Segment) -> None:
        if self._trace:
            self._trace(
                SegmentFilesRemoved(
                    topic=one.topic_partition.topic,
                    partition=one.topic_partition.partition,
                    base_offset=one.segment.base_offset,
                )
            )
