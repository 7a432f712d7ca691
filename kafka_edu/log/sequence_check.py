"""The check of an idempotent producer's next batch (Kafka: ProducerAppendInfo in
ProducerStateManager.scala; KIP-98; spec X1). `producer_state_manager` has the rules as a table.
"""

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.producer_state_entry import BatchMetadata, ProducerStateEntry
from kafka_edu.record.record_batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    BatchHeader,
    increment_sequence,
)


class SequenceCheck:
    """Decides whether a client's next batch is written to one log. It keeps no state: a producer's
    epoch and its last five batches are in the ProducerStateEntry. At most five comparisons.
    """

    __slots__ = ("_topic_partition",)

    def __init__(self, topic_partition: TopicPartition) -> None:
        self._topic_partition = topic_partition

    def check(self, entry: ProducerStateEntry | None, header: BatchHeader) -> BatchMetadata | None:
        """Return None if the batch is to be written, or for a duplicate the batch that was written
        before.

        `entry` is None if the producer is not known. Raises INVALID_PRODUCER_EPOCH and
        OUT_OF_ORDER_SEQUENCE_NUMBER.
        """
        if entry is None:
            return None
        epoch, first = header.producer_epoch, header.base_sequence
        last = increment_sequence(first, header.last_offset_delta)
        duplicate = entry.find_duplicate(epoch, first, last)
        if duplicate is None:
            self.check_epoch(entry, epoch)
            self._check_sequence(entry, header)
        return duplicate

    def check_epoch(self, entry: ProducerStateEntry, epoch: int) -> None:
        """Raise INVALID_PRODUCER_EPOCH if a newer epoch of the producer is known."""
        if epoch < entry.producer_epoch:
            raise KafkaException(
                Errors.INVALID_PRODUCER_EPOCH,
                f"Producer {entry.producer_id} in {self._topic_partition} has epoch {epoch}, and a"
                f" newer one was seen: {entry.producer_epoch}",
            )

    def _check_sequence(self, entry: ProducerStateEntry, header: BatchHeader) -> None:
        first, known = header.base_sequence, entry.producer_epoch
        if header.producer_epoch != known:
            if first != 0 and known != NO_PRODUCER_EPOCH:
                raise self._out_of_order(
                    header, f"a new epoch must begin at 0, epoch {known} was the last"
                )
        elif known != NO_PRODUCER_EPOCH:
            last = entry.last_sequence
            if first != last + 1 and not (first == 0 and last == MAX_SEQUENCE):
                raise self._out_of_order(header, f"the last one was {last}")

    def _out_of_order(self, header: BatchHeader, why: str) -> KafkaException:
        return KafkaException(
            Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
            f"Producer {header.producer_id}, epoch {header.producer_epoch}, in"
            f" {self._topic_partition} sent sequence {header.base_sequence}: {why}",
        )
