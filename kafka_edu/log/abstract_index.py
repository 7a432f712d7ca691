"""The common part of both indexes of a segment (Kafka: AbstractIndex.scala; seed 004).

An index is a file of fixed-size entries, mapped into memory. A look-up is a binary search in the
page cache. An append writes a few bytes there. Neither is a system call. When a segment becomes
active, its index file gets the full length it may need (segment.index.bytes), so the mapping need
not grow. When the segment is rolled or closed, the file is cut to its entries. After a crash it
still has its full length, with zeros behind the last entry. That is how the next start knows that
it cannot trust the file, and builds it again.

The long file is a hole: the disk has reserved no room for its pages yet. A store into a mapped page
for which a full disk has no room ends the process (SIGBUS). So each page is written once by pwrite
before its first entry. A full disk refuses that write with an OSError, which takes the log dir
offline. This costs one more call for every 512 entries.
"""

import mmap
from typing import Final

from kafka_edu.common.files import File, FileSystem

PAGE_BYTES: Final = mmap.PAGESIZE
SAMPLES: Final = 16
"""How many steps a sanity check takes through an index of any length."""


class CorruptIndexError(Exception):
    """An index that does not fit its segment; it is built again from the batches."""


class AbstractIndex:
    """The file, its mapping and the number of entries. The file is mapped at its first use, because
    most segments are never read again.

    `entries` ≤ `max_entries`. Owned by its segment.
    """

    ENTRY_BYTES: int

    def __init__(self, file_system: FileSystem, path: str, base_offset: int) -> None:
        self._file_system = file_system
        self.path = path
        self.base_offset = base_offset
        self.entries = 0
        self.max_entries = 0
        self._bytes: memoryview | mmap.mmap = memoryview(b"")
        self._mapped_size = 0
        self._backed_size = 0
        """The pages of this many bytes, from the beginning, have room on the disk."""
        self._loaded = False

    def load(self) -> None:
        """Map the file as it is. All of it counts as entries. O(1)."""
        if not self._loaded:
            file = self._file_system.open(self.path)
            self._load(file)
            file.close()  # the mapping holds on to it

    def _load(self, file: File) -> None:
        size = file.size()
        if size:
            self._bytes = file.map(size)
        self._mapped_size = size
        self.entries = self.max_entries = size // self.ENTRY_BYTES
        self._backed_size = 0
        self._loaded = True
        self._after_load()

    def _after_load(self) -> None:
        """Read the last entry into memory."""

    def resize(self, size: int) -> None:
        """Make the file `size` bytes long, rounded down to whole entries, and map it again. Entries
        within stay.

        The file is opened once. A broker makes the indexes of thousands of new logs at a time, and
        opening files is most of that cost.
        """
        size -= size % self.ENTRY_BYTES
        if self._loaded and size == self._mapped_size:
            return
        file = self._file_system.open(self.path)
        if not self._loaded:
            self._load(file)
        if size != self._mapped_size:
            self._unmap()
            file.truncate(size)
            if size:
                self._bytes = file.map(size)
            self._mapped_size = size
            self.max_entries = size // self.ENTRY_BYTES
            self.entries = min(self.entries, self.max_entries)
            self._backed_size = min(self._backed_size, size)
        file.close()

    def _back(self, end: int) -> None:
        """Reserve room on the disk for the entries up to byte `end`. Raises OSError. Bytes behind
        the last valid entry are overwritten.
        """
        start = self.entries * self.ENTRY_BYTES
        stop = min(-(-end // PAGE_BYTES) * PAGE_BYTES, self._mapped_size)
        file = self._file_system.open(self.path, create=False)
        try:
            file.pwrite(bytes(stop - start), start)
        finally:
            file.close()
        self._backed_size = stop

    def trim_to_valid_size(self) -> None:
        """Cut the file behind the last entry. The segment will not grow any more."""
        self.resize(self.entries * self.ENTRY_BYTES)

    def close(self) -> None:
        """Trim and unmap. A later look-up maps it again."""
        if self._loaded:
            self.trim_to_valid_size()
        self.release()

    def release(self) -> None:
        """Unmap without trimming, because the file goes away."""
        self._unmap()
        self._loaded = False
        self.entries = self.max_entries = 0

    def flush(self) -> None:
        """Force the entries to the disk. May block. An fsync of the file also forces bytes that
        were written through its mapping.
        """
        file = self._file_system.open(self.path)
        try:
            file.flush()
        finally:
            file.close()

    def _sampled_slots(self) -> list[int]:
        """Return the slots of up to 17 entries, evenly spaced, the first and the last among them.
        Random bytes do not ascend in all of them.
        """
        last = self.entries - 1
        return sorted({last * i // SAMPLES for i in range(SAMPLES + 1)}) if last >= 0 else []

    def ends_in_zeros(self) -> bool:
        """Return whether the last entry is empty. So it is in a file that was not cut to its
        entries.
        """
        self.load()
        size = self.ENTRY_BYTES
        return self._mapped_size >= size and not any(
            self._bytes[self._mapped_size - size : self._mapped_size]
        )

    def sanity_check(self) -> None:
        """Raises CorruptIndexError if the file cannot be what was written."""
        raise NotImplementedError

    def _unmap(self) -> None:
        mapped, self._bytes, self._mapped_size = self._bytes, memoryview(b""), 0
        if isinstance(mapped, mmap.mmap):
            mapped.close()
        else:
            mapped.release()
