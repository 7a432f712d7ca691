"""What a read of the log gives (Kafka: FetchDataInfo.scala)."""

from typing import NamedTuple

from kafka_edu.common.transport import Part
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata


class FetchDataInfo(NamedTuple):
    """A piece of a segment: whole batches, but perhaps for the last; and where it begins."""

    fetch_offset_metadata: LogOffsetMetadata
    records: Part
    """A FileRegion, for sendfile; or empty bytes. The first batch may begin before the offset asked
    for: batches are not cut open.
    """
    first_entry_incomplete: bool = False
    """Not even the first batch fits into what the reader allowed."""


class TimestampOffset(NamedTuple):
    """A record found by its time. The timestamp is -1 where an end of the log was asked for; the
    epoch -1 if none is known.
    """

    timestamp: int
    offset: int
    leader_epoch: int
