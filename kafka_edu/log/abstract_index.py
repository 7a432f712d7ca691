"""The common part of a segment's offset index and time index (Kafka: AbstractIndex.scala; seed
004).

An index is a file of fixed-size entries, mapped into memory. A look-up is a binary search in the
page cache, and an append writes a few bytes into the page cache. Neither needs a system call. When
a segment becomes active, its index file gets the full length that it may need
(segment.index.bytes), so the mapping need not grow. When the segment is rolled or closed, the file
is cut after its last entry. After a crash the file still has its full length, with zeros after the
last entry. If the broker finds these zeros at its next start, it builds the index again.

The long file is sparse: the disk has not reserved space for its pages yet. If the disk is full,
storing into such a mapped page kills the process (SIGBUS). So each page is written once by pwrite
before its first entry. If the disk is full, this write fails with an OSError, which takes the log
dir offline. This needs one more system call for every 512 entries.
"""

import mmap
from typing import Final

from kafka_edu.common.files import File, FileSystem

PAGE_BYTES: Final = mmap.PAGESIZE
SAMPLES: Final = 16
"""A sanity check reads SAMPLES + 1 entries of an index, whatever the index's length."""


class CorruptIndexError(Exception):
    """An index file that does not fit its segment. The index is built again from the batches."""


class AbstractIndex:
    """An index file, its mapping, and the number of its entries. Owned by its segment.

    The file is mapped at its first use, because most segments are never read again. `entries` is
    never above `max_entries`.
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
        """The length in bytes up to which the disk has reserved space for the file."""
        self._loaded = False

    def load(self) -> None:
        """Map the file as it is, and count its whole length as entries. O(1)."""
        if not self._loaded:
            file = self._file_system.open(self.path)
            self._load(file)
            file.close()  # the mapping stays valid

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
        """Read the last entry into memory, after the file was mapped."""

    def resize(self, size: int) -> None:
        """Set the file's length to `size` bytes, rounded down to whole entries, and map the file
        again.

        Entries within the new length are kept. The file is opened only once, because opening files
        takes most of the time. A broker may create the indexes of thousands of new logs at once.
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
        """Reserve disk space for the entries up to byte `end`. Raises OSError.

        Bytes after the last valid entry are overwritten with zeros.
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
        """Cut off the unused end of the file, because the segment will not grow any more."""
        self.resize(self.entries * self.ENTRY_BYTES)

    def close(self) -> None:
        """Cut off the unused end of the file, and unmap it. A later look-up maps it again."""
        if self._loaded:
            self.trim_to_valid_size()
        self.release()

    def release(self) -> None:
        """Unmap the file without cutting it, because it will be deleted."""
        self._unmap()
        self._loaded = False
        self.entries = self.max_entries = 0

    def flush(self) -> None:
        """Force the entries to the disk (fsync). May block.

        An fsync of the file also covers bytes that were written through its mapping.
        """
        file = self._file_system.open(self.path)
        try:
            file.flush()
        finally:
            file.close()

    def _sampled_slots(self) -> list[int]:
        """Return the slots of up to 17 entries, evenly spaced, with the first and the last entry.

        The entries of a good index ascend in these slots. Random bytes practically never do.
        """
        last = self.entries - 1
        return sorted({last * i // SAMPLES for i in range(SAMPLES + 1)}) if last >= 0 else []

    def ends_in_zeros(self) -> bool:
        """Return whether the last slot is empty: the file was not cut after its last entry."""
        self.load()
        size = self.ENTRY_BYTES
        return self._mapped_size >= size and not any(
            self._bytes[self._mapped_size - size : self._mapped_size]
        )

    def sanity_check(self) -> None:
        """Raise CorruptIndexError if the content of the file is impossible for this index."""
        raise NotImplementedError

    def _unmap(self) -> None:
        mapped, self._bytes, self._mapped_size = self._bytes, memoryview(b""), 0
        if isinstance(mapped, mmap.mmap):
            mapped.close()
        else:
            mapped.release()
