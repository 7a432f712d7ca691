"""Read the fields of many v2 records at once, as columns of numpy.

A record is a chain of varints (see `kafka_edu.record.record`). Only the step from record to record
needs a loop in Python, because the length of a record says where the next one begins. All other
fields are read column by column. `varints` takes the positions of one field in every record, reads
one byte of each, and then continues with the varints that are longer. The log cleaner, the Spark
source and the consumer use this module.
"""

from itertools import repeat

import numpy as np

from kafka_edu.common.arrays import Bytes, Int64s
from kafka_edu.record.record import InvalidRecordError, read_varint


def append_begins(data: bytes, at: int, end: int, count: int, begins: list[int]) -> None:
    """Append the position of each of the `count` records from `at` to `end`.

    Raises InvalidRecordError if the records do not fill these bytes exactly. O(records).
    """
    append = begins.append
    try:
        for _ in repeat(None, count):
            append(at)
            byte = data[at]
            if byte < 0x80:  # a record below 64 bytes
                at += 1 + (byte >> 1)
                continue
            second = data[at + 1]
            if second < 0x80:  # below 8 KiB: the length is (byte & 0x7F | second << 7) >> 1
                at += (byte >> 1) + (second << 6) - 62
                continue
            length, at = read_varint(data, at)
            if length < 0:
                raise InvalidRecordError(f"a record of {length} bytes")
            at += length
    except IndexError:
        at = -1
    if at != end:
        raise InvalidRecordError(f"{count} records do not fill their batch")


def behind_varints(data: Bytes, at: Int64s) -> Int64s:
    """Return the end of the varint at each position in `at`. All these varints must be complete.

    O(positions · longest varint).
    """
    after = at + 1
    longer = np.flatnonzero(data[at] >= 0x80)
    while longer.size:
        byte = data[after[longer]]
        after[longer] += 1
        longer = longer[byte >= 0x80]
    return after


def varints(data: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """Return the decoded zigzag varint at each position in `at`, and the end of each varint.

    Raises InvalidRecordError. O(positions · longest varint). If every varint has one or two bytes,
    as most varints have, all are decoded together in one step.
    """
    try:
        first = data[at]
        after = at + 1
        raw = first.astype(np.int64)
        longer = first >= 0x80
        if longer.any():
            second = data.take(after, mode="clip")  # past the end, the last byte again
            if (second[longer] >= 0x80).any():
                return _long_varints(data, at)
            raw += np.where(longer, (second.astype(np.int64) << 7) - 0x80, 0)
            after += longer
    except IndexError:
        raise InvalidRecordError("a varint reaches over the end of its batch") from None
    return (raw >> 1) ^ -(raw & 1), after


def _long_varints(data: Bytes, at: Int64s) -> tuple[Int64s, Int64s]:
    """Do the same as `varints`, for varints of any length. Raises InvalidRecordError,
    IndexError.
    """
    byte = data[at]
    raw = (byte & 0x7F).astype(np.uint64)
    after = at + 1
    longer = np.flatnonzero(byte >= 0x80)
    shift = 7
    while longer.size:
        if shift > 63:
            raise InvalidRecordError("a varint is longer than 10 bytes")
        byte = data[after[longer]]
        raw[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[longer] += 1
        longer = longer[byte >= 0x80]
        shift += 7
    one = np.uint64(1)
    return ((raw >> one) ^ (np.uint64(0) - (raw & one))).astype(np.int64), after
