"""The codecs by number (Kafka: CompressionType.java).

The module imports no codec, so Spark's executors, which have only some of them, can use it.
"""

from enum import IntEnum


class CompressionType(IntEnum):
    """The codec, as in the lowest three bits of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4
