"""ListOffsets v0: segment starts instead of records' offsets (Kafka: Log.legacyFetchOffsetsBefore,
Partition.legacyFetchOffsetsForTimestamp).
"""

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.log.log import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP, Log


def legacy_offsets_before(
    log: Log, timestamp: int, max_offsets: int, high_watermark: int | None, wall_ms: int
) -> list[int]:
    """At most `max_offsets` offsets, newest first: the log end if that is old enough, and the
    starts of segments that are. O(segments).

    A segment is as old as its last record; if its records have no times, as its file (Kafka always
    asks the file). -1: the newest, -2: the oldest. With `high_watermark`, a consumer's, offsets
    above it are replaced by it. Raises UNKNOWN_SERVER_ERROR for a negative `max_offsets`, as Kafka
    does.
    """
    if max_offsets < 0:
        raise KafkaException(Errors.UNKNOWN_SERVER_ERROR, f"{max_offsets} offsets are asked for")
    found = [
        (max(segment.base_offset, log.log_start_offset), segment.largest_timestamp)
        for segment in log.segments
    ]
    if log.active_segment.size:
        found.append((log.log_end_offset, wall_ms))
    if timestamp == EARLIEST_TIMESTAMP:
        found = found[:1]
    elif timestamp != LATEST_TIMESTAMP:
        while found and found[-1][1] > timestamp:
            found.pop()
    offsets = sorted([offset for offset, _ in found[::-1][:max_offsets]], reverse=True)
    if high_watermark is not None and offsets and offsets[0] > high_watermark:
        return [high_watermark, *(offset for offset in offsets if offset <= high_watermark)]
    return offsets
