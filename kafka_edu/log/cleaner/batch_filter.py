"""Decide which records of a batch are kept, and build the batch without the others (Kafka:
shouldRetainRecord in LogCleaner.scala, filterTo in MemoryRecords.java; KIP-98, KIP-32).

A batch that loses records keeps its base offset, last offset, producer id and sequence numbers. So
the offsets of records never change, and the broker still recognizes a retry of the batch. A batch
that loses all its records is dropped. There is one exception: the last batch of a producer that
still writes. Of this batch the header is kept, without records.
"""

from collections.abc import Sequence

from kafka_edu.log.cleaner.offset_map import OffsetMap
from kafka_edu.record.compression import compress
from kafka_edu.record.memory_records import build_records
from kafka_edu.record.record import Record, encode_records
from kafka_edu.record.record_batch import (
    COMPRESSION_MASK,
    MAGIC_V2,
    BatchHeader,
    assemble_batch,
)


def stays(record: Record, offsets: OffsetMap, *, keeps_tombstones: bool) -> bool:
    """Return whether a record of a data batch is kept.

    A record without a key is dropped. A compacted topic does not accept such records, but they may
    come from a time when the topic had another policy. A record behind the offsets that the map
    covers is kept.
    """
    if record.offset > offsets.latest_offset:
        return True
    if record.key is None or record.offset < offsets.get(record.key):
        return False
    return record.value is not None or keeps_tombstones


def without_records(header: BatchHeader) -> bytes:
    """Return a v2 batch that has this header and no records (Kafka: writeEmptyHeader)."""
    return assemble_batch(
        b"",
        header._replace(
            attributes=header.attributes & ~COMPRESSION_MASK,
            base_timestamp=header.max_timestamp,
            records_count=0,
        ),
    )


def with_records(header: BatchHeader, records: Sequence[Record]) -> bytes:
    """Return the batch with only these of its records (at least one), compressed as before."""
    if header.magic != MAGIC_V2:
        return build_records(
            records, header.magic, header.compression, timestamp_type=header.timestamp_type
        )
    first = records[0].timestamp
    body = encode_records(records, header.base_offset, first)
    codec = header.compression
    latest = header.max_timestamp
    if not header.timestamp_type:
        latest = max(record.timestamp for record in records)
    return assemble_batch(
        compress(codec, body) if codec else body,
        header._replace(base_timestamp=first, max_timestamp=latest, records_count=len(records)),
    )
