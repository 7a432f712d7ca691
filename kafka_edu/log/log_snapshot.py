"""What watchers are told of a log without anything having happened: its whole state, and samples of
its end (spec M1).
"""

from kafka_edu.log.log import Log
from kafka_edu.trace.events.log import ActiveSegment, LogState


def log_state(log: Log) -> LogState:
    """The whole log, for one who has just begun to look. O(segments)."""
    return LogState(
        topic=log.topic_partition.topic,
        partition=log.topic_partition.partition,
        log_dir=log.log_dir,
        log_start_offset=log.log_start_offset,
        recovery_point=log.recovery_point,
        log_end_offset=log.log_end_offset,
        segments=tuple(
            (s.base_offset, s.size, s.offset_index.entries, s.time_index.entries)
            for s in log.segments
        ),
        leader_epochs=tuple(
            (entry.epoch, entry.start_offset) for entry in log.leader_epoch_cache.entries
        ),
        producers=len(log.producer_state_manager.producers),
    )


class LogSampler:
    """Tells the end of those logs that have moved since the last sample."""

    def __init__(self) -> None:
        self._ends: dict[Log, int] = {}

    def sample(self, log: Log) -> ActiveSegment | None:
        """None if the log ends where it did. O(1)."""
        if self._ends.get(log) == log.log_end_offset:
            return None
        self._ends[log] = log.log_end_offset
        active = log.active_segment
        return ActiveSegment(
            topic=log.topic_partition.topic,
            partition=log.topic_partition.partition,
            log_end_offset=log.log_end_offset,
            base_offset=active.base_offset,
            size=active.size,
            index_entries=active.offset_index.entries,
            time_index_entries=active.time_index.entries,
        )

    def forget(self, log: Log) -> None:
        """The log is gone."""
        self._ends.pop(log, None)
