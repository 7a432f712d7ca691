import pytest
from hypothesis import strategies as st

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.transaction_metadata import (
    IllegalTransition,
    TransactionMetadata,
    TxnTransitMetadata,
)
from kafka_edu.coordinator.transaction.transaction_state import (
    VALID_PREVIOUS_STATES,
    TransactionState,
)

A, B = TopicPartition("t", 0), TopicPartition("t", 1)
PREPARES = {
    "init": (lambda m: m.prepare_increment_producer_epoch(5, None, 1), TransactionState.EMPTY),
    "rotate": (lambda m: m.prepare_producer_id_rotation(99, 5, 1, False), TransactionState.EMPTY),
    "fence": (lambda m: m.prepare_fence_producer_epoch(), TransactionState.PREPARE_EPOCH_FENCE),
    "add": (lambda m: m.prepare_add_partitions([A], 1), TransactionState.ONGOING),
    "commit": (
        lambda m: m.prepare_abort_or_commit(TransactionState.PREPARE_COMMIT, 1),
        TransactionState.PREPARE_COMMIT,
    ),
    "abort": (
        lambda m: m.prepare_abort_or_commit(TransactionState.PREPARE_ABORT, 1),
        TransactionState.PREPARE_ABORT,
    ),
    "dead": (lambda m: m.prepare_dead(), TransactionState.DEAD),
}


def metadata(
    state: TransactionState = TransactionState.EMPTY, epoch: int = 3
) -> TransactionMetadata:
    made = TransactionMetadata("a", 7, 1000, 0)
    made.producer_epoch, made.state = epoch, state
    return made


@pytest.mark.parametrize("state", list(TransactionState))
@pytest.mark.parametrize("name", PREPARES)
def test_a_change_begins_only_from_where_the_table_lets_it(
    state: TransactionState, name: str
) -> None:
    prepare, target = PREPARES[name]
    made = metadata(state)
    if state in VALID_PREVIOUS_STATES[target]:
        assert prepare(made).state is target
        assert (made.pending_state, made.state) == (target, state)
        for again, _ in PREPARES.values():
            with pytest.raises(IllegalTransition):
                again(made)
    else:
        with pytest.raises(IllegalTransition):
            prepare(made)
        assert made.pending_state is None


def test_what_completes_must_be_what_was_prepared() -> None:
    made = metadata()
    transit = made.prepare_add_partitions([A], 10)
    for wrong in (
        transit._replace(state=TransactionState.PREPARE_COMMIT),
        transit._replace(producer_epoch=4),
        transit._replace(producer_id=8),
    ):
        with pytest.raises(IllegalTransition):
            made.complete_transition_to(wrong)
    made.complete_transition_to(transit)
    assert (made.state, made.topic_partitions, made.txn_start_timestamp, made.pending_state) == (
        TransactionState.ONGOING,
        {A},
        10,
        None,
    )
    with pytest.raises(IllegalTransition):
        made.complete_transition_to(transit)


def test_a_transaction_keeps_its_beginning_while_it_grows_and_gets_a_new_one_after() -> None:
    made = metadata()
    made.complete_transition_to(made.prepare_add_partitions([A], 10))
    made.complete_transition_to(made.prepare_add_partitions([B], 20))
    assert (made.txn_start_timestamp, made.txn_last_update_timestamp, made.topic_partitions) == (
        10,
        20,
        {A, B},
    )
    made.complete_transition_to(made.prepare_abort_or_commit(TransactionState.PREPARE_COMMIT, 30))
    made.complete_transition_to(made.prepare_complete(40))
    assert (made.state, made.topic_partitions) == (TransactionState.COMPLETE_COMMIT, frozenset())
    made.complete_transition_to(made.prepare_add_partitions([B], 5))
    assert made.txn_start_timestamp == 5, "also when the wall clock was set back"


@pytest.mark.parametrize(
    ("epoch", "last", "expected", "result"),
    [
        (3, -1, None, (4, -1)),
        (3, 2, 3, (4, 3)),
        (3, 2, 2, (3, 2)),
        (-1, -1, 9, (0, -1)),
        (3, 2, 1, None),
        (3, -1, 4, None),
    ],
)
def test_which_epoch_an_initialisation_gets(
    epoch: int, last: int, expected: int | None, result: tuple[int, int] | None
) -> None:
    made = metadata(epoch=epoch)
    made.last_producer_epoch = last
    if result is None:
        with pytest.raises(KafkaException):
            made.prepare_increment_producer_epoch(9, expected, 1)
        assert made.pending_state is None
        return
    transit = made.prepare_increment_producer_epoch(9, expected, 1)
    made.complete_transition_to(transit)
    assert (made.producer_epoch, made.last_producer_epoch, made.txn_timeout_ms) == (*result, 9)


def test_the_last_epoch_is_kept_for_fencing() -> None:
    made = metadata(epoch=32766)
    made.complete_transition_to(made.prepare_add_partitions([A], 1))
    fence = made.prepare_fence_producer_epoch()
    assert fence.producer_epoch == 32767
    transit = made.begin_abort_of_fenced(fence.producer_epoch, 1)
    assert (transit.state, transit.producer_epoch) == (TransactionState.PREPARE_ABORT, 32767)
    made.complete_transition_to(transit)
    made.complete_transition_to(made.prepare_complete(2))
    with pytest.raises(IllegalTransition):
        made.prepare_increment_producer_epoch(9, None, 1)
    made.complete_transition_to(made.prepare_producer_id_rotation(8, 9, 3, True))
    assert (
        made.producer_id,
        made.producer_epoch,
        made.last_producer_id,
        made.last_producer_epoch,
    ) == (8, 0, 7, 32767)


TRANSITS = st.builds(
    TxnTransitMetadata,
    st.integers(0, 2**63 - 1),
    st.just(-1),
    st.integers(-1, 2**15 - 1),
    st.just(-1),
    st.integers(0, 2**31 - 1),
    st.sampled_from([s for s in TransactionState if s is not TransactionState.EMPTY]),
    st.frozensets(
        st.builds(TopicPartition, st.text(min_size=1, max_size=5), st.integers(0, 99)), max_size=5
    ),
    st.integers(-1, 2**62),
    st.integers(-1, 2**62),
)
