"""Read the records of batches as lists: all offsets, all timestamps, all keys and so on.

A consumer makes its own records from these lists. So no `Record` object is made. When there are
many records, the lists are read with numpy (`kafka_edu.record.record_columns`), many records in
each step. A record of 100 bytes then takes 0.3 µs, compared with 0.6 µs in `decode_records`.

For few records, numpy's fixed cost of about 35 µs is more than numpy saves. So all batches of a
response that follow each other are read together, because one batch of 64 KB has only 60 records of
1 KiB. `decode_records` reads few records, records with headers, and records without a value. Where
numpy is missing, as in the live page, it reads all records. It also gets invalid bytes, finds the
fault and raises the error.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib import import_module
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.common.files import Buffer
from kafka_edu.record.compression import decompress
from kafka_edu.record.memory_records import read_entry
from kafka_edu.record.record import InvalidRecordError, decode_records
from kafka_edu.record.record_batch import (
    HEADER_BYTES,
    LOG_APPEND_TIME_BIT,
    MAGIC_V2,
    BatchHeader,
)

if TYPE_CHECKING:  # numpy is imported when it is needed
    from kafka_edu.common.arrays import Int64s

MANY: Final = 100
"""From this number of records on, numpy is faster (measured with records of 100 bytes and 1
KiB).
"""


class RecordFields(NamedTuple):
    """The fields of the records of one batch. All lists have the same length, or repeat one
    value.
    """

    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Iterable[bytes | None]
    values: Iterable[bytes | None]
    headers: Iterable[tuple[tuple[str, bytes | None], ...]]


def read_fields(entries: Sequence[tuple[Buffer, BatchHeader]]) -> RecordFields:
    """Return the fields of the records of whole entries of a log, in any format. O(bytes).

    The entries follow each other in the log. The CRC is not checked. Raises the errors of
    `read_entry`.
    """
    headers = [header for _, header in entries]
    if all(header.magic == MAGIC_V2 for header in headers):
        sections = [_uncompressed(batch, header) for batch, header in entries]
        if sum(header.records_count for header in headers) >= MANY and _has_numpy():
            fields = _plain_fields(sections, headers)
            if fields is not None:
                return fields
        records = [
            record
            for data, header in zip(sections, headers, strict=True)
            for record in decode_records(
                bytes(data),
                header.records_count,
                header.base_offset,
                header.base_timestamp,
                header.max_timestamp if header.attributes & LOG_APPEND_TIME_BIT else None,
            )
        ]
    else:
        records = [record for entry, _ in entries for record in read_entry(entry)]
    return RecordFields(*zip(*records, strict=True)) if records else RecordFields(*[()] * 5)


@cache
def _has_numpy() -> bool:
    try:
        import_module("numpy")
    except ImportError:
        return False
    return True


def _uncompressed(batch: Buffer, header: BatchHeader) -> Buffer:
    """Return the bytes of the records of a v2 batch. Raises CompressionError."""
    body = memoryview(batch)[HEADER_BYTES:]
    codec = header.compression
    return decompress(codec, body) if codec else body


def _plain_fields(
    sections: Sequence[Buffer], headers: Sequence[BatchHeader]
) -> RecordFields | None:
    """Return the fields of records that have a value and no headers. Either all must have a key, or
    none.

    Return None if a record has headers or no value, if only some records have a key, or if the
    bytes are invalid.
    """
    import numpy as np  # takes 0.1 s, and a program that reads little does not need it

    from kafka_edu.record.record_columns import append_begins, behind_varints, varints

    data = b"".join(sections)  # the only copy of uncompressed batches
    size = len(data)
    begins: list[int] = []
    borders, at = [0], 0
    try:
        for section, header in zip(sections, headers, strict=True):
            append_begins(data, at, at + len(section), header.records_count, begins)
            at += len(section)
            borders.append(len(begins))
        counts = np.diff(borders)

        def of_batch(values: list[int]) -> "Int64s":
            return np.repeat(np.array(values, np.int64), counts)

        column = np.frombuffer(data, np.uint8)
        begin = np.array(begins)
        timestamp, after = varints(column, behind_varints(column, begin) + 1)
        offset, after = varints(column, after)
        key_length, key_at = varints(column, after)
        keyless = int(key_length.max()) == -1
        value_length, value_at = varints(column, key_at + (0 if keyless else key_length))
        value_end = value_at + value_length
        end = np.append(begin[1:], size)
        if (
            (not keyless and int(key_length.min()) < 0)
            or int(value_length.min()) < 0
            or (value_end + 1 != end).any()
            or column[value_end].any()  # the number of headers
        ):
            return None
    except (InvalidRecordError, IndexError):
        return None
    keys: Iterable[bytes | None] = repeat(None)
    if not keyless:
        key_end = (key_at + key_length).tolist()
        keys = [data[a:b] for a, b in zip(key_at.tolist(), key_end, strict=True)]
    created = timestamp + of_batch([header.base_timestamp for header in headers])
    by_leader = of_batch([header.attributes & LOG_APPEND_TIME_BIT for header in headers])
    stored = of_batch([header.max_timestamp for header in headers])
    return RecordFields(
        (offset + of_batch([header.base_offset for header in headers])).tolist(),
        np.where(by_leader, stored, created).tolist(),
        keys,
        [data[a:b] for a, b in zip(value_at.tolist(), value_end.tolist(), strict=True)],
        repeat(()),
    )
