"""The numbers of the compression codecs (Kafka: CompressionType.java).

This module imports no codec library. So Spark's executors, which have only some of the libraries,
can import it.
"""

from enum import IntEnum


class CompressionType(IntEnum):
    """A codec; its number is in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
