"""The result of a read of the log (Kafka: FetchDataInfo.scala)."""

from typing import NamedTuple

from kafka_edu.common.transport import Part
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata


class FetchDataInfo(NamedTuple):
    """The batches that one read of the log returned, and the place where they begin.

    All batches are of one segment. Only the end of the last batch may be cut off.
    """

    fetch_offset_metadata: LogOffsetMetadata
    records: Part
    """A FileRegion, whose bytes sendfile sends, or empty bytes. The first batch may begin before
    the requested offset, because batches are not cut at their beginning.
    """
    first_entry_incomplete: bool = False
    """Whether even the first batch is larger than the reader's limit and is cut off."""


class TimestampOffset(NamedTuple):
    """The offset that was found for a timestamp.

    `timestamp` is the timestamp of the found record, or -1 if the request was for the log's start
    or end. The epoch is -1 if it is not known.
    """

    timestamp: int
    offset: int
    leader_epoch: int
