"""Choose the partition of each row as Kafka's producer does (Kafka: DefaultPartitioner.java).

A row with a key goes to the partition murmur2(key) mod number of partitions. Java's producer does
the same, so equal keys always go to the same partition. Rows without a key all go to one partition
until a batch is full, and then to the next partition.
"""

import numpy as np
import pyarrow as pa

from kafka_edu.common.arrays import Bools, Int64s
from kafka_edu.common.murmur2 import partition_of_key


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
    next one. `turn` says with which partition such rows begin.
    """
    choices = available if len(available) else np.arange(partition_count)
    chosen = choices[(turn + np.cumsum(sizes) // batch_bytes) % len(choices)]
    if keys is None or keys.null_count == len(keys):
        return np.asarray(chosen, np.int64)
    coded = keys.dictionary_encode()
    hashes = np.array(
        [partition_of_key(key, partition_count) for key in coded.dictionary.to_pylist()],
        np.int64,
    )
    has_key: Bools = np.asarray(keys.is_valid())
    indices = np.asarray(coded.indices.fill_null(0), np.int64)
    return np.where(has_key, hashes[indices], chosen).astype(np.int64)
