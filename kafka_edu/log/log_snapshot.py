"""Describe a log's state for subscribers of events (spec M1). A new subscriber gets the whole
state, and later samples of the log's end.
"""

from kafka_edu.log.log import Log
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.trace.events.log import ActiveSegment, LogState, SegmentState


def log_state(log: Log) -> LogState:
    """Return the whole state of the log, for a new subscriber. O(segments)."""
    return LogState(
        topic=log.topic_partition.topic,
        partition=log.topic_partition.partition,
        log_dir=log.log_dir,
        log_start_offset=log.log_start_offset,
        recovery_point=log.recovery_point,
        log_end_offset=log.log_end_offset,
        segments=tuple(map(_segment_state, log.segments)),
        leader_epochs=tuple(
            (entry.epoch, entry.start_offset) for entry in log.leader_epoch_cache.entries
        ),
        producers=len(log.producer_state_manager.producers),
    )


def _segment_state(segment: LogSegment) -> SegmentState:
    return SegmentState(
        base_offset=segment.base_offset,
        size=segment.size,
        index_entries=segment.offset_index.entries,
        time_index_entries=segment.time_index.entries,
    )


class LogSampler:
    """Samples the logs whose end has moved since their last sample."""

    def __init__(self) -> None:
        self._ends: dict[Log, int] = {}

    def sample(self, log: Log) -> ActiveSegment | None:
        """Return a sample of the log's end; None if the end has not moved since the last sample.
        O(1).
        """
        if self._ends.get(log) == log.log_end_offset:
            return None
        self._ends[log] = log.log_end_offset
        return ActiveSegment(
            topic=log.topic_partition.topic,
            partition=log.topic_partition.partition,
            log_end_offset=log.log_end_offset,
            segment=_segment_state(log.active_segment),
        )

    def forget(self, log: Log) -> None:
        """Forget a log that the broker does not have any more."""
        self._ends.pop(log, None)
