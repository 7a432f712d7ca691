"""Compute the right answers of exercise 15-1 with the broker's own check."""

from typing import Final

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.producer_state_entry import BatchMetadata, ProducerStateEntry
from kafka_edu.log.sequence_check import SequenceCheck
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import (
    BatchHeader,
    build_batch,
    increment_sequence,
    parse_header,
)

Answer = str | tuple[str, int]
PRODUCER: Final = 7
CHECK: Final = SequenceCheck(TopicPartition("lab", 0))


def batch_of(producer: int, epoch: int, first: int, count: int) -> bytes:
    """Return a batch of `count` records with these sequence numbers."""
    records = [Record(number, 0, None, b"a record of the lab") for number in range(count)]
    return build_batch(records, producer_id=producer, producer_epoch=epoch, base_sequence=first)


class Producer:
    """The broker's state of one producer in one partition, and the end of the log."""

    def __init__(self, end: int = 0) -> None:
        self.entry: ProducerStateEntry | None = None
        self.end = end

    @property
    def epoch(self) -> int | None:
        """Return the known epoch; None if nothing is known."""
        return None if self.entry is None else self.entry.producer_epoch

    @property
    def batches(self) -> list[tuple[int, int, int]]:
        """Return (first number, last number, offset) of each batch that the broker remembers."""
        known = () if self.entry is None else self.entry.batches
        return [(one.first_sequence, one.last_sequence, one.first_offset) for one in known]

    def check(self, epoch: int, first: int, count: int) -> Answer:
        """Return the right answer for this batch."""
        try:
            duplicate = CHECK.check(self.entry, header_of(epoch, first, count))
        except KafkaException as error:
            return error.error.name
        return "write" if duplicate is None else ("duplicate", duplicate.first_offset)

    def written(self, epoch: int, first: int, count: int) -> int:
        """Write a batch at the end of the log. Return its offset."""
        offset = self.end
        self.end += count
        last = increment_sequence(first, count - 1)
        batch = BatchMetadata(last, self.end - 1, count - 1, 0)
        self._entry().add_batch(epoch, batch)
        return offset

    def fence(self, epoch: int) -> None:
        """Process a marker with a newer epoch."""
        self._entry().update_epoch(epoch)

    def _entry(self) -> ProducerStateEntry:
        if self.entry is None:
            self.entry = ProducerStateEntry(PRODUCER)
        return self.entry


def header_of(epoch: int, first: int, count: int) -> BatchHeader:
    """Return the header of a batch with these sequence numbers."""
    header = parse_header(batch_of(PRODUCER, epoch, first, 1))
    return header._replace(last_offset_delta=count - 1, records_count=count)
