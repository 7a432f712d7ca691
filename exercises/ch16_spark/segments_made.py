"""Makes segments for exercise 16-7 with the broker's own LogSegment, and gives the right answers.
The answers are known because the batches were made one by one.
"""

import struct
from collections.abc import Iterator, Sequence
from random import Random
from typing import Final, NamedTuple

from kafka_edu.log.log_segment import LogSegment
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import CRC_OFFSET, build_batch, compute_crc
from kafka_edu.sim.memory_file_system import MemoryFileSystem

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
INDEX_BYTES: Final = 2000
"""The size in bytes of the index file of an active segment."""
_NOW_MS: Final = 1_700_000_000_000
_FOLDER: Final = "web-0"
_LAST_DELTA: Final = struct.Struct(">i")
_LAST_DELTA_AT: Final = 23


class Batch(NamedTuple):
    """Describes a batch that is to be written into a segment."""

    records: int = 3
    codec: int = 0
    lost: int = 0
    """How many records compaction removed at the batch's end. It still has their offsets."""
    skip: int = 0
    """How many offsets are missing before the batch, because whole batches were removed."""
    transactional: bool = False
    marker: bool = False
    width: int = 40
    """How many bytes the value of each record has."""


class Row(NamedTuple):
    """A batch that was written, with its position and its offsets."""

    position: int
    first: int
    last: int
    records: int
    codec: str
    marker: bool
    size: int

    @property
    def shown(self) -> tuple[int, int, int, int, str]:
        """Return the row that the learner's method `batches` must return for this batch."""
        return self.position, self.first, self.last, self.records, self.codec


class Made(NamedTuple):
    """A segment that was made: its files, and what is in them."""

    base_offset: int
    log: bytes
    index_file: bytes
    rows: tuple[Row, ...]
    """The batches that are complete in the `.log` file."""
    entries: tuple[tuple[int, int], ...]
    """(offset, position) of each index entry. The offsets are absolute."""

    def codecs(self) -> dict[str, tuple[int, int, int]]:
        """Return a dict: codec name → (batches, records, bytes), without markers."""
        found: dict[str, tuple[int, int, int]] = {}
        for row in self.rows:
            if not row.marker:
                batches, records, size = found.get(row.codec, (0, 0, 0))
                found[row.codec] = batches + 1, records + row.records, size + row.size
        return found

    def start(self, offset: int) -> int:
        """Return the position in the `.log` file at which a search for the offset begins."""
        return max((at for entry, at in self.entries if entry <= offset), default=0)

    def find(self, offset: int) -> tuple[int, int] | None:
        """Return where the offset's batch (or the next one) begins, and how many heads are read."""
        start = self.start(offset)
        heads = 0
        for row in self.rows:
            if row.position >= start:
                heads += 1
                if row.last >= offset:
                    return row.position, heads
        return None

    def longest_walk(self) -> int:
        """Return the most bytes between the position where a search begins and the batch found."""
        return max((row.position - self.start(row.first) for row in self.rows), default=0)

    def drawing(self) -> tuple[str, ...]:
        """Draw the first batches, with the index entries that name them."""
        named = {at: offset for offset, at in self.entries}
        return tuple(
            f"    {row.position:>7} bytes  offsets {row.first} to {row.last}, {row.records} records"
            f", {row.codec}{', marker' if row.marker else ''}"
            + (f"   <- index: {named[row.position]}" if row.position in named else "")
            for row in self.rows[:14]
        )


def _bytes_of(batch: Batch, first: int) -> tuple[bytes, int]:
    """Return the bytes of a batch, and its last offset. `first` is its first offset."""
    if batch.marker:
        end = EndTransactionMarker(ControlRecordType.COMMIT, 0)
        return build_end_transaction_marker(end, 7, 1, _NOW_MS, first), first
    kept = [
        Record(
            first + i, _NOW_MS + i, b"key %d" % i, (b"page %d " % i * batch.width)[: batch.width]
        )
        for i in range(batch.records)
    ]
    raw = bytearray(
        build_batch(
            kept,
            compression=CompressionType(batch.codec),
            producer_id=7 if batch.transactional else -1,
            producer_epoch=1 if batch.transactional else -1,
            base_sequence=0 if batch.transactional else -1,
            is_transactional=batch.transactional,
        )
    )
    last_delta = batch.records - 1 + batch.lost
    _LAST_DELTA.pack_into(raw, _LAST_DELTA_AT, last_delta)
    struct.pack_into(">I", raw, CRC_OFFSET, compute_crc(raw))
    return bytes(raw), first + last_delta


def written(
    batches: Sequence[Batch],
    base_offset: int = 0,
    *,
    interval: int = 400,
    active: bool = False,
    cut: int = 0,
) -> Made:
    """Write a segment with these batches, and an index entry for each `interval` bytes.

    With `active`, the index file is as long as it may become. `cut` says how many bytes are missing
    at the end of the `.log` file. The last batch must have more bytes than that.
    """
    disk = MemoryFileSystem()
    disk.make_dirs(_FOLDER)
    segment = LogSegment(disk, _FOLDER, base_offset, interval, _NOW_MS)
    segment.begin(INDEX_BYTES)
    rows: list[Row] = []
    offset, position = base_offset, 0
    for batch in batches:
        raw, last = _bytes_of(batch, offset + batch.skip)
        first = offset + batch.skip
        segment.append((raw,), first, last, _NOW_MS)
        count = 1 if batch.marker else batch.records
        codec = CODECS[0 if batch.marker else batch.codec]
        rows.append(Row(position, first, last, count, codec, batch.marker, len(raw)))
        offset, position = last + 1, position + len(raw)
    index = segment.offset_index
    entries = tuple((*index.entry(n),) for n in range(index.entries))
    if not active:
        segment.on_become_inactive()
    log = disk.read(f"{_FOLDER}/{base_offset:020d}.log")
    return Made(
        base_offset,
        log[: len(log) - cut],
        disk.read(index.path),
        tuple(rows[:-1] if cut else rows),
        entries,
    )


def random_batches(random: Random, count: int) -> Iterator[Batch]:
    """Yield random batches of all codecs. Some are compacted, transactional, or markers."""
    for _ in range(count):
        yield Batch(
            records=random.randint(1, 9),
            codec=random.randrange(5),
            lost=random.choice((0, 0, 0, 1, 4)),
            skip=random.choice((0, 0, 0, 2, 11)),
            transactional=random.random() < 0.3,
            marker=random.random() < 0.15,
            width=random.choice((3, 20, 90)),
        )


def random_segment(random: Random) -> Made:
    """Return a random segment. It may be active, and its last batch may be cut."""
    return written(
        [*random_batches(random, random.randint(1, 40)), Batch()],
        random.choice((0, 368_769, 5_000_000_000)),
        interval=random.choice((150, 400, 1000)),
        active=random.random() < 0.5,
        cut=random.choice((0, 0, 1, 70, 110)),
    )
