"""After a change of the leader, the consumer compares its position with the new leader's log
(KIP-320).
"""

import pytest

from kafka_edu.clients.client_errors import BrokerException
from kafka_edu.clients.consumer.subscription_state import (
    NO_OFFSET,
    FetchState,
    LogTruncationException,
)
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.fetch import FetchRequest
from kafka_edu.protocol.messages.list_offsets import ListOffsetsRequest
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from tests.unit.clients.consumer.parts import Core, Request, batch, fetch_answer, listed

T0 = TopicPartition("t", 0)
AWAIT = FetchState.AWAIT_VALIDATION


def reading(**settings: object) -> Core:
    """Return a core that has read the records 0 to 11 of epoch 0 from broker 1."""
    given = {key.replace("_", "."): value for key, value in settings.items()}
    core = Core(given, partitions=1, brokers=(1, 2))
    core.core.subscriptions.assign([T0])
    core.core.subscriptions.seek(T0, 0, "the test begins at 0")
    core.run()
    core.answer(fetching(core)[0], fetch_answer({T0: batch(0, 12, 0)}))
    assert len(core.core.fetcher.collect(100)) == 12
    core.run()
    return core


def fetching(core: Core) -> tuple[Request, int]:
    request, fetch = core.only(ApiKey.FETCH, FetchRequest)
    return request, fetch.topics[0].partitions[0].fetch_offset


def moved(core: Core, epoch: int = 1) -> None:
    """Make broker 2 the leader. Broker 1 answers the consumer's fetch with
    NOT_LEADER_OR_FOLLOWER.
    """
    core.leaders[0] = (2, epoch)
    core.answer(fetching(core)[0], fetch_answer({}, {T0: Errors.NOT_LEADER_OR_FOLLOWER}))
    core.advance(200)


def question(core: Core) -> tuple[Request, tuple[int, int, int]]:
    """Return the OffsetForLeaderEpoch request that waits, its broker, the leader's epoch in it, and
    the epoch whose end it looks up.
    """
    request, asked = core.only(ApiKey.OFFSET_FOR_LEADER_EPOCH, OffsetForLeaderEpochRequest)
    assert asked.replica_id == -1
    [partition] = asked.topics[0].partitions
    return request, (request.node, partition.current_leader_epoch, partition.leader_epoch)


def ended(offset: int, epoch: int = 0, error: Errors = Errors.NONE) -> OffsetForLeaderEpochResponse:
    end = EpochEndOffset(error_code=error, partition=0, leader_epoch=epoch, end_offset=offset)
    return OffsetForLeaderEpochResponse(
        topics=[OffsetForLeaderTopicResult(topic="t", partitions=[end])]
    )


def asked_often(core: Core) -> int:
    return core.seen.count(ApiKey.OFFSET_FOR_LEADER_EPOCH)


def test_a_position_is_valid_if_the_new_leader_has_the_records_before_it() -> None:
    core = reading()
    moved(core)
    request, asked = question(core)
    assert asked == (2, 1, 0)
    subscriptions = core.core.subscriptions
    assert subscriptions.in_state(AWAIT) == [T0]
    assert (subscriptions.position(T0), subscriptions.valid_position(T0)) == (12, NO_OFFSET)
    assert subscriptions.all_consumed() == {}  # what may be wrong is not committed
    assert not [each for each in core.requests if each.key is ApiKey.FETCH]
    core.answer(request, ended(12))
    core.run()
    request, offset = fetching(core)
    assert (request.node, offset) == (2, 12)
    assert subscriptions.valid_position(T0) == 12
    assert asked_often(core) == 1


def test_a_consumer_goes_back_to_where_the_log_was_truncated() -> None:
    core = reading()
    moved(core)
    core.answer(question(core)[0], ended(10))
    core.run()
    request, offset = fetching(core)
    assert (request.node, offset) == (2, 10)
    assert core.core.subscriptions.position(T0) == 10
    assert asked_often(core) == 1  # the leader itself said 10


@pytest.mark.parametrize("answer", [ended(-1), ended(5, -1)])
def test_without_a_common_epoch_the_position_is_reset(answer: OffsetForLeaderEpochResponse) -> None:
    core = reading(auto_offset_reset="earliest")
    moved(core)
    core.answer(question(core)[0], answer)
    core.run()
    core.answer(core.only(ApiKey.LIST_OFFSETS, ListOffsetsRequest)[0], listed(3))
    core.run()
    assert fetching(core)[1] == 3


def test_without_a_reset_the_program_learns_of_the_truncation() -> None:
    core = reading(auto_offset_reset="none", request_timeout_ms=5_000)
    moved(core)
    core.answer(question(core)[0], ended(10))
    core.run()
    with pytest.raises(LogTruncationException, match=r"Seek to 10, or to another offset") as error:
        core.core.fetcher.collect(1)
    assert (error.value.topic_partition, error.value.divergent_offset) == (T0, 10)
    assert error.value.error is Errors.OFFSET_OUT_OF_RANGE
    core.advance(4_900)
    assert core.core.fetcher.collect(1) == []
    assert asked_often(core) == 1
    core.advance(200)
    assert asked_often(core) == 2  # until the program seeks
    core.core.subscriptions.seek(T0, 10, "the program seeks")
    core.answer(question(core)[0], ended(10))
    core.run()
    assert core.core.fetcher.collect(1) == []


def test_a_new_position_does_not_wait_for_the_question_about_the_old_one() -> None:
    core = reading(auto_offset_reset="none")
    moved(core)
    core.answer(question(core)[0], ended(10))
    with pytest.raises(LogTruncationException):
        core.core.fetcher.collect(1)
    core.core.subscriptions.seek(T0, 10, "the program seeks")
    core.run()
    core.answer(fetching(core)[0], fetch_answer({T0: batch(10, 12, 1)}))
    assert len(core.core.fetcher.collect(10)) == 2
    core.run()
    core.leaders[0] = (1, 2)
    core.answer(fetching(core)[0], fetch_answer({}, {T0: Errors.FENCED_LEADER_EPOCH}))
    core.advance(200)
    assert question(core)[1] == (1, 2, 1)


def test_if_the_end_is_unknown_too_the_message_says_less() -> None:
    core = reading(auto_offset_reset="none")
    moved(core)
    core.answer(question(core)[0], ended(-1, -1))
    with pytest.raises(LogTruncationException, match=r"Seek to an offset, or set auto"):
        core.core.fetcher.collect(1)


def test_records_of_the_old_leader_do_not_count_after_the_change() -> None:
    core = reading()
    late, _ = fetching(core)
    core.leaders[0] = (2, 1)
    core.core.metadata.request_update()
    core.requests.remove(late)  # broker 1 is slow: its answer comes after the metadata
    core.core.metadata.update(core.metadata_answer(), core.now)
    core.run()
    request, asked = question(core)
    assert asked == (2, 1, 0)
    core.requests.insert(0, late)
    core.answer(late, fetch_answer({T0: batch(12, 15, 0)}))
    assert core.core.fetcher.collect(100) == []
    core.answer(request, ended(12))
    core.run()
    assert core.core.fetcher.collect(100) == []
    assert fetching(core)[0].node == 2


@pytest.mark.parametrize("error", [Errors.FENCED_LEADER_EPOCH, Errors.NOT_LEADER_OR_FOLLOWER])
def test_if_the_leader_changes_again_the_next_one_is_asked(error: Errors) -> None:
    core = reading()
    moved(core)
    core.leaders[0] = (1, 2)
    core.answer(question(core)[0], ended(-1, -1, error))
    core.advance(200)
    request, asked = question(core)
    assert asked == (1, 2, 0)
    core.lose(request)
    core.advance(200)
    assert question(core)[1] == (1, 2, 0)


def test_an_error_that_needs_the_program_comes_out_of_poll() -> None:
    core = reading()
    moved(core)
    core.answer(question(core)[0], ended(-1, -1, Errors.TOPIC_AUTHORIZATION_FAILED))
    with pytest.raises(BrokerException, match="TOPIC_AUTHORIZATION_FAILED"):
        core.core.fetcher.collect(1)


def test_an_old_broker_is_not_asked() -> None:
    """Before version 3, OffsetForLeaderEpoch needs a permission for the whole cluster, which a
    consumer usually does not have.
    """
    core = Core(partitions=1, brokers=(1, 2))
    core.newest[ApiKey.OFFSET_FOR_LEADER_EPOCH] = 2
    core.core.subscriptions.assign([T0])
    core.core.subscriptions.seek(T0, 12, "it was committed", epoch=0)
    core.run()
    assert fetching(core)[1] == 12
    assert asked_often(core) == 0


def test_a_committed_offset_with_its_epoch_is_validated() -> None:
    core = Core(partitions=1, brokers=(1, 2))
    core.leaders[0] = (1, 4)
    core.core.subscriptions.assign([T0])
    core.core.subscriptions.seek(T0, 12, "it was committed", epoch=3)
    core.run()
    request, asked = question(core)
    assert asked == (1, 4, 3)
    core.answer(request, ended(12, 3))
    core.run()
    assert fetching(core)[1] == 12


def test_the_offset_of_a_reset_and_one_without_an_epoch_are_not_validated() -> None:
    core = Core({"auto.offset.reset": "earliest"}, partitions=1)
    core.leaders[0] = (1, 4)
    core.core.subscriptions.assign([T0])
    core.run()
    answer = listed(3)
    answer.topics[0].partitions[0].leader_epoch = 2
    core.answer(core.only(ApiKey.LIST_OFFSETS, ListOffsetsRequest)[0], answer)
    core.run()
    request, offset = fetching(core)
    assert offset == 3
    core.core.subscriptions.seek(T0, 7, "seek() was called")
    core.answer(request, fetch_answer({}))
    core.run()
    assert fetching(core)[1] == 7
    assert asked_often(core) == 0
