"""Choose the old segments that retention may delete (Kafka: deleteOldSegments in Log.scala; seed
004; spec S3). The only input is the log's state.

    by time    the latest record of the segment is older than retention.ms
    by size    without the segment, the log still has retention.bytes or more
    by start   the whole segment lies below the log start offset, because of DeleteRecords or
               because the leader has deleted these records already

The oldest segments are chosen first, up to the first segment that must be kept, because a log has
no gaps. A segment that reaches above the HW is kept, because its records are not committed. In a
compacted topic only segments below the log start are chosen. Only whole segments are deleted, so a
record often exists longer than its retention time.
"""

from collections.abc import Sequence

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
    surplus = sum(segment.size for segment in segments) - config.retention_bytes
    for i, segment in enumerate(segments):
        active = i + 1 == len(segments)
        end = log_end_offset if active else segments[i + 1].base_offset
        surplus -= segment.size
        if end > high_watermark or (active and segment.size == 0):
            break
        if (
            config.delete
            and config.retention_ms >= 0
            and now_ms - segment.largest_timestamp > config.retention_ms
        ):
            reasons.append(BY_TIME)
        elif config.delete and config.retention_bytes >= 0 and surplus >= 0:
            reasons.append(BY_SIZE)
        elif end <= log_start_offset and not active:
            reasons.append(BY_START)
        else:
            break
    return reasons
