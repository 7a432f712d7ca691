"""Choose the old segments that retention may delete (Kafka: deleteOldSegments in Log.scala; seed
004; spec S3). The only input is the log's state.

    by time    the latest record of the segment is older than retention.ms
    by size    without the segment, the log still has retention.bytes or more
    by start   the whole segment lies below the log start offset, because of DeleteRecords or
               because the leader has deleted these records already

The three rules are applied one after the other. Each rule begins at the oldest segment that the
rules before it have left, and ends at the first segment that must stay, because a log has no holes.
Segments that reach above the HW stay, because their records are not committed. A compacted topic
loses only segments below its start. Only whole segments are deleted, so a record often outlives its
retention time. A record with a time in the future keeps its segment, and all later segments, until
retention.ms after that time.
"""

from collections.abc import Callable, Sequence

from kafka_edu.log.log_config import LogConfig
from kafka_edu.log.log_segment import LogSegment

BY_TIME = "retention by time"
BY_SIZE = "retention by size"
BY_START = "log start offset"


def deletable_segments(
    segments: Sequence[LogSegment],
    log_start_offset: int,
    high_watermark: int,
    log_end_offset: int,
    config: LogConfig,
    now_ms: int,
) -> list[str]:
    """Return the reasons why the oldest segments may be deleted, one reason for each segment.

    The active segment may be deleted too, unless it is empty. O(segments).
    """
    reasons: list[str] = []
    total = sum(segment.size for segment in segments)

    def take(reason: str, must_go: Callable[[LogSegment, int | None], bool]) -> None:
        for i in range(len(reasons), len(segments)):
            segment = segments[i]
            following = segments[i + 1].base_offset if i + 1 < len(segments) else None
            end = log_end_offset if following is None else following
            is_last_and_empty = following is None and segment.size == 0
            if end > high_watermark or is_last_and_empty or not must_go(segment, following):
                return
            reasons.append(reason)

    if config.delete and config.retention_ms >= 0:
        take(BY_TIME, lambda s, _: now_ms - s.largest_timestamp > config.retention_ms)
    if config.delete and config.retention_bytes >= 0:
        surplus = total - config.retention_bytes
        surplus -= sum(segment.size for segment in segments[: len(reasons)])

        def is_surplus(segment: LogSegment, _: int | None) -> bool:
            nonlocal surplus
            surplus -= segment.size
            return surplus >= 0

        take(BY_SIZE, is_surplus)
    take(BY_START, lambda _, following: following is not None and following <= log_start_offset)
    return reasons
