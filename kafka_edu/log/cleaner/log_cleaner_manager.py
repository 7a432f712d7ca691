"""Choose the log to be cleaned next, and the offsets from which and up to which it is cleaned
(Kafka: LogCleanerManager.scala; KIP-58, KIP-354).

    0 ......... clean ......... | ........ dirty ........ | ... not cleanable yet ...
                           first dirty              first uncleanable        log end

The first dirty offset is where the last pass ended; a checkpoint file in each log dir stores it.
Three kinds of records are not cleanable yet: the records in the active segment, records younger
than min.compaction.lag.ms, and records above the last stable offset, because their transaction may
still be open. A log is due if its share of dirty bytes is above min.cleanable.dirty.ratio, or if a
record has waited longer than max.compaction.lag.ms. The cleaner takes the due log with the largest
share first.
"""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log import Log
from kafka_edu.log.log_segment import LogSegment


class LogToClean(NamedTuple):
    """A log, and those of its closed segments that a cleaning pass reads."""

    log: Log
    segments: tuple[LogSegment, ...]
    first_dirty: int
    first_uncleanable: int
    clean_bytes: int
    dirty_bytes: int
    overdue: bool
    """Whether a record has waited longer than max.compaction.lag.ms."""

    @property
    def bytes(self) -> int:
        return self.clean_bytes + self.dirty_bytes

    @property
    def dirty_ratio(self) -> float:
        return self.dirty_bytes / self.bytes if self.bytes else 0.0

    @property
    def is_due(self) -> bool:
        """Return whether a large enough share of the log is dirty, or the log is overdue."""
        return self.dirty_bytes > 0 and (
            self.overdue or self.dirty_ratio > self.log.config.min_cleanable_dirty_ratio
        )


class LogCleanerManager:
    """Chooses the log to clean, and keeps the first dirty offset of each log. Owned by the broker's
    loop.
    """

    def __init__(self, checkpoints: Mapping[TopicPartition, int]) -> None:
        """`checkpoints` maps partitions to their first dirty offsets, as read from the disk."""
        self.first_dirty = dict(checkpoints)
        self.uncleanable: dict[TopicPartition, str] = {}
        """Logs with a batch that could not be read, each with the reason. They are not cleaned
        until the broker restarts.
        """
        self.in_progress: dict[TopicPartition, Log] = {}
        self.disturbed: set[TopicPartition] = set()
        """Logs that were truncated or paused during their pass. The result of that pass is not
        used.
        """

    def grab(self, logs: Iterable[Log], now_ms: int) -> LogToClean | None:
        """Return the due log with the largest dirty share, and record that it is being cleaned.

        Return None if no log is due. O(segments of compacted logs).
        """
        best: LogToClean | None = None
        for log in logs:
            tp = log.topic_partition
            if not log.config.compact or tp in self.in_progress or tp in self.uncleanable:
                continue
            found = self.look_at(log, now_ms)
            if found.is_due and (best is None or found.dirty_ratio > best.dirty_ratio):
                best = found
        if best is not None:
            self.in_progress[best.log.topic_partition] = best.log
            self.disturbed.discard(best.log.topic_partition)
        return best

    def look_at(self, log: Log, now_ms: int) -> LogToClean:
        """Return what a pass over this log would clean now."""
        start = log.log_start_offset
        known = self.first_dirty.get(log.topic_partition, start)
        first_dirty = known if start <= known <= log.log_end_offset else start
        limit = self._limit(log, first_dirty, now_ms)
        clean: list[LogSegment] = []
        dirty: list[LogSegment] = []
        end = first_dirty
        for segment, following in pairwise(log.segments):
            if following.base_offset > limit:
                break
            end = max(end, following.base_offset)
            (clean if following.base_offset <= first_dirty else dirty).append(segment)
        return LogToClean(
            log,
            (*clean, *dirty),
            first_dirty,
            end,
            sum(segment.size for segment in clean),
            sum(segment.size for segment in dirty),
            self._is_overdue(log, dirty, now_ms),
        )

    def _limit(self, log: Log, first_dirty: int, now_ms: int) -> int:
        limit = min(log.last_stable_offset, log.active_segment.base_offset)
        lag_ms = log.config.min_compaction_lag_ms
        if lag_ms > 0:
            for segment in log.segments.from_offset(first_dirty):
                if segment.largest_timestamp > now_ms - lag_ms:
                    limit = min(limit, segment.base_offset)
                    break
        return limit

    def _is_overdue(self, log: Log, dirty: Iterable[LogSegment], now_ms: int) -> bool:
        lag_ms = log.config.max_compaction_lag_ms
        return any(0 <= segment.max_timestamp_so_far <= now_ms - lag_ms for segment in dirty)

    def done(self, topic_partition: TopicPartition, first_dirty: int) -> None:
        """Record that a pass is complete, and that the log is clean below `first_dirty`."""
        self.in_progress.pop(topic_partition, None)
        self.first_dirty[topic_partition] = first_dirty

    def given_up(self, topic_partition: TopicPartition, reason: str = "") -> None:
        """Record that a pass ended without a result. If `reason` is not empty, the log is not
        cleaned again while this broker runs.
        """
        self.in_progress.pop(topic_partition, None)
        if reason:
            self.uncleanable[topic_partition] = reason

    def disturb(self, topic_partition: TopicPartition) -> None:
        """Make the result of the log's present pass invalid."""
        if topic_partition in self.in_progress:
            self.disturbed.add(topic_partition)

    def truncated(self, topic_partition: TopicPartition, offset: int) -> None:
        """Record that the log was truncated to `offset`. Records written there later count as
        dirty.
        """
        self.disturb(topic_partition)
        known = self.first_dirty.get(topic_partition)
        if known is not None and known > offset:
            self.first_dirty[topic_partition] = offset

    def forget(self, topic_partition: TopicPartition) -> None:
        """Forget a log that was deleted, because a new log may get the same name."""
        self.first_dirty.pop(topic_partition, None)
        self.uncleanable.pop(topic_partition, None)
