"""SequenceCheck: which batch of an idempotent producer is written, which one was written before,
and which one is refused.
"""

import pytest

from exercises.ch15_exactly_once.sequence_rules import batch_of
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.producer_state_entry import BatchMetadata, ProducerStateEntry
from kafka_edu.log.sequence_check import SequenceCheck
from kafka_edu.record.record_batch import MAX_SEQUENCE, BatchHeader, parse_header

CHECK = SequenceCheck(TopicPartition("t", 0))
EPOCH = 3


def header(first: int, count: int = 1, epoch: int = EPOCH) -> BatchHeader:
    """Return the header of a batch with these sequence numbers."""
    made = parse_header(batch_of(7, epoch, first, 1))
    return made._replace(last_offset_delta=count - 1, records_count=count)


def producer(*last_sequences: int) -> ProducerStateEntry:
    """Return a producer with batches of one record each, which end at these sequence numbers."""
    entry = ProducerStateEntry(7, EPOCH)
    for offset, sequence in enumerate(last_sequences):
        entry.add_batch(EPOCH, BatchMetadata(sequence, 100 + offset, 0, 0))
    return entry


def refusal(entry: ProducerStateEntry, batch: BatchHeader) -> Errors:
    with pytest.raises(KafkaException) as refused:
        CHECK.check(entry, batch)
    return refused.value.error


def test_a_producer_that_is_not_known_may_begin_anywhere() -> None:
    assert CHECK.check(None, header(first=9)) is None


def test_the_next_number_is_written_and_a_gap_is_refused() -> None:
    assert CHECK.check(producer(0, 1, 2), header(first=3)) is None
    assert refusal(producer(0, 1, 2), header(first=4)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_each_of_the_last_five_batches_is_recognized() -> None:
    entry = producer(0, 1, 2, 3, 4, 5)
    for sequence in (1, 2, 3, 4, 5):
        duplicate = CHECK.check(entry, header(first=sequence))
        assert duplicate is not None
        assert duplicate.last_offset == 100 + sequence
    assert refusal(entry, header(first=0)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_batch_with_other_ends_is_no_duplicate() -> None:
    assert refusal(producer(0, 1), header(first=1, count=2)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_the_numbers_begin_again_after_the_largest_one() -> None:
    assert CHECK.check(producer(MAX_SEQUENCE), header(first=0)) is None


def test_an_old_epoch_is_fenced_and_a_new_one_begins_at_0() -> None:
    entry = producer(0, 1)
    assert refusal(entry, header(2, epoch=EPOCH - 1)) is Errors.INVALID_PRODUCER_EPOCH
    assert CHECK.check(entry, header(0, epoch=EPOCH + 1)) is None
    assert refusal(entry, header(2, epoch=EPOCH + 1)) is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
