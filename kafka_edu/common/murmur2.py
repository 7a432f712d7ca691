"""Compute murmur2, the hash by which Kafka chooses the partition of a key (Kafka: Utils.java)."""

from struct import unpack_from
from typing import Final

_M: Final = 0x5BD1E995
_SEED: Final = 0x9747B28C
_MASK: Final = 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit hash of `data`, unsigned (Kafka: Utils.murmur2). O(bytes).

    In Java, the same 32 bits are a signed number.
    """
    length = len(data)
    h = _SEED ^ length
    for k in unpack_from(f"<{length >> 2}I", data):
        k = k * _M & _MASK
        h = h * _M & _MASK ^ (k ^ k >> 24) * _M & _MASK
    rest = length & 3
    if rest:
        h = (h ^ int.from_bytes(data[length - rest :], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partition_of_key(key: bytes, partitions: int) -> int:
    """Return the partition of a key: its hash without the sign bit, modulo `partitions`."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
