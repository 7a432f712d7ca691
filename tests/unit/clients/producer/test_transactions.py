"""The states of a transactional producer: each call in each state, each request with each error as
its answer, and cases in which the order of requests matters.
"""

from collections.abc import Mapping
from typing import Final

import pytest

from kafka_edu.clients.client_errors import (
    BrokerException,
    ClientException,
    IllegalStateException,
    ProducerFencedException,
    TransactionAbortedException,
    UnsupportedVersionException,
)
from kafka_edu.clients.consumer.group_metadata import ConsumerGroupMetadata
from kafka_edu.clients.consumer.group_offsets import CommitFailedException
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.producer_state import (
    ACCEPTED_IN,
    VALID_PREVIOUS_STATES,
    Call,
    ProducerIdAndEpoch,
    ProducerState,
    State,
)
from kafka_edu.clients.producer.transactional_answers import VERDICTS, Verdict, verdict_of
from kafka_edu.clients.producer.transactions import TransactionalResult, Transactions
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_edu.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from kafka_edu.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.messages.produce import ProduceRequest
from kafka_edu.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from kafka_edu.protocol.schema import Message
from tests.golden.producer_states.record import recorded
from tests.unit.clients.producer.parts import (
    Core,
    Request,
    offsets_stored,
    partitions_added,
    produced,
)

T0 = TopicPartition("t", 0)
OFFSETS = {T0: OffsetAndMetadata(5, "m", 2)}
MEMBER = ConsumerGroupMetadata("g", 7, "me", "i")
TRANSACTIONAL: Final[Mapping[str, object]] = {"transactional.id": "x", "retry.backoff.ms": 100}


class Txn(Core):
    """A transactional producer's core, with the calls that a program makes."""

    def __init__(self, settings: Mapping[str, object] | None = None, partitions: int = 1) -> None:
        super().__init__(TRANSACTIONAL | dict(settings or {}), partitions=partitions)

    @property
    def calls(self) -> Transactions:
        assert self.transactions is not None
        return self.transactions

    @property
    def producer(self) -> ProducerState:
        assert self.txn is not None
        return self.txn.producer

    def begun(self) -> "Txn":
        """Get an id and begin a transaction."""
        self.calls.init()
        self.run()
        self.calls.begin()
        self.seen.clear()
        return self

    def send(self, value: bytes, partition: int = 0) -> ProducerBatch:
        self.calls.check_send()
        batch = self.append(value, partition)
        if batch.count == 1:
            self.calls.add_partition(batch.tp)
        self.run()
        return batch

    def next_request(self, key: ApiKey) -> Request:
        [found] = [request for request in self.requests if request.key is key]
        return found

    def reply(self, key: ApiKey, message: Message) -> None:
        self.answer(self.next_request(key), message)
        self.run()

    def store_all(self) -> None:
        """Answer all Produce requests as a leader does."""
        while found := [r for r in self.requests if r.key is ApiKey.PRODUCE]:
            self.answer(found[0], self.store(found[0]))
            self.run()


def in_state(state: State) -> Txn:
    """Return a producer in a state."""
    core = Txn()
    if state is State.UNINITIALIZED:
        return core
    core.held = {ApiKey.INIT_PRODUCER_ID} if state is State.INITIALIZING else {ApiKey.END_TXN}
    result = core.calls.init()
    core.run()
    if result.done:
        core.calls.taken(result)
    if state in (State.INITIALIZING, State.READY):
        return core
    core.calls.begin()
    core.send(b"v")
    core.store_all()
    match state:
        case State.COMMITTING_TRANSACTION:
            core.calls.commit()
        case State.ABORTING_TRANSACTION:
            core.calls.abort()
        case State.ABORTABLE_ERROR:
            core.txn and core.txn.abortable(KafkaException(Errors.MESSAGE_TOO_LARGE))
        case State.FATAL_ERROR:
            core.txn and core.txn.fenced()
    core.run()
    assert core.producer.state is state
    return core


def test_the_table_is_the_one_of_kafkas_class() -> None:
    """Our table equals the recording of TransactionManager.State from Apache Kafka 2.8.2."""
    table = {(a, b) for b, befores in VALID_PREVIOUS_STATES.items() for a in befores}
    assert table == recorded()
    assert {after for _, after in table} == set(State)


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("after", State)
def test_only_the_tables_transitions_happen(before: State, after: State) -> None:
    producer = in_state(before).producer
    if before in VALID_PREVIOUS_STATES[after]:
        producer.enter(after, "a test", KafkaException(Errors.PRODUCER_FENCED))
        assert producer.state is after
    else:
        with pytest.raises(ValueError, match=f"cannot go from {before} to {after}"):
            producer.enter(after, "a test")
        assert producer.state is before


def make(core: Txn, call: Call) -> TransactionalResult | None:
    match call:
        case Call.INIT_TRANSACTIONS:
            return core.calls.init()
        case Call.BEGIN_TRANSACTION:
            core.calls.begin()
        case Call.SEND:
            core.calls.check_send()
        case Call.SEND_OFFSETS:
            return core.calls.send_offsets(OFFSETS, MEMBER)
        case Call.COMMIT_TRANSACTION:
            return core.calls.commit()
        case Call.ABORT_TRANSACTION:
            return core.calls.abort()
    return None


#: call → the state in which the same call, made before, has not ended.
CONTINUED: Final = {
    Call.INIT_TRANSACTIONS: State.INITIALIZING,
    Call.COMMIT_TRANSACTION: State.COMMITTING_TRANSACTION,
    Call.ABORT_TRANSACTION: State.ABORTING_TRANSACTION,
}


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("call", Call)
def test_each_call_in_each_state(state: State, call: Call) -> None:
    core = in_state(state)
    if state in ACCEPTED_IN[call]:
        result = make(core, call)
        core.run()
        assert core.producer.state is not state or call in (Call.SEND, Call.SEND_OFFSETS)
        if call is Call.SEND_OFFSETS:
            assert result is not None
            assert (result.done, result.error) == (True, None)
    elif CONTINUED.get(call) is state:
        assert make(core, call) is make(core, call)  # both wait for the same end
    elif state in (State.ABORTABLE_ERROR, State.FATAL_ERROR):
        with pytest.raises(KafkaException) as refused:
            make(core, call)
        assert refused.value is core.producer.error
    else:
        with pytest.raises(IllegalStateException, match=f"Cannot call {call} in state {state}"):
            make(core, call)
        assert core.producer.state is state


@pytest.mark.parametrize(
    ("state", "call", "after"),
    [
        (State.UNINITIALIZED, Call.INIT_TRANSACTIONS, State.READY),
        (State.READY, Call.BEGIN_TRANSACTION, State.IN_TRANSACTION),
        (State.IN_TRANSACTION, Call.COMMIT_TRANSACTION, State.READY),
        (State.IN_TRANSACTION, Call.ABORT_TRANSACTION, State.READY),
        (State.ABORTABLE_ERROR, Call.ABORT_TRANSACTION, State.READY),
    ],
)
def test_each_accepted_call_ends(state: State, call: Call, after: State) -> None:
    core = in_state(state)
    core.held = set()
    result = make(core, call)
    core.run()
    assert core.producer.state is after
    assert core.producer.error is None
    if result is not None:
        assert (result.done, result.error) == (True, None)


REQUESTS: Final = (
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.END_TXN,
)


def waiting_for(key: ApiKey, settings: Mapping[str, object] | None = None) -> tuple[Txn, Request]:
    """Return a producer that has sent a request with this key and has no answer yet, and return the
    request.
    """
    core = Txn(settings)
    if key is ApiKey.INIT_PRODUCER_ID:
        core.held = {key}
        core.calls.init()
        core.run()
        return core, core.next_request(key)
    core.begun()
    core.held = {key}
    match key:
        case ApiKey.ADD_PARTITIONS_TO_TXN:
            core.send(b"v")
        case ApiKey.END_TXN:
            core.send(b"v")
            core.store_all()
            core.calls.commit()
        case _:
            core.calls.send_offsets(OFFSETS, MEMBER)
    core.run()
    return core, core.next_request(key)


def answer_with(request: Request, error: Errors) -> Message:
    code = int(error)
    match request.key:
        case ApiKey.INIT_PRODUCER_ID:
            return InitProducerIdResponse(
                throttle_time_ms=0, error_code=code, producer_id=9, producer_epoch=0
            )
        case ApiKey.ADD_PARTITIONS_TO_TXN:
            return partitions_added(request, error)
        case ApiKey.ADD_OFFSETS_TO_TXN:
            return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=code)
        case ApiKey.TXN_OFFSET_COMMIT:
            return offsets_stored(request, error)
        case _:
            return EndTxnResponse(throttle_time_ms=0, error_code=code)


@pytest.mark.parametrize("error", [e for e in Errors if e is not Errors.NONE])
@pytest.mark.parametrize("key", REQUESTS)
def test_each_request_with_each_error_answer(key: ApiKey, error: Errors) -> None:
    """Each error has the effect that the table VERDICTS says, and afterwards the producer is not
    stuck.
    """
    core, request = waiting_for(key)
    before = core.producer.state
    core.seen.clear()
    core.answer(request, answer_with(request, error))
    core.run()
    match verdict_of(key, error):
        case Verdict.RETRY | Verdict.MOVED:
            assert core.producer.state is before
            assert not core.requests
            core.held = set()
            core.advance(100)
            core.advance(0)
            assert core.seen[0] is key
            assert core.producer.error is None
        case Verdict.ABORTABLE | Verdict.NEW_EPOCH as verdict:
            assert core.producer.state is State.ABORTABLE_ERROR
            assert core.producer.error is not None
            assert core.producer.error.error is error
            core.held = set()
            result = core.calls.abort()
            core.run()
            assert (result.done, result.error) == (True, None)
            assert core.producer.state is State.READY
            assert (ApiKey.INIT_PRODUCER_ID in core.seen) is (verdict is Verdict.NEW_EPOCH)
        case Verdict.FENCED:
            assert isinstance(core.producer.error, ProducerFencedException)
            assert core.producer.state is State.FATAL_ERROR
        case Verdict.FATAL:
            assert core.producer.state is State.FATAL_ERROR
            assert isinstance(core.producer.error, BrokerException)
            assert core.producer.error.error is error


@pytest.mark.parametrize("key", REQUESTS)
def test_a_request_whose_answer_is_lost_is_sent_again_to_the_coordinator(key: ApiKey) -> None:
    core, _ = waiting_for(key)
    core.held = set()
    core.seen.clear()
    core.lose_coordinator()
    core.run()
    assert not core.seen
    core.advance(200)
    assert core.seen[0] is key
    assert core.producer.error is None


def test_the_errors_that_kafka_lists_have_its_verdicts() -> None:
    """A few of each row, so that a changed row is seen."""
    assert set(VERDICTS) == set(REQUESTS)
    for key in REQUESTS:
        assert verdict_of(key, Errors.PRODUCER_FENCED) is Verdict.FENCED
        assert verdict_of(key, Errors.INVALID_PRODUCER_EPOCH) is Verdict.FENCED
        assert verdict_of(key, Errors.NOT_COORDINATOR) is Verdict.MOVED
        assert verdict_of(key, Errors.CONCURRENT_TRANSACTIONS) is Verdict.RETRY
        assert verdict_of(key, Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) is Verdict.FATAL
        assert verdict_of(key, Errors.INVALID_TXN_STATE) is Verdict.FATAL
    mapping = Errors.INVALID_PRODUCER_ID_MAPPING
    assert verdict_of(ApiKey.INIT_PRODUCER_ID, mapping) is Verdict.FATAL
    assert verdict_of(ApiKey.END_TXN, mapping) is Verdict.NEW_EPOCH
    assert verdict_of(ApiKey.INIT_PRODUCER_ID, Errors.INVALID_TRANSACTION_TIMEOUT) is Verdict.FATAL
    illegal = verdict_of(ApiKey.TXN_OFFSET_COMMIT, Errors.ILLEGAL_GENERATION)
    assert illegal is Verdict.ABORTABLE


def test_no_batch_is_sent_before_its_partition_is_in_the_transaction() -> None:
    core, request = waiting_for(ApiKey.ADD_PARTITIONS_TO_TXN)
    assert isinstance(request.message, AddPartitionsToTxnRequest)
    assert request.message.transactional_id == "x"
    assert not [r for r in core.requests if r.key is ApiKey.PRODUCE]
    core.reply(ApiKey.ADD_PARTITIONS_TO_TXN, partitions_added(request))
    [(partition, _, header)] = core.batches(core.next_request(ApiKey.PRODUCE))
    assert (partition, header.is_transactional, header.producer_id) == (0, True, 101)
    produce = core.next_request(ApiKey.PRODUCE).message
    assert isinstance(produce, ProduceRequest)
    assert produce.transactional_id == "x"


def test_each_partition_is_added_once_in_a_transaction() -> None:
    core = Txn(partitions=2).begun()
    core.send(b"a", 0)
    core.store_all()
    core.send(b"b", 0)
    core.store_all()
    core.send(b"c", 1)
    core.store_all()
    assert core.seen == [ApiKey.ADD_PARTITIONS_TO_TXN] * 2
    core.calls.commit()
    core.run()
    core.calls.begin()
    core.send(b"d", 0)
    assert core.seen[2:] == [ApiKey.END_TXN, ApiKey.ADD_PARTITIONS_TO_TXN]


def test_concurrent_transactions_has_a_short_back_off_for_the_first_partition_only() -> None:
    core, request = waiting_for(ApiKey.ADD_PARTITIONS_TO_TXN)
    concurrent = Errors.CONCURRENT_TRANSACTIONS
    core.reply(ApiKey.ADD_PARTITIONS_TO_TXN, partitions_added(request, concurrent))
    core.advance(19)
    assert not core.requests
    core.advance(1)
    core.reply(ApiKey.ADD_PARTITIONS_TO_TXN, partitions_added(request))
    core.store_all()
    core.leaders[1] = core.leaders[0]
    core.calls.add_partition(TopicPartition("t", 1))
    core.run()
    second = core.next_request(ApiKey.ADD_PARTITIONS_TO_TXN)
    core.reply(ApiKey.ADD_PARTITIONS_TO_TXN, partitions_added(second, concurrent))
    core.advance(99)
    assert not core.requests
    core.advance(1)
    assert core.next_request(ApiKey.ADD_PARTITIONS_TO_TXN)


def test_the_end_waits_for_all_batches_and_says_which_end() -> None:
    for commit in (True, False):
        core = Txn({"linger.ms": 5_000}).begun()
        core.held = {ApiKey.END_TXN}
        sent = core.send(b"sent")
        core.advance(5_000)
        waits = core.send(b"waits")
        result = core.calls.commit() if commit else core.calls.abort()
        core.run()
        assert ApiKey.END_TXN not in core.seen
        core.store_all()
        request = core.next_request(ApiKey.END_TXN).message
        assert isinstance(request, EndTxnRequest)
        assert request.committed is commit
        assert not result.done
        core.reply(ApiKey.END_TXN, EndTxnResponse(throttle_time_ms=0, error_code=0))
        assert result.done
        assert sent.outcome is not None
        assert sent.outcome.error is None
        assert waits.outcome is not None
        assert isinstance(waits.outcome.error, TransactionAbortedException) is not commit


def test_a_transaction_of_nothing_asks_the_coordinator_nothing() -> None:
    core = Txn().begun()
    assert core.calls.commit().done is False
    core.run()
    assert core.producer.state is State.READY
    assert not core.seen


def test_a_lost_answer_to_add_partitions_is_found_out_before_an_abort_ends() -> None:
    """The producer does not know whether the coordinator added the partition. So it sends the
    request again before it aborts. Otherwise the coordinator could keep a transaction open that the
    producer has forgotten.
    """
    core, _ = waiting_for(ApiKey.ADD_PARTITIONS_TO_TXN)
    core.lose_coordinator()
    core.held = set()
    core.seen.clear()
    result = core.calls.abort()
    core.advance(200)
    assert core.seen == [ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.END_TXN]
    assert result.done


def test_a_refused_partition_is_not_added_by_an_abort() -> None:
    core, request = waiting_for(ApiKey.ADD_PARTITIONS_TO_TXN)
    loading = Errors.COORDINATOR_LOAD_IN_PROGRESS
    core.reply(ApiKey.ADD_PARTITIONS_TO_TXN, partitions_added(request, loading))
    core.seen.clear()
    result = core.calls.abort()
    core.advance(200)
    assert not core.seen
    assert result.done


def test_a_lost_answer_to_add_offsets_is_found_out_before_an_abort_ends() -> None:
    core, _ = waiting_for(ApiKey.ADD_OFFSETS_TO_TXN)
    core.lose_coordinator()
    core.held = set()
    core.seen.clear()
    core.calls.abort()
    core.advance(200)
    assert core.seen == [ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN]


def test_offsets_carry_the_consumers_membership() -> None:
    core, request = waiting_for(ApiKey.TXN_OFFSET_COMMIT)
    message = request.message
    assert isinstance(message, TxnOffsetCommitRequest)
    assert (message.group_id, message.generation_id, message.member_id) == ("g", 7, "me")
    assert message.group_instance_id == "i"
    [partition] = message.topics[0].partitions
    assert (partition.committed_offset, partition.committed_metadata) == (5, "m")
    assert partition.committed_leader_epoch == 2
    assert core.seen == [ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.TXN_OFFSET_COMMIT]


def test_only_the_offsets_that_failed_are_sent_again() -> None:
    core = Txn().begun()
    core.held = {ApiKey.TXN_OFFSET_COMMIT}
    other = TopicPartition("t", 1)
    result = core.calls.send_offsets(OFFSETS | {other: OffsetAndMetadata(6)}, MEMBER)
    core.run()
    answer = offsets_stored(core.next_request(ApiKey.TXN_OFFSET_COMMIT))
    answer.topics[0].partitions[1].error_code = int(Errors.UNKNOWN_TOPIC_OR_PARTITION)
    core.reply(ApiKey.TXN_OFFSET_COMMIT, answer)
    core.advance(100)
    again = core.next_request(ApiKey.TXN_OFFSET_COMMIT)
    assert isinstance(again.message, TxnOffsetCommitRequest)
    assert [p.partition_index for p in again.message.topics[0].partitions] == [1]
    core.reply(ApiKey.TXN_OFFSET_COMMIT, offsets_stored(again))
    assert (result.done, result.error) == (True, None)


def test_a_removed_member_gets_commit_failed() -> None:
    core, request = waiting_for(ApiKey.TXN_OFFSET_COMMIT)
    core.reply(ApiKey.TXN_OFFSET_COMMIT, offsets_stored(request, Errors.ILLEGAL_GENERATION))
    with pytest.raises(CommitFailedException):
        core.calls.commit()


@pytest.mark.parametrize("downgrade", [False, True])
def test_an_old_coordinator_takes_no_membership(downgrade: bool) -> None:
    core = Txn({"internal.auto.downgrade.txn.commit": downgrade})
    core.newest[ApiKey.TXN_OFFSET_COMMIT] = 2
    core.begun()
    named = core.calls.send_offsets(OFFSETS, ConsumerGroupMetadata("g"))
    core.run()
    assert (named.done, named.error) == (True, None)
    result = core.calls.send_offsets(OFFSETS, MEMBER)
    core.run()
    assert result.done
    assert isinstance(result.error, UnsupportedVersionException) is not downgrade


def test_offsets_of_a_group_without_a_name_are_refused() -> None:
    core = Txn().begun()
    with pytest.raises(IllegalStateException, match=r"Give the consumer a group\.id"):
        core.calls.send_offsets(OFFSETS, ConsumerGroupMetadata(""))
    assert core.producer.state is State.IN_TRANSACTION


def test_a_broker_without_transactions_ends_the_producer() -> None:
    core = Txn()
    core.newest[ApiKey.FIND_COORDINATOR] = 0
    result = core.calls.init()
    core.run()
    assert result.done
    assert str(result.error) == (
        "UnsupportedVersionException: The broker has no transactions. Leave out transactional.id,"
        " or use a broker from 0.11 on."
    )


@pytest.mark.parametrize("can_bump", [True, False])
def test_after_an_error_the_epoch_is_raised_if_the_coordinator_can(can_bump: bool) -> None:
    core = Txn()
    core.newest[ApiKey.INIT_PRODUCER_ID] = 4 if can_bump else 1
    core.begun()
    core.held = {ApiKey.INIT_PRODUCER_ID}
    first = core.send(b"stored")
    core.store_all()
    core.send(b"large")
    request = core.next_request(ApiKey.PRODUCE)
    core.answer(request, produced({0: (Errors.MESSAGE_TOO_LARGE, -1)}))
    core.run()
    assert core.producer.state is State.ABORTABLE_ERROR
    result = core.calls.abort()
    core.run()
    if can_bump:
        assert not result.done
        bump = core.next_request(ApiKey.INIT_PRODUCER_ID)
        assert isinstance(bump.message, InitProducerIdRequest)
        assert (bump.message.producer_id, bump.message.producer_epoch) == (101, 0)
        raised = InitProducerIdResponse(
            throttle_time_ms=0, error_code=0, producer_id=101, producer_epoch=1
        )
        core.reply(ApiKey.INIT_PRODUCER_ID, raised)
    assert result.done
    core.calls.begin()
    core.send(b"next")
    [(_, _, header)] = core.batches(core.next_request(ApiKey.PRODUCE))
    assert first.base_sequence == 0
    # Without a new epoch, the refused batch's sequence number is used again.
    assert (header.producer_epoch, header.base_sequence) == ((1, 0) if can_bump else (0, 1))
    core.store_all()
    assert core.stored[0].values == [b"stored", b"next"]


@pytest.mark.parametrize("can_bump", [True, False])
def test_an_expired_batch_lets_the_producer_go_on_only_under_a_new_epoch(can_bump: bool) -> None:
    core = Txn({"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_500})
    core.newest[ApiKey.INIT_PRODUCER_ID] = 4 if can_bump else 1
    core.begun()
    batch = core.send(b"lost")
    core.advance(1_500)  # the request's time is over
    core.advance(500)
    assert batch.done
    for request in [r for r in core.requests if r.key is ApiKey.PRODUCE]:
        core.lose(request.node)
    core.run()
    if not can_bump:
        assert core.producer.state is State.FATAL_ERROR
        return
    assert core.producer.state is State.ABORTABLE_ERROR
    result = core.calls.abort()
    core.advance(500)
    assert result.done
    assert core.producer.identity == ProducerIdAndEpoch(102, 0)
    assert core.seen[-2:] == [ApiKey.END_TXN, ApiKey.INIT_PRODUCER_ID]


def test_end_txn_waits_for_a_request_whose_records_have_expired() -> None:
    core = Txn({"delivery.timeout.ms": 2_000, "request.timeout.ms": 1_500}).begun()
    core.send(b"first")
    core.store_all()
    core.advance(200)
    core.append(b"waits")
    core.now += 1_000
    core.run()  # the batch is sent 1 s after its begin, and expires 1 s later
    core.advance(1_000)
    core.calls.abort()
    core.run()
    assert ApiKey.END_TXN not in core.seen
    core.store_all()
    assert ApiKey.END_TXN in core.seen


def test_a_missing_permission_for_the_group_is_abortable() -> None:
    core = Txn().begun()
    core.send(b"v")
    core.store_all()
    core.held = {ApiKey.FIND_COORDINATOR}
    result = core.calls.send_offsets(OFFSETS, MEMBER)
    core.run()
    denied = FindCoordinatorResponse(
        throttle_time_ms=0,
        error_code=int(Errors.GROUP_AUTHORIZATION_FAILED),
        node_id=-1,
        host="",
        port=-1,
    )
    core.reply(ApiKey.FIND_COORDINATOR, denied)
    core.run()
    assert core.producer.state is State.ABORTABLE_ERROR
    assert isinstance(result.error, ClientException)
    assert str(result.error).startswith("GROUP_AUTHORIZATION_FAILED: Group g: ")
    aborted = core.calls.abort()
    core.run()
    assert aborted.done
