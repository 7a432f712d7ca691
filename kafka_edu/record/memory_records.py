"""Read and build log entries of any message format.

(Kafka: MemoryRecords.java, MemoryRecordsBuilder.java.)
"""

from collections.abc import Sequence
from typing import Final

from kafka_edu.common.files import Buffer
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.legacy import build_message_set, inner_records, iter_messages
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    MAGIC_OFFSET,
    MAGIC_V2,
    TimestampType,
    build_batch,
    iter_headers,
    read_records,
)

MAGICS: Final = (0, 1, 2)


def read_entry(entry: Buffer) -> list[Record]:
    """Return the records of one whole entry: a v2 batch, an old message, or an old wrapper.

    Raises the errors of the function that reads that format. O(bytes).
    """
    if entry[MAGIC_OFFSET] == MAGIC_V2:
        return read_records(entry)
    return [record for message in iter_messages(entry) for record in inner_records(message)]


def read_all(entries: Buffer) -> list[Record]:
    """Return the records of all whole entries in `entries`, in order. O(bytes)."""
    view = memoryview(entries)
    return [
        record
        for at, header in iter_headers(view)
        for record in read_entry(view[at : at + header.size_in_bytes])
    ]


def build_records(
    records: Sequence[Record],
    magic: int,
    compression: CompressionType = CompressionType.NONE,
    *,
    timestamp_type: TimestampType = TimestampType.CREATE_TIME,
) -> bytes:
    """Return `records`, at least one, as bytes in message format `magic`. O(bytes).

    Older formats have no record headers, and v0 has no timestamps.
    """
    if magic == MAGIC_V2:
        return build_batch(records, compression=compression, timestamp_type=timestamp_type)
    return build_message_set(
        records, magic, compression, log_append_time=timestamp_type is TimestampType.LOG_APPEND_TIME
    )
