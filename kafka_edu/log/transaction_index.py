"""The transaction index of a segment: a file `.txnindex` with the aborted transactions (Kafka:
TransactionIndex.scala, AbortedTxn; KIP-98; spec X2).

    version int16 (0) | producer id int64 | first offset int64 | last offset int64
    | last stable offset int64                                      34 bytes an entry

An entry belongs to the segment that contains the abort marker. The marker's offset is `last
offset`, and the entries are in the order of this offset. When a read_committed consumer fetches a
range of offsets, the response lists the aborted transactions that overlap the range. The consumer
then skips their records.

An aborted transaction that begins in the range may end in a much later segment. But the broker need
not read all later entries, because each entry also contains the last stable offset (LSO) right
after its marker. When an entry's LSO is at or after the end of the range, every transaction that
begins in the range was decided before. Then no later entry can matter, and the search ends.

    fetched 10..20; entries (id 1, 5–12, LSO 13), (id 2, 15–40, LSO 41), (id 3, 50–60, …)
    the first two overlap the range; the second one ends the search, because 41 ≥ 21

The file is created with the first entry, because most segments have none.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from kafka_edu.common.files import File, FileSystem
from kafka_edu.log.abstract_index import CorruptIndexError

_ENTRY: Final = struct.Struct(">hqqqq")
ENTRY_BYTES: Final = _ENTRY.size
CURRENT_VERSION: Final = 0


class AbortedTxn(NamedTuple):
    """An aborted transaction: its producer, its first offset, and the offset of its abort
    marker.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    """The offset of the abort marker."""
    last_stable_offset: int
    """The LSO right after the marker, as if the marker were replicated at once."""


def decode_aborted(path: str, data: bytes) -> Iterator[AbortedTxn]:
    """Yield the entries in `data`, the content of the index file `path`.

    Raises CorruptIndexError.
    """
    for row in _ENTRY.iter_unpack(data[: len(data) - len(data) % ENTRY_BYTES]):
        if row[0] > CURRENT_VERSION:
            raise CorruptIndexError(f"{path} has an entry of version {row[0]}")
        yield AbortedTxn._make(row[1:])


class TransactionIndex:
    """The transaction index of one segment. 34 bytes for each aborted transaction.

    Append O(1), search O(entries). Owned by its segment.
    """

    def __init__(self, file_system: FileSystem, path: str, start_offset: int) -> None:
        self._file_system = file_system
        self.path = path
        self._start_offset = start_offset
        self._file: File | None = None
        self._last_offset: int | None = None

    def _open(self) -> File | None:
        """Return the open file; None if the segment has no such file."""
        if self._file is None and self._file_system.exists(self.path):
            self._file = self._file_system.open(self.path)
        return self._file

    def entries(self) -> Iterator[AbortedTxn]:
        """Yield all entries, ascending. Raises CorruptIndexError."""
        file = self._open()
        if file is None:
            return
        yield from decode_aborted(self.path, file.pread(file.size(), 0))

    @property
    def last_entry(self) -> AbortedTxn | None:
        """Return the last entry; None if the index is empty. O(entries). Raises
        CorruptIndexError.
        """
        entries = list(self.entries())
        return entries[-1] if entries else None

    def sound_entries(self) -> list[AbortedTxn]:
        """Return all entries, or an empty list if the content of the file is impossible."""
        try:
            self.sanity_check()
        except CorruptIndexError:
            return []
        return list(self.entries())

    def append(self, aborted: AbortedTxn) -> None:
        """Add a transaction whose abort marker has been written.

        Call this in the order of the markers' offsets.
        """
        file = self._open()
        if file is None:
            file = self._file = self._file_system.open(self.path)
        elif self._last_offset is None:
            self._last_offset = max((entry.last_offset for entry in self.entries()), default=None)
        assert self._last_offset is None or aborted.last_offset > self._last_offset, (
            self.path,
            aborted,
            self._last_offset,
        )
        file.append((_ENTRY.pack(CURRENT_VERSION, *aborted),))
        self._last_offset = aborted.last_offset

    def collect(self, fetch_offset: int, upper_bound: int) -> tuple[list[AbortedTxn], bool]:
        """Return the transactions that overlap the offsets from `fetch_offset` to `upper_bound` -
        1.

        The second result is True if no later segment can contain another such transaction.
        """
        found = []
        for entry in self.entries():
            if entry.last_offset >= fetch_offset and entry.first_offset < upper_bound:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound:
                return found, True
        return found, False

    def truncate_to(self, offset: int) -> None:
        """Remove the transactions whose abort marker is at `offset` or after it."""
        kept = [entry for entry in self.entries() if entry.last_offset < offset]
        if self._file is not None:
            self._file.truncate(len(kept) * ENTRY_BYTES)
            self._last_offset = kept[-1].last_offset if kept else None

    def reset(self) -> None:
        """Remove all entries, because the segment will be read again."""
        file = self._open()
        if file is not None:
            file.truncate(0)
        self._last_offset = None

    def sanity_check(self) -> None:
        """Raise CorruptIndexError if the content of the file is impossible for this segment."""
        file = self._open()
        if file is None:
            return
        if file.size() % ENTRY_BYTES:
            raise CorruptIndexError(
                f"{self.path} has {file.size()} bytes, which is not a multiple of {ENTRY_BYTES}"
            )
        before: AbortedTxn | None = None
        for entry in self.entries():
            if entry.last_offset < self._start_offset:
                raise CorruptIndexError(
                    f"{self.path}: a transaction ends at {entry.last_offset}, before the segment"
                    " begins"
                )
            if entry.first_offset >= entry.last_offset:
                raise CorruptIndexError(
                    f"{self.path}: a transaction begins at {entry.first_offset} and ends at"
                    f" {entry.last_offset}"
                )
            if before is not None and entry.last_offset <= before.last_offset:
                raise CorruptIndexError(f"{self.path}: the entries do not ascend")
            before = entry

    def flush(self) -> None:
        """Force the file to the disk (fsync). May block."""
        if self._file is not None:
            self._file.flush()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
