"""Choose the partition of each row as Kafka's producer does (Kafka: DefaultPartitioner.java).

A row with a key goes to the partition murmur2(key) mod number of partitions. Java's producer does
the same, so equal keys always go to the same partition. Rows without a key all go to one partition
until a batch is full, and then to the next partition.
"""

import numpy as np
import pyarrow as pa

from kafka_edu.common.arrays import Bools, Int64s

_SEED, _M, _MASK = 0x9747B28C, 0x5BD1E995, 0xFFFF_FFFF


def murmur2(data: bytes) -> int:
    """Return Kafka's 32-bit murmur2 of `data`, unsigned (Kafka: Utils.murmur2). O(bytes)."""
    h = _SEED ^ len(data)
    whole = len(data) & ~3
    for k in np.frombuffer(data[:whole], "<u4").tolist():
        k = k * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if rest := data[whole:]:
        h = (h ^ int.from_bytes(rest, "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def partitions_of(
    keys: pa.LargeBinaryArray | None,
    sizes: Int64s,
    *,
    partition_count: int,
    available: Int64s,
    batch_bytes: int,
    turn: int,
) -> Int64s:
    """Return a partition for each row. O(bytes of the distinct keys).

    `sizes` are the sizes of the rows in bytes. `available` are the partitions with a leader. Rows
    without a key go to one of these partitions until `batch_bytes` are reached, and then to the
    next one. `turn` says with which partition they begin.
    """
    choices = available if len(available) else np.arange(partition_count)
    chosen = choices[(turn + np.cumsum(sizes) // batch_bytes) % len(choices)]
    if keys is None or keys.null_count == len(keys):
        return np.asarray(chosen, np.int64)
    coded = keys.dictionary_encode()
    hashes = np.array(
        [(murmur2(key) & 0x7FFF_FFFF) % partition_count for key in coded.dictionary.to_pylist()],
        np.int64,
    )
    has_key: Bools = np.asarray(keys.is_valid())
    indices = np.asarray(coded.indices.fill_null(0), np.int64)
    return np.where(has_key, hashes[indices], chosen).astype(np.int64)
