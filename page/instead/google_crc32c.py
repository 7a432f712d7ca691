"""CRC-32C in Python, in place of the package google-crc32c, which is native code.

It has the two functions of that package that kafka-edu calls. CRC-32C is the checksum of record
batches (Kafka: org.apache.kafka.common.utils.Crc32C).
"""

from typing import Final

POLYNOMIAL: Final = 0x82F63B78
"""The polynomial of Castagnoli, with its bits in reverse order."""
_MASK: Final = 0xFFFF_FFFF


def _table() -> tuple[int, ...]:
    rows = []
    for row in range(256):
        for _ in range(8):
            row = row >> 1 ^ (POLYNOMIAL if row & 1 else 0)
        rows.append(row)
    return tuple(rows)


_TABLE: Final = _table()


def extend(crc: int, data: bytes) -> int:
    """Return the checksum of earlier bytes, whose checksum is `crc`, and of `data` after them.

    O(size): one look into a table for each byte.
    """
    crc ^= _MASK
    table = _TABLE
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ _MASK


def value(data: bytes) -> int:
    """Return the checksum of `data`."""
    return extend(0, data)
