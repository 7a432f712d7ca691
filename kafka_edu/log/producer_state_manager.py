"""The state of a log's idempotent and transactional producers: it makes sure that no batch is
written twice and no batch is left out (Kafka: ProducerStateManager.scala; spec X1).

Each batch of an idempotent producer carries a producer id, an epoch, and the sequence number of its
first record. The log remembers the last five batches of each producer. These are the cases for the
next batch:

    it is one of the five             → a duplicate: it is not written, and the response has the
                                        offsets of the batch that was written before
    its epoch is below the known one  → INVALID_PRODUCER_EPOCH
    its epoch is new                  → its first sequence number must be 0
    its epoch is the known one        → its first sequence number must follow the last one, else
                                        OUT_OF_ORDER_SEQUENCE_NUMBER; 0 follows 2**31 - 1
    its producer is unknown           → any sequence number is allowed, because the producer's
                                        state may have expired or been deleted

A duplicate that is older than the last five batches is out of order. Followers do not check
batches, because their leader has checked them.

Transactions (spec X2): a producer's first transactional batch opens a transaction in this log. A
marker, sent by the transaction coordinator, ends it. A transaction is in one of these states:

    open         its first offset is unstable: read_committed readers see no record from it on
    decided      the marker is in the log, but still at or above the high watermark, so the
                 first offset is still unstable
    stable       the state forgets the transaction. If it was aborted, it is in the `.txnindex`
                 file of the marker's segment

A marker with an older producer epoch gets INVALID_PRODUCER_EPOCH. A marker from a coordinator that
has been replaced gets TRANSACTION_COORDINATOR_FENCED.

The state can always be built again from the log. It is written to `<offset>.snapshot` when a
segment is rolled and when the log is closed. At its next start the broker loads the last snapshot
and reads the batch headers after it.

    version int16 (1) | crc uint32 (CRC-32C of what follows) | count int32 | entries of 46 bytes:
    producer id int64 | epoch int16 | last sequence int32 | last offset int64 | offset delta int32 |
    timestamp int64 | coordinator epoch int32 | first offset of the open transaction int64
"""

import heapq
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Final, NamedTuple

import google_crc32c

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.files import Buffer, FileSystem
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.log_file_names import SNAPSHOT_SUFFIX, offset_of, segment_file
from kafka_edu.log.log_segment import LogSegment
from kafka_edu.log.producer_state_entry import NO_OFFSET, BatchMetadata, ProducerStateEntry
from kafka_edu.log.sequence_check import SequenceCheck
from kafka_edu.log.stable_rule import StableRule
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    read_end_transaction_marker,
)
from kafka_edu.record.file_records import iter_file_headers, read_batch
from kafka_edu.record.record_batch import (
    CONTROL_BIT,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL_BIT,
    BatchHeader,
    increment_sequence,
)
from kafka_edu.trace.events.transaction import UnstableTransaction

SNAPSHOT_VERSION: Final = 1
_HEAD: Final = struct.Struct(">hIi")
_ENTRY: Final = struct.Struct(">qhiqiqiq")
_CRC_FROM: Final = 6


#: Above every offset.
_NEVER: Final = 1 << 63


class CorruptSnapshotError(Exception):
    """A snapshot that cannot be read. The broker uses an older snapshot instead, or reads the whole
    log.
    """


class DroppedSnapshot(NamedTuple):
    """A snapshot that could not be read and was removed."""

    offset: int
    reason: str


class ProducerStateManager:
    """The state of all producers of one log. Owned by the log.

    The state covers all batches below the offset `map_end_offset`. Checking and recording one batch
    takes about 2 µs. Each producer needs about 1 KB of memory.
    """

    def __init__(
        self,
        topic_partition: TopicPartition,
        directory: str,
        file_system: FileSystem,
        max_producer_id_expiration_ms: int,
    ) -> None:
        self._topic_partition = topic_partition
        self._directory = directory
        self._file_system = file_system
        self._expiration_ms = max_producer_id_expiration_ms
        self.producers: dict[int, ProducerStateEntry] = {}
        self._sequences = SequenceCheck(topic_partition)
        self.stable = StableRule(topic_partition)
        self.dropped: list[DroppedSnapshot] = []
        """Snapshots that could not be read. The caller of `truncate_and_reload` reports them."""
        self._ongoing: dict[int, UnstableTransaction] = {}
        """Open transactions by their first offset. Ascending, because they are opened in the order
        of the log.
        """
        self._unreplicated: dict[int, UnstableTransaction] = {}
        """Transactions whose marker is written but not yet below the high watermark, by their first
        offset.
        """
        self.map_end_offset = 0
        self._last_snapshot_offset = 0
        self._tracked_from = _NEVER
        """From this offset on, every batch with a producer id has been recorded."""
        self._first_tracked: int | None = None
        """The offset of the first batch recorded since `_tracked_from`; None if there is none."""

    def moved_to(self, directory: str) -> None:
        """Record that the log's folder, which holds the snapshots, has a different name now."""
        self._directory = directory

    def check(
        self, header: BatchHeader, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> BatchMetadata | None:
        """Check whether a batch may be written. Return None, or for a duplicate the batch that was
        written before.

        A coordinator's own batches, such as offsets in a transaction, have no sequence numbers;
        only their epoch is checked. Raises INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER and
        INVALID_TXN_STATE.
        """
        entry = self.producers.get(header.producer_id)
        if origin is AppendOrigin.CLIENT:
            duplicate = self._sequences.check(entry, header)
            if duplicate is not None:
                return duplicate
        elif entry is not None:
            self._sequences.check_epoch(entry, header.producer_epoch)
        if (
            entry is not None
            and entry.current_txn_first_offset != NO_OFFSET
            and not header.attributes & TRANSACTIONAL_BIT
        ):
            raise KafkaException(
                Errors.INVALID_TXN_STATE,
                f"Producer {header.producer_id} has a transaction open in {self._topic_partition},"
                " and wrote outside of it",
            )
        return None

    def check_marker(self, header: BatchHeader, marker: EndTransactionMarker | None) -> None:
        """Check whether a coordinator's marker may be written.

        Raises INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED.
        """
        entry = self.producers.get(header.producer_id)
        if entry is None or marker is None:
            return
        self._sequences.check_epoch(entry, header.producer_epoch)
        if marker.coordinator_epoch < entry.coordinator_epoch:
            raise KafkaException(
                Errors.TRANSACTION_COORDINATOR_FENCED,
                f"A marker for producer {header.producer_id} in {self._topic_partition} has"
                f" coordinator epoch {marker.coordinator_epoch}, and a newer one was seen:"
                f" {entry.coordinator_epoch}",
            )

    def note(
        self,
        header: BatchHeader,
        base_offset: int,
        max_timestamp: int,
        batch: Callable[[], Buffer],
        now_ms: int = NO_TIMESTAMP,
    ) -> AbortedTxn | None:
        """Record that a batch with a producer id was written at `base_offset`. O(1).

        `batch` returns the batch's bytes; it is called only for a control batch. `now_ms` is the
        wall time of the write, or NO_TIMESTAMP if the batch is only read from the log again. If the
        batch is an abort marker that ends a transaction, the result is the entry for the segment's
        transaction index. Otherwise the result is None.
        """
        if self._first_tracked is None:
            self._first_tracked = base_offset
        if not header.attributes & CONTROL_BIT:
            self._add_batch(header, base_offset, max_timestamp, now_ms)
            return None
        return self._complete_transaction(
            header, base_offset, max_timestamp, read_end_transaction_marker(batch())
        )

    def _entry_for(self, header: BatchHeader) -> ProducerStateEntry:
        entry = self.producers.get(header.producer_id)
        if entry is None:
            entry = self.producers[header.producer_id] = ProducerStateEntry(
                header.producer_id, header.producer_epoch
            )
        return entry

    def _add_batch(
        self, header: BatchHeader, base_offset: int, max_timestamp: int, now_ms: int
    ) -> None:
        entry = self._entry_for(header)
        delta = header.last_offset_delta
        last_sequence = (
            increment_sequence(header.base_sequence, delta)
            if header.base_sequence != NO_SEQUENCE
            else NO_SEQUENCE
        )
        entry.add_batch(
            header.producer_epoch,
            BatchMetadata(last_sequence, base_offset + delta, delta, max_timestamp),
        )
        if header.attributes & TRANSACTIONAL_BIT and entry.current_txn_first_offset == NO_OFFSET:
            entry.current_txn_first_offset = base_offset
            self._open(base_offset, header.producer_id, header.producer_epoch, now_ms)

    def _open(self, first_offset: int, producer_id: int, epoch: int, since_ms: int) -> None:
        self._ongoing[first_offset] = UnstableTransaction(
            producer_id, epoch, first_offset, since_ms
        )

    def has_opened(self, producer_id: int, offset: int) -> bool:
        """Return whether the producer's open transaction begins at this offset. O(1)."""
        entry = self.producers.get(producer_id)
        return entry is not None and entry.current_txn_first_offset == offset

    def _complete_transaction(
        self,
        header: BatchHeader,
        marker_offset: int,
        timestamp: int,
        marker: EndTransactionMarker | None,
    ) -> AbortedTxn | None:
        """Process a marker, which ends the producer's transaction if one is open.

        For an abort marker, return the entry for the transaction index. A control batch whose
        records were removed by compaction does not end a transaction.
        """
        if marker is None:
            return None
        entry = self._entry_for(header)
        entry.update_epoch(header.producer_epoch)
        entry.coordinator_epoch = marker.coordinator_epoch
        entry.last_timestamp = timestamp
        first_offset = entry.current_txn_first_offset
        if first_offset == NO_OFFSET:
            return None
        entry.current_txn_first_offset = NO_OFFSET
        self._unreplicated[first_offset] = self._ongoing.pop(first_offset)._replace(
            marker_offset=marker_offset
        )
        if marker.type is not ControlRecordType.ABORT:
            return None
        return AbortedTxn(
            header.producer_id,
            first_offset,
            marker_offset,
            next(iter(self._ongoing), marker_offset + 1),
        )

    def first_unstable(self, high_watermark: int) -> int | None:
        """Return the offset at which the last stable offset has to stop, according to this log's
        rule.

        Return None if nothing holds the last stable offset back from the high watermark.
        """
        return self.stable.first_unstable(self._ongoing, self._unreplicated, high_watermark)

    def unstable_transactions(self, most: int) -> tuple[UnstableTransaction, ...]:
        """Return the first `most` transactions that are open, or whose marker is not replicated.

        The first of these transactions holds the last stable offset back. O(1) without
        transactions.
        """
        if not (self._ongoing or self._unreplicated):
            return ()
        unstable = chain(self._ongoing.values(), self._unreplicated.values())
        return tuple(heapq.nsmallest(most, unstable, key=attrgetter("first_offset")))

    @property
    def unstable_count(self) -> int:
        """Return the number of transactions that are open, or whose marker is not replicated."""
        return len(self._ongoing) + len(self._unreplicated)

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Forget the transactions whose marker lies below the new HW: they are stable now."""
        if self._unreplicated:
            self._unreplicated = {
                first: one
                for first, one in self._unreplicated.items()
                if one.marker_offset >= high_watermark
            }

    def snapshot_offsets(self) -> list[int]:
        """Return the offsets in the names of the snapshot files, ascending."""
        names = (
            name
            for name in self._file_system.list(self._directory)
            if name.endswith(SNAPSHOT_SUFFIX)
        )
        return sorted(offset for offset in map(offset_of, names) if offset is not None)

    def take_snapshot(self) -> None:
        """Write the state into a snapshot file, unless the last snapshot has the same offset.
        O(producers).

        The file is not forced to the disk, because the state can be built again from the log.
        """
        if self.map_end_offset > self._last_snapshot_offset:
            path = segment_file(self._directory, self.map_end_offset, SNAPSHOT_SUFFIX)
            self._file_system.write_atomically(
                path, encode_snapshot(self.producers.values()), sync=False
            )
            self._last_snapshot_offset = self.map_end_offset

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Load the newest snapshot between the log's start and end, because the log was truncated
        or opened.

        Afterwards `map_end_offset` is the snapshot's offset, or the log's start if there is no
        snapshot. The caller then reads the batches after `map_end_offset`. If the current state
        ends exactly at `log_end_offset`, the state is kept. A snapshot has only the last batch of
        each producer, so after loading one, the retry of an older batch would be out of order.
        """
        for offset in self.snapshot_offsets():
            if not log_start_offset <= offset <= log_end_offset:
                self._remove_snapshot(offset)
        if self.map_end_offset == log_end_offset:
            return
        self._clear()
        for offset in reversed(self.snapshot_offsets()):
            try:
                entries = decode_snapshot(
                    self._file_system.read(segment_file(self._directory, offset, SNAPSHOT_SUFFIX))
                )
            except CorruptSnapshotError as error:
                self.dropped.append(DroppedSnapshot(offset, str(error)))
                self._remove_snapshot(offset)
                continue
            self._take_over(entries, now_ms)
            self.map_end_offset = self._last_snapshot_offset = offset
            return
        self.map_end_offset = self._last_snapshot_offset = log_start_offset

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Forget all producers and remove all snapshots, because the log is empty and begins at
        `offset`.
        """
        self._clear()
        for snapshot in self.snapshot_offsets():
            self._remove_snapshot(snapshot)
        self.map_end_offset = self._last_snapshot_offset = offset
        self.track_from(offset)

    def track_from(self, offset: int) -> None:
        """From now on record the first batch with a producer id at `offset` or above."""
        self._tracked_from, self._first_tracked = offset, None

    def forget_first(self) -> None:
        """Forget where the first batch with a producer id lies, because the segments after a
        recovered one have not been read.
        """
        self._tracked_from, self._first_tracked = _NEVER, None

    def first_to_read(self, start: int, end: int) -> int | None:
        """Return the offset from which batches with producer ids must be read again; None if there
        are no such batches.

        Only batches from `start` to `end` count. Most logs have no idempotent producers, so after a
        truncation a follower need not read the whole segment. To read a segment takes half a second
        for 100,000 batches on a busy disk.
        """
        if start < self._tracked_from:
            return start
        first = self._first_tracked
        return None if first is None or first >= end else max(first, start)

    def remove_stray_snapshots(self, segment_base_offsets: list[int]) -> None:
        """Remove the snapshots whose offset is not a segment's base offset, but keep the newest
        snapshot.

        A snapshot is taken at the base offset of each new segment, and finally at the log's end.
        """
        offsets = self.snapshot_offsets()
        known = set(segment_base_offsets)
        for offset in offsets[:-1]:
            if offset not in known:
                self._remove_snapshot(offset)

    def remove_expired(self, now_ms: int) -> list[int]:
        """Forget producers without an open transaction that have not written for
        `max_producer_id_expiration_ms`.

        Return their ids.
        """
        expired = [i for i, entry in self.producers.items() if self._is_expired(entry, now_ms)]
        for producer_id in expired:
            del self.producers[producer_id]
        return expired

    def _is_expired(self, entry: ProducerStateEntry, now_ms: int) -> bool:
        return (
            entry.current_txn_first_offset == NO_OFFSET
            and now_ms - entry.last_timestamp >= self._expiration_ms
        )

    def _take_over(self, entries: list[ProducerStateEntry], now_ms: int) -> None:
        for entry in entries:
            if not self._is_expired(entry, now_ms):
                self.producers[entry.producer_id] = entry
        open_transactions = [
            e for e in self.producers.values() if e.current_txn_first_offset != NO_OFFSET
        ]
        for entry in sorted(open_transactions, key=lambda e: e.current_txn_first_offset):
            self._open(
                entry.current_txn_first_offset,
                entry.producer_id,
                entry.producer_epoch,
                NO_TIMESTAMP,
            )

    def _clear(self) -> None:
        """Forget the whole state, including transactions whose markers are not replicated yet.

        It is safe to forget such transactions: a log is truncated at or above its high watermark,
        and a log that was just recovered belongs to a follower at first.
        """
        self.producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def _remove_snapshot(self, offset: int) -> None:
        self._file_system.remove(segment_file(self._directory, offset, SNAPSHOT_SUFFIX))


def load_producers(
    manager: ProducerStateManager,
    segments: Sequence[LogSegment],
    log_start_offset: int,
    log_end_offset: int,
    now_ms: int,
) -> None:
    """Build the state of the producers from the newest snapshot and the batch headers after it.

    O(batches after the snapshot; or, if the first batch with a producer id is known, after that
    batch).
    """
    manager.truncate_and_reload(log_start_offset, log_end_offset, now_ms)
    start = manager.first_to_read(manager.map_end_offset, log_end_offset)
    for i, segment in enumerate(segments):
        end = segments[i + 1].base_offset if i + 1 < len(segments) else log_end_offset
        if start is None or end <= start:
            continue
        if segment.base_offset > start:
            manager.map_end_offset = segment.base_offset
            manager.take_snapshot()
        position = segment.position_of(start)
        if position is not None:
            for at, header in iter_file_headers(segment.log, position, segment.size):
                if header.producer_id != NO_PRODUCER_ID:
                    manager.note(
                        header,
                        header.base_offset,
                        header.max_timestamp,
                        partial(read_batch, segment.log, at, header),
                    )
    manager.map_end_offset = log_end_offset
    manager.take_snapshot()
    manager.track_from(log_end_offset)


def encode_snapshot(entries: Iterable[ProducerStateEntry]) -> bytes:
    """Return the content of a snapshot file. As in Kafka, it has only each producer's last
    batch.
    """
    rows = []
    for entry in entries:
        last = (
            entry.batches[-1]
            if entry.batches
            else BatchMetadata(NO_SEQUENCE, NO_OFFSET, 0, entry.last_timestamp)
        )
        rows.append(
            _ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )
        )
    body = struct.pack(">i", len(rows)) + b"".join(rows)
    return struct.pack(">hI", SNAPSHOT_VERSION, google_crc32c.value(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerStateEntry]:
    """Return the producers in the content of a snapshot file. Raises CorruptSnapshotError."""
    if len(data) < _HEAD.size:
        raise CorruptSnapshotError(
            f"Snapshot failed schema validation: {len(data)} bytes are less than its head of"
            f" {_HEAD.size}"
        )
    version, crc, count = _HEAD.unpack_from(data)
    if version != SNAPSHOT_VERSION:
        raise CorruptSnapshotError(f"Snapshot contained an unknown file version {version}")
    computed = google_crc32c.value(data[_CRC_FROM:])
    if computed != crc:
        raise CorruptSnapshotError(
            f"Snapshot is corrupt (CRC is no longer valid). Stored crc: {crc}. Computed crc:"
            f" {computed}"
        )
    if len(data) != _HEAD.size + count * _ENTRY.size:
        raise CorruptSnapshotError(
            f"Snapshot failed schema validation: {count} entries in {len(data)} bytes"
        )
    entries = []
    for row in _ENTRY.iter_unpack(data[_HEAD.size :]):
        (
            producer_id,
            epoch,
            last_sequence,
            last_offset,
            offset_delta,
            timestamp,
            coordinator_epoch,
            txn_first_offset,
        ) = row
        entry = ProducerStateEntry(producer_id, epoch)
        if last_offset >= 0:
            entry.batches.append(BatchMetadata(last_sequence, last_offset, offset_delta, timestamp))
        entry.last_timestamp = timestamp
        entry.coordinator_epoch = coordinator_epoch
        entry.current_txn_first_offset = txn_first_offset
        entries.append(entry)
    return entries
