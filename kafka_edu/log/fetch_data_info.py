"""The result of a read of the log (Kafka: FetchDataInfo.scala)."""

from typing import NamedTuple

from kafka_edu.common.transport import Part
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata


class FetchDataInfo(NamedTuple):
    """A piece of a segment, and where it begins. It holds whole batches; only the last one may be
    cut off.
    """

    fetch_offset_metadata: LogOffsetMetadata
    records: Part
    """A FileRegion, for sendfile, or empty bytes. The first batch may begin before the requested
    offset, because batches are not cut open.
    """
    first_entry_incomplete: bool = False
    """Not even the first batch fits into the reader's limit."""


class TimestampOffset(NamedTuple):
    """A record found by its time. The timestamp is -1 if the request was for an end of the log. The
    epoch is -1 if none is known.
    """

    timestamp: int
    offset: int
    leader_epoch: int
