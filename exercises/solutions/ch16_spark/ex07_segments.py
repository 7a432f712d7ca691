"""Exercise 16-7: the reference solution."""

import struct
from collections.abc import Iterator

HEAD = struct.Struct(">qiibIhiqqqhii")
ENTRY = struct.Struct(">ii")
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

Batch = tuple[int, int, int, int, str]  # position, base offset, last offset, records, codec


class Segment:
    """Reads one segment: the bytes of its `.log` file and of its index file."""

    def __init__(self, base_offset: int, log: bytes, index: bytes) -> None:
        self.log = log
        self.entries = [
            (base_offset + relative, position)
            for relative, position in ENTRY.iter_unpack(index)
            if position
        ]

    def _heads(self, position: int) -> Iterator[tuple[int, int, int, int, int, int]]:
        """Yield position, base offset, last offset, count, attributes, size of each whole batch."""
        while len(head := self.log[position : position + HEAD.size]) == HEAD.size:
            base, length, _, _, _, attributes, delta, _, _, _, _, _, count = HEAD.unpack(head)
            size = length + 12
            if position + size > len(self.log):
                return
            yield position, base, base + delta, count, attributes, size
            position += size

    def batches(self) -> list[Batch]:
        """Return a row for each whole batch: position, offsets, number of records, codec."""
        return [
            (position, base, last, count, NAMES[attributes & 7])
            for position, base, last, count, attributes, _ in self._heads(0)
        ]

    def codecs(self) -> dict[str, tuple[int, int, int]]:
        """Return a dict: codec name → (batches, records, bytes). Markers do not count."""
        found: dict[str, tuple[int, int, int]] = {}
        for _, _, _, count, attributes, size in self._heads(0):
            if not attributes & 32:
                name = NAMES[attributes & 7]
                batches, records, total = found.get(name, (0, 0, 0))
                found[name] = batches + 1, records + count, total + size
        return found

    def start(self, offset: int) -> int:
        """Return the position in the `.log` file at which a search for the offset begins."""
        return max((at for entry, at in self.entries if entry <= offset), default=0)

    def find(self, offset: int) -> tuple[int, int] | None:
        """Return the position of the offset's batch, and how many heads the search has read."""
        for heads, (position, _, last, _, _, _) in enumerate(self._heads(self.start(offset)), 1):
            if last >= offset:
                return position, heads
        return None

    def longest_walk(self) -> int:
        """Return the greatest distance in bytes between the start of a search and its batch."""
        return max((head[0] - self.start(head[1]) for head in self._heads(0)), default=0)
