"""What both indexes of a segment share (Kafka: AbstractIndex.scala; seed 004).

An index is a file of fixed-size entries, mapped into memory: a look-up is a binary search in what
the page cache holds, an append writes a few bytes there, and neither is a system call. The file of
the active segment is made as long as it may get (segment.index.bytes) when the segment begins, so
that the mapping need not grow, and is cut to what it holds when the segment is rolled or closed.
After a crash it still has its full length, with zeros behind the last entry: that is how the next
start knows it cannot be trusted, and builds it again.

The long file is a hole: the disk has no room for its pages yet. A store into a mapped page for
which a full disk has no room ends the process (SIGBUS). Each page is therefore written once by
pwrite before the first entry goes into it: a full disk refuses that with an OSError, which takes
the log dir offline. That is one call more for every 512 entries.
"""

import mmap
from typing import Final

from kafka_edu.common.files import File, FileSystem

PAGE_BYTES: Final = mmap.PAGESIZE


class CorruptIndexError(Exception):
    """An index that does not fit its segment; it is built again from the batches."""


class AbstractIndex:
    """The file, its mapping and the number of entries. The file is mapped when first used, for most
    segments are never read again.

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
        """So many bytes at the beginning lie in pages for which the disk has room."""
        self._loaded = False

    def load(self) -> None:
        """Map the file as it is: all of it counts as entries. O(1)."""
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
        """Read what is kept of the last entry."""

    def resize(self, size: int) -> None:
        """Make the file `size` bytes long, rounded down to whole entries, and map it anew; entries
        within stay.

        The file is opened once: a broker makes the indexes of thousands of new logs at a time, and
        opening files is most of what that costs.
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
        """Have room on the disk for the entries up to byte `end`. Raises OSError. Entries behind
        the last one that counts are overwritten.
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
        """Cut the file behind the last entry: the segment will not grow any more."""
        self.resize(self.entries * self.ENTRY_BYTES)

    def close(self) -> None:
        """Trim and unmap. A later look-up maps it again."""
        if self._loaded:
            self.trim_to_valid_size()
        self.release()

    def release(self) -> None:
        """Unmap without trimming: the file goes away."""
        self._unmap()
        self._loaded = False
        self.entries = self.max_entries = 0

    def flush(self) -> None:
        """Force the entries to the disk (fsync of the file forces what was written through its
        mapping). May block.
        """
        file = self._file_system.open(self.path)
        try:
            file.flush()
        finally:
            file.close()

    def sanity_check(self) -> None:
        """Raises CorruptIndexError if the file cannot be what was written."""
        raise NotImplementedError

    def _unmap(self) -> None:
        mapped, self._bytes, self._mapped_size = self._bytes, memoryview(b""), 0
        if isinstance(mapped, mmap.mmap):
            mapped.close()
        else:
            mapped.release()
