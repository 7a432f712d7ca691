"""Exercise 16-7: find batches in a segment, with batch headers and the index. README.md has the
task. `kafka-edu lab check 16-7` tests your code, and `kafka-edu lab hint 16-7` gives you a hint.
"""

import struct

HEAD = struct.Struct(">qiibIhiqqqhii")
ENTRY = struct.Struct(">ii")
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

Batch = tuple[int, int, int, int, str]  # position, base offset, last offset, records, codec


class Segment:
    """Reads one segment: the bytes of its `.log` file and of its index file."""

    def __init__(self, base_offset: int, log: bytes, index: bytes) -> None:
        self.base_offset = base_offset
        self.log = log
        self.index = index

    def batches(self) -> list[Batch]:
        """Return a row for each whole batch: position, offsets, number of records, codec."""
        raise NotImplementedError("Segment.batches is not written yet: it returns a list of rows")

    def codecs(self) -> dict[str, tuple[int, int, int]]:
        """Return a dict: codec name → (batches, records, bytes). Markers do not count."""
        raise NotImplementedError("Segment.codecs is not written yet: it returns a dict")

    def start(self, offset: int) -> int:
        """Return the position in the `.log` file at which a search for the offset begins."""
        raise NotImplementedError("Segment.start is not written yet: it returns a position")

    def find(self, offset: int) -> tuple[int, int] | None:
        """Return the position of the offset's batch, and how many heads the search has read."""
        raise NotImplementedError("Segment.find is not written yet: it returns (position, heads)")

    def longest_walk(self) -> int:
        """Return the greatest distance in bytes between the start of a search and its batch."""
        raise NotImplementedError("Segment.longest_walk is not written yet: it returns bytes")
