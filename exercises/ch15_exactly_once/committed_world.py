"""A log with transactions, for exercises 15-2 and 15-5: the broker's own log and its own reader.

A test or a generator writes batches and markers. The log decides how far a reader may read, and
which aborted transactions a fetch gets. The reader's filter decides which records a program gets.
"""

from typing import Final, NamedTuple

from kafka_edu.clients.consumer.fetched_records import FetchedRecords
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.log.append_origin import AppendOrigin
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.protocol.messages.fetch import AbortedTransaction
from kafka_edu.record.control_record import (
    ControlRecordType,
    EndTransactionMarker,
    build_end_transaction_marker,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import NO_PRODUCER_ID, build_batch

from ..ch09_log_storage.made_logs import NOW_MS, empty_log

PLAIN: Final = "plain"
TRANSACTIONAL: Final = "transactional"
COMMIT: Final = "commit"
ABORT: Final = "abort"
MOST_BYTES: Final = 1 << 20


class Batch(NamedTuple):
    """A batch of the log, as the learner's filter gets it."""

    base: int
    last: int
    producer: int
    kind: str


class CommittedWorld:
    """One partition with transactional producers."""

    def __init__(self) -> None:
        self.log = empty_log()
        self.batches: list[Batch] = []
        self.open: dict[int, int] = {}
        """The first offset of each producer's open transaction."""
        self._numbers: dict[int, int] = {}

    @property
    def end(self) -> int:
        return self.log.log_end_offset

    def write(self, producer: int, count: int = 1) -> Batch:
        """Write a batch. A producer with an id writes it in a transaction."""
        plain = producer == NO_PRODUCER_ID
        sequence = self._numbers.get(producer, 0)
        self._numbers[producer] = sequence + count
        if not plain:
            self.open.setdefault(producer, self.end)
        records = [Record(n, NOW_MS, None, b"%d" % (self.end + n)) for n in range(count)]
        batch = (
            build_batch(records)
            if plain
            else build_batch(
                records,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=sequence,
                is_transactional=True,
            )
        )
        return self._append(batch, producer, PLAIN if plain else TRANSACTIONAL)

    def decide(self, producer: int, kind: str) -> Batch:
        """Write the marker that ends the producer's transaction."""
        self.open.pop(producer, None)
        type_ = ControlRecordType.ABORT if kind == ABORT else ControlRecordType.COMMIT
        marker = build_end_transaction_marker(EndTransactionMarker(type_, 0), producer, 0, NOW_MS)
        return self._append(marker, producer, kind)

    def _append(self, batch: bytes, producer: int, kind: str) -> Batch:
        origin = AppendOrigin.CLIENT if kind in (PLAIN, TRANSACTIONAL) else AppendOrigin.COORDINATOR
        info = self.log.append_as_leader(batch, 0, NOW_MS, origin=origin)
        self.batches.append(Batch(info.first_offset, info.last_offset, producer, kind))
        return self.batches[-1]

    def replicate(self, high_watermark: int) -> None:
        """Move the high watermark."""
        self.log.update_high_watermark(high_watermark)

    @property
    def index(self) -> list[AbortedTxn]:
        """Return the index of aborted transactions."""
        return [entry for segment in self.log.segments for entry in segment.txn_index.entries()]

    def aborted(self, start: int, end: int) -> list[tuple[int, int]]:
        """Return (producer, first) of the aborted transactions that overlap a fetch."""
        return [
            (one.producer_id, one.first_offset)
            for segment in self.log.segments
            for one in segment.txn_index.collect(start, end)[0]
        ]

    def read(self, start: int, end: int, *, committed: bool = True) -> list[int]:
        """Return the offsets of the records that a consumer gets from a fetch of this range."""
        data = self.log.read(start, MOST_BYTES, max_offset=end)
        aborted = [
            AbortedTransaction(producer_id=producer, first_offset=first)
            for producer, first in self.aborted(start, end)
        ]
        fetched = FetchedRecords(
            TopicPartition("lab", 0),
            start,
            memoryview(part_bytes(data.records)),
            aborted,
            read_committed=committed,
            check_crcs=True,
        )
        return [record.offset for record in fetched.take(MOST_BYTES, None, None)]
