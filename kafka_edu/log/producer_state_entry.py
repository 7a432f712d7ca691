"""The state of one producer in one log (Kafka: ProducerStateEntry in ProducerStateManager.scala;
spec X1).
"""

from collections import deque
from typing import Final, NamedTuple

from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, decrement_sequence

BATCHES_TO_RETAIN: Final = 5
"""The number of batches that are remembered for each producer. An idempotent producer may have no
more than this number in flight (max.in.flight.requests.per.connection).
"""
NO_OFFSET: Final = -1
UNKNOWN_COORDINATOR_EPOCH: Final = -1


class BatchMetadata(NamedTuple):
    """The facts about a written batch that are needed to recognize the batch when it is sent again,
    and to answer with its offsets.
    """

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_sequence(self) -> int:
        return decrement_sequence(self.last_sequence, self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class ProducerStateEntry:
    """The epoch and the last five batches of one producer id.

    All batches in `batches` have the epoch `producer_epoch`.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(self, producer_id: int, producer_epoch: int = NO_PRODUCER_EPOCH) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.batches: deque[BatchMetadata] = deque(maxlen=BATCHES_TO_RETAIN)
        self.coordinator_epoch = UNKNOWN_COORDINATOR_EPOCH
        self.last_timestamp = -1
        self.current_txn_first_offset = NO_OFFSET
        """The first offset of the producer's open transaction; -1 if none is open."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else NO_OFFSET

    def add_batch(self, producer_epoch: int, batch: BatchMetadata) -> None:
        self.update_epoch(producer_epoch)
        self.batches.append(batch)
        self.last_timestamp = batch.timestamp

    def update_epoch(self, producer_epoch: int) -> None:
        """Set a new epoch, and forget the batches of the old epoch, because sequence numbers start
        again at 0.
        """
        if producer_epoch != self.producer_epoch:
            self.batches.clear()
            self.producer_epoch = producer_epoch

    def find_duplicate(
        self, producer_epoch: int, first_sequence: int, last_sequence: int
    ) -> BatchMetadata | None:
        """Return the remembered batch with this epoch and these sequence numbers, or None.

        At most five comparisons.
        """
        if producer_epoch == self.producer_epoch:
            for batch in self.batches:
                if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                    return batch
        return None
