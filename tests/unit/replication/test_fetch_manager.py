"""What a fetch means in its fetch session (KIP-227; facts observed on Apache Kafka 2.8.2)."""

from random import Random

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.log.log_offset_metadata import LogOffsetMetadata
from kafka_edu.log.transaction_index import AbortedTxn
from kafka_edu.protocol.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.replication.fetch_manager import (
    FetchManager,
    IncrementalFetchContext,
    SessionErrorContext,
    SessionlessFetchContext,
)
from kafka_edu.replication.fetch_params import PartitionFetch
from kafka_edu.replication.fetch_session_cache import FetchSessionCache
from kafka_edu.replication.fetch_session_handler import (
    FINAL_EPOCH,
)
from kafka_edu.replication.log_read_result import EpochAndOffset, LogReadResult, failed_read

A, B, C = (TopicPartition("t", i) for i in range(3))
WANTED = PartitionFetch(0, -1, 1000)


def read(
    records: bytes = b"", hw: int = 0, log_start: int = 0, diverging: EpochAndOffset | None = None
) -> LogReadResult:
    return LogReadResult(
        Errors.NONE, records, len(records), LogOffsetMetadata(0), hw, log_start, 9, hw, diverging
    )


def told(response: FetchResponse) -> list[TopicPartition]:
    return [
        TopicPartition(topic.topic, p.partition)
        for topic in response.responses
        for p in topic.partition_responses
    ]


class Client:
    """Sends fetches to a manager, and answers from `state`."""

    def __init__(self, slots: int = 10) -> None:
        self.manager = FetchManager(FetchSessionCache(slots, Random(3)))
        self.state = {tp: read() for tp in (A, B, C)}

    def fetch(
        self,
        session_id: int,
        epoch: int,
        wanted: dict[TopicPartition, PartitionFetch],
        forget: tuple[TopicPartition, ...] = (),
    ) -> FetchResponse:
        context = self.manager.new_context(session_id, epoch, wanted, forget, now_ms=0)
        return context.response([(tp, self.state[tp]) for tp, _ in context.infos()], 0)


def test_a_full_fetch_opens_a_session_and_the_next_ones_tell_only_news() -> None:
    client = Client()
    first = client.fetch(0, 0, {A: WANTED, B: WANTED})
    assert first.session_id > 0
    assert told(first) == [A, B]
    assert told(client.fetch(first.session_id, 1, {})) == []
    client.state[B] = read(b"records")
    assert told(client.fetch(first.session_id, 2, {})) == [B]
    client.state[B] = read()
    client.state[A] = read(hw=1)
    assert told(client.fetch(first.session_id, 3, {})) == [A]
    client.state[A] = read(hw=1, log_start=1)
    assert told(client.fetch(first.session_id, 4, {C: WANTED})) == [A, C]
    client.state[B] = read(diverging=EpochAndOffset(1, 5))
    response = client.fetch(first.session_id, 5, {}, (C,))
    assert told(response) == [B]
    assert response.responses[0].partition_responses[0].diverging_epoch.end_offset == 5


def test_who_was_answered_is_read_last_the_next_time() -> None:
    client = Client()
    session_id = client.fetch(0, 0, {A: WANTED, B: WANTED, C: WANTED}).session_id
    client.state[A] = read(b"records")
    client.fetch(session_id, 1, {})
    context = client.manager.new_context(session_id, 2, {}, (), now_ms=0)
    assert [tp for tp, _ in context.infos()] == [B, C, A]


def test_errors_are_told_at_every_fetch_and_recovery_too() -> None:
    client = Client()
    session_id = client.fetch(0, 0, {A: WANTED}).session_id
    client.state[A] = failed_read(Errors.NOT_LEADER_OR_FOLLOWER)
    assert told(client.fetch(session_id, 1, {})) == [A]
    assert told(client.fetch(session_id, 2, {})) == [A]
    client.state[A] = read()
    assert told(client.fetch(session_id, 3, {})) == [A]
    assert told(client.fetch(session_id, 4, {})) == []


def test_a_wrong_epoch_is_an_error_and_does_not_use_the_epoch_up() -> None:
    client = Client()
    session_id = client.fetch(0, 0, {A: WANTED}).session_id
    assert client.fetch(session_id, 7, {}).error_code == Errors.INVALID_FETCH_SESSION_EPOCH
    assert client.fetch(session_id, 1, {}).error_code == Errors.NONE


def test_an_unknown_session_and_session_zero_with_an_epoch_are_not_found() -> None:
    client = Client()
    for session_id in (0, 12345):
        response = client.fetch(session_id, 5, {A: WANTED})
        assert response.error_code == Errors.FETCH_SESSION_ID_NOT_FOUND
        assert response.session_id == 0


def test_a_session_ends_with_its_last_partition() -> None:
    client = Client()
    session_id = client.fetch(0, 0, {A: WANTED}).session_id
    response = client.fetch(session_id, 1, {}, (A,))
    assert (response.error_code, response.session_id) == (Errors.NONE, 0)
    assert client.fetch(session_id, 2, {}).error_code == Errors.FETCH_SESSION_ID_NOT_FOUND


def test_a_full_or_final_fetch_closes_the_session_it_names() -> None:
    client = Client()
    first = client.fetch(0, 0, {A: WANTED}).session_id
    second = client.fetch(first, 0, {A: WANTED}).session_id
    assert client.manager.cache.get(first) is None
    assert client.manager.cache.get(second) is not None
    assert client.fetch(second, FINAL_EPOCH, {A: WANTED}).session_id == 0
    assert len(client.manager.cache) == 0


def test_without_a_slot_all_is_answered_and_no_session_opened() -> None:
    response = Client(slots=0).fetch(0, 0, {A: WANTED})
    assert response.session_id == 0
    assert told(response) == [A]


def test_a_fetch_that_overtakes_a_waiting_one_makes_that_one_fail() -> None:
    client = Client()
    session_id = client.fetch(0, 0, {A: WANTED}).session_id
    waiting = client.manager.new_context(session_id, 1, {}, (), now_ms=0)
    client.fetch(session_id, 2, {})
    assert (
        waiting.response([(A, client.state[A])], 0).error_code == Errors.INVALID_FETCH_SESSION_EPOCH
    )


def test_the_contexts_are_those_of_the_table() -> None:
    client = Client()
    session_id = client.fetch(0, 0, {A: WANTED}).session_id
    new = client.manager.new_context
    assert isinstance(new(session_id, 1, {}, (), now_ms=0), IncrementalFetchContext)
    assert isinstance(new(0, -1, {A: WANTED}, (), now_ms=0), SessionlessFetchContext)
    assert isinstance(new(99, 4, {}, (), now_ms=0), SessionErrorContext)


def test_aborted_transactions_are_null_for_read_uncommitted_and_a_list_for_read_committed() -> None:
    manager = FetchManager(FetchSessionCache(1, Random(1)))
    aborted = (AbortedTxn(producer_id=7, first_offset=3, last_offset=9, last_stable_offset=10),)
    for found, expected in (
        (None, None),
        ((), []),
        (aborted, [AbortedTransaction(producer_id=7, first_offset=3)]),
    ):
        context = manager.new_context(0, -1, {A: WANTED}, (), now_ms=0)
        response = context.response([(A, read()._replace(aborted_transactions=found))], 0)
        assert response.responses[0].partition_responses[0].aborted_transactions == expected


def test_1000_idle_partitions_cost_24_kb_in_a_full_fetch_and_tens_of_bytes_in_a_session() -> None:
    """Book 000 §6.1: 1000 × 24 B ≈ 24 KB. A partition takes 4 bytes for its number, 8 for the
    offset, 8 for the log start and 4 for the maximum size. With the leader epoch of v9 it takes 28.
    """
    partitions = [
        FetchPartition(partition=i, fetch_offset=0, log_start_offset=0, partition_max_bytes=1 << 20)
        for i in range(1000)
    ]
    empty = FetchRequest(
        replica_id=1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=10 << 20,
        session_id=5,
        session_epoch=1,
    )
    for version, size in ((8, 24), (11, 28)):
        full = FetchRequest(
            replica_id=1,
            max_wait_ms=500,
            min_bytes=1,
            session_epoch=0,
            topics=[FetchTopic(topic="t", partitions=partitions)],
        )
        assert 1000 * size < len(full.encode(version)) < 1000 * size + 60
        assert len(empty.encode(version)) < 40
    manager = FetchManager(FetchSessionCache(1, Random(1)))
    tps = [TopicPartition("t", i) for i in range(1000)]
    first = manager.new_context(
        0, 0, dict.fromkeys(tps, WANTED), (), follower="1 a", now_ms=0
    ).response([(tp, read()) for tp in tps], 0)
    assert len(first.encode(8)) > 1000 * 38
    idle = manager.new_context(first.session_id, 1, {}, (), follower="1 a", now_ms=0).response(
        [(tp, read()) for tp in tps], 0
    )
    assert len(idle.encode(8)) < 20
