"""Exercise 16-7: read a segment by its heads and its sparse index. README.md says what is asked;
`kafka-edu lab check 16-7` tries it, `kafka-edu lab hint 16-7` helps.
"""

import struct

HEAD = struct.Struct(">qiibIhiqqqhii")
ENTRY = struct.Struct(">ii")
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

Batch = tuple[int, int, int, int, str]  # position, base offset, last offset, records, codec


class Segment:
    """The files of one segment."""

    def __init__(self, base_offset: int, log: bytes, index: bytes) -> None:
        self.base_offset = base_offset
        self.log = log
        self.index = index

    def batches(self) -> list[Batch]:
        """Return all whole batches."""
        raise NotImplementedError("Segment.batches is not written yet: it returns a list of rows")

    def codecs(self) -> dict[str, tuple[int, int, int]]:
        """Return codec → batches, records, bytes."""
        raise NotImplementedError("Segment.codecs is not written yet: it returns a dict")

    def start(self, offset: int) -> int:
        """Return the position where a search for an offset begins."""
        raise NotImplementedError("Segment.start is not written yet: it returns a position")

    def find(self, offset: int) -> tuple[int, int] | None:
        """Return the position of an offset's batch, and how many heads were read."""
        raise NotImplementedError("Segment.find is not written yet: it returns (position, heads)")

    def longest_walk(self) -> int:
        """Return the most bytes that a search walks over."""
        raise NotImplementedError("Segment.longest_walk is not written yet: it returns bytes")
