"""The states and sequence numbers of an idempotent producer."""

import pytest

from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.transaction_manager import (
    MAX_EPOCH,
    ProducerIdAndEpoch,
    State,
    TransactionManager,
)
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LEADER = (1, 0)


def manager(epoch: int = 0) -> TransactionManager:
    txn = TransactionManager("p")
    txn.init_sent()
    txn.init_done(7, epoch)
    return txn


def batch(number: int, records: int = 1, tp: TopicPartition = T0) -> ProducerBatch:
    made = ProducerBatch(number, tp, 10_000, 0, 0)
    for _ in range(records):
        made.try_append(0, None, b"v", ())
    return made


def assigned(txn: TransactionManager, *batches: ProducerBatch) -> list[tuple[int, int]]:
    for each in batches:
        txn.assign(each)
    return [(each.producer_epoch, each.base_sequence) for each in batches]


def test_states_follow_the_table() -> None:
    txn = TransactionManager("p")
    assert txn.needs_producer_id()
    with pytest.raises(ValueError, match="cannot go from UNINITIALIZED to READY"):
        txn.init_done(1, 0)
    txn.init_sent()
    txn.init_failed(Errors.COORDINATOR_LOAD_IN_PROGRESS)
    assert txn.needs_producer_id()
    txn.init_sent()
    txn.init_failed(Errors.CLUSTER_AUTHORIZATION_FAILED)
    assert txn.producer.state is State.FATAL_ERROR
    assert txn.producer.error is not None


def test_sequence_numbers_count_records_of_each_partition() -> None:
    txn = manager()
    found = assigned(txn, batch(1, 3), batch(2, 2), batch(3, 1, T1), batch(4, 1))
    assert found == [(0, 0), (0, 3), (0, 0), (0, 5)]


def test_a_new_leader_gets_one_batch_alone_and_a_known_one_gets_more() -> None:
    txn = manager()
    first, second = batch(1), batch(2)
    assert txn.may_drain(first, LEADER)
    txn.assign(first)
    assert not txn.may_drain(second, LEADER)
    txn.completed(first, 0, LEADER)
    txn.assign(second)
    assert txn.may_drain(batch(3), LEADER)
    assert not txn.may_drain(batch(3), (2, 1))


def test_a_batch_without_an_answer_stays_among_the_five_that_a_broker_remembers() -> None:
    """The answer for the second batch was lost when its leader died, but the next leader has stored
    the batch. A broker recognises a repeated batch only among the producer's last five batches.
    """
    txn = manager()
    first, unanswered, *later = (batch(number) for number in range(1, 8))
    assigned(txn, first)
    txn.completed(first, 0, LEADER)
    txn.assign(unanswered)
    for each in later[:4]:
        assert txn.may_drain(each, LEADER)
        txn.assign(each)
        txn.completed(each, each.base_sequence, LEADER)
    assert not txn.may_drain(later[4], LEADER)
    txn.completed(unanswered, 1, LEADER)
    assert txn.may_drain(later[4], LEADER)


def test_a_retried_batch_waits_for_those_before_it() -> None:
    txn = manager()
    first, second = batch(1), batch(2)
    assigned(txn, first, second)
    assert txn.may_drain(first, LEADER)
    assert not txn.may_drain(second, LEADER)
    txn.completed(first, 0, LEADER)
    assert txn.may_drain(second, LEADER)


def test_out_of_order_behind_another_batch_is_only_sent_again() -> None:
    txn = manager()
    first, second = batch(1), batch(2)
    assigned(txn, first, second)
    assert txn.can_retry(second, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    txn.bump_epoch_if_needed()
    assert txn.producer.identity.epoch == 0


def test_a_gap_numbers_the_batches_in_flight_from_0_in_the_next_epoch() -> None:
    txn = manager()
    first, second, third = batch(1), batch(2, 2), batch(3)
    assigned(txn, first)
    txn.completed(first, 0, LEADER)
    assigned(txn, second, third)
    assert txn.can_retry(second, Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, 0)
    txn.bump_epoch_if_needed()
    numbers = [(each.producer_epoch, each.base_sequence) for each in (second, third)]
    assert numbers == [(1, 0), (1, 2)]
    assert assigned(txn, batch(4)) == [(1, 3)]


def test_another_partition_takes_the_new_epoch_when_nothing_of_the_old_is_in_flight() -> None:
    txn = manager()
    first, here, there = batch(0, 1, T1), batch(1), batch(2, 1, T1)
    assigned(txn, first)
    txn.completed(first, 0, LEADER)  # so T1 may have more than one batch in flight
    assigned(txn, here, there)
    txn.failed(here, KafkaException(Errors.MESSAGE_TOO_LARGE), exhausted=False)
    txn.bump_epoch_if_needed()
    assert (there.producer_epoch, there.base_sequence) == (0, 1)
    later = batch(3, 1, T1)
    assert not txn.may_drain(later, LEADER)
    txn.completed(there, 1, LEADER)
    assert txn.may_drain(later, LEADER)
    assert assigned(txn, later) == [(1, 0)]


def test_an_expired_batch_that_was_stored_leaves_no_gap() -> None:
    txn = manager()
    first, lost, following = batch(0), batch(1), batch(2)
    assigned(txn, first)
    txn.completed(first, 0, LEADER)  # so more than one batch may be in flight
    assigned(txn, lost, following)
    assert txn.may_drain(batch(3), LEADER)
    txn.mark_unresolved(lost)
    txn.failed(lost, KafkaException(Errors.REQUEST_TIMED_OUT), exhausted=True)
    txn.resolve()
    assert not txn.may_drain(batch(3), LEADER)  # nobody knows yet
    txn.completed(following, 2, LEADER)  # the broker takes it, so the lost one is stored
    txn.resolve()
    txn.bump_epoch_if_needed()
    assert assigned(txn, batch(3)) == [(0, 3)]


def test_an_expired_batch_alone_raises_the_epoch() -> None:
    txn = manager()
    lost = batch(1)
    assigned(txn, lost)
    txn.mark_unresolved(lost)
    txn.failed(lost, KafkaException(Errors.REQUEST_TIMED_OUT), exhausted=True)
    txn.resolve()
    txn.bump_epoch_if_needed()
    assert assigned(txn, batch(2)) == [(1, 0)]


def test_after_the_last_epoch_a_new_producer_id_is_asked_for() -> None:
    txn = manager(MAX_EPOCH)
    waiting = batch(1)
    assigned(txn, waiting)
    assert txn.can_retry(waiting, Errors.UNKNOWN_PRODUCER_ID, 5)
    txn.bump_epoch_if_needed()
    assert txn.needs_producer_id()
    assert not txn.may_drain(waiting, LEADER)
    txn.init_sent()
    txn.init_done(8, 0)
    assert txn.producer.identity == ProducerIdAndEpoch(8, 0)
    assert (waiting.producer_id, waiting.base_sequence) == (8, 0)


@pytest.mark.parametrize("can_bump", [True, False])
def test_a_batch_that_expires_during_an_abort_raises_the_epoch_or_ends_the_producer(
    can_bump: bool,
) -> None:
    txn = TransactionManager("p", transactional_id="x")
    txn.can_bump_epoch = can_bump
    txn.init_sent()
    txn.init_done(7, 0)
    txn.producer.enter(State.IN_TRANSACTION, "a test")
    txn.partitions_added([T0])
    lost = batch(1)
    assert txn.may_drain(lost, LEADER)
    txn.assign(lost)
    txn.producer.enter(State.ABORTING_TRANSACTION, "a test")
    txn.mark_unresolved(lost)
    txn.failed(lost, KafkaException(Errors.REQUEST_TIMED_OUT), exhausted=True)
    txn.transaction_ended("EndTxn was answered before the sender ran again")
    assert txn.producer.state is (State.INITIALIZING if can_bump else State.FATAL_ERROR)
    txn.resolve()
    assert txn.producer.state is (State.INITIALIZING if can_bump else State.FATAL_ERROR)
