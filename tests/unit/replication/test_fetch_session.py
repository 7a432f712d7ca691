"""A fetch session reads only the partitions whose version has changed, and misses nothing."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_size
from kafka_edu.protocol.messages.fetch import FetchResponse
from kafka_edu.replication import fetch, local_reads
from kafka_edu.replication.fetch_params import FetchInfos, FetchParams, PartitionFetch
from kafka_edu.replication.fetch_session import CachedPartition, FetchSession
from kafka_edu.replication.log_read_result import (
    NO_PREFERRED_REPLICA,
    UNKNOWN_METADATA,
    FetchResults,
    LogReadResult,
)
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.read_rules import ReadRules
from kafka_edu.sim.stepped_cluster import SteppedCluster, T


def idle_cluster(wait_ms: int = 0, protocol: tuple[int, int] = (2, 0)) -> SteppedCluster:
    """Three brokers have the same two records, all committed. The sessions of both followers know
    this.
    """
    cluster = SteppedCluster(3, wait_ms=wait_ms, protocol=protocol)
    cluster.elect(0, (0, 1, 2))
    for _ in range(2):
        for follower in (1, 2):
            cluster.receive(follower, answered(cluster, follower))
    cluster.produce("a", "b")
    for _ in range(5):
        for follower in (1, 2):
            cluster.receive(follower, answered(cluster, follower))
    assert [broker.hw for broker in cluster.brokers] == [2, 2, 2]
    assert [session.infos() for session in sessions(cluster)] == [[], []]
    return cluster


def answered(cluster: SteppedCluster, follower: int) -> list[FetchResponse]:
    """Send a fetch, and return the response that came at once or when its time was up."""
    for _ in range(3):
        cluster.look_up_epochs(follower)
    answer = cluster.send_fetch(follower)
    if not answer:
        cluster.step(500)
    return answer


def sessions(cluster: SteppedCluster) -> list[FetchSession]:
    return list(cluster.leader.sessions.cache._sessions.values())


def shrink(cluster: SteppedCluster) -> None:
    cluster.leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())


def test_a_fetch_that_waits_is_woken_by_a_partition_that_was_left_out(
    read_counts: list[int],
) -> None:
    cluster = idle_cluster(wait_ms=500)
    read_counts.clear()
    waiting = {follower: cluster.send_fetch(follower) for follower in (1, 2)}
    assert waiting == {1: [], 2: []}
    assert read_counts == [0, 0]
    produced = cluster.produce("c")
    for follower, answer in waiting.items():
        assert len(answer) == 1, "at once, and not after 500 ms"
        cluster.receive(follower, answer)
    for follower in (1, 2):
        assert cluster.send_fetch(follower) == []
    assert produced.error() is Errors.NONE


def test_a_fetch_that_waits_in_vain_is_answered_in_time(read_counts: list[int]) -> None:
    cluster = idle_cluster(wait_ms=500)
    read_counts.clear()
    answer = cluster.send_fetch(1)
    assert read_counts == [0]
    cluster.step(499)
    assert answer == []
    cluster.step(1)
    assert [response.responses for response in answer] == [[]]


def test_a_log_start_that_retention_moves_is_news(read_counts: list[int]) -> None:
    cluster = idle_cluster()
    read_counts.clear()
    cluster.leader.log.maybe_increment_log_start_offset(1)  # no method of Partition is called
    cluster.fetch(1)
    assert read_counts == [1]
    assert cluster.brokers[1].log.log_start_offset == 1


def test_an_answer_that_is_lost_in_the_session_is_not_taken_for_given(
    read_counts: list[int],
) -> None:
    cluster = idle_cluster(wait_ms=500)
    session = sessions(cluster)[0]
    assert cluster.send_fetch(1) == []
    session.epoch += 1  # another fetch of the session has come: the first one gets an error
    cluster.produce("c", acks=1)
    assert [tp for tp, _ in session.infos()] == [T], "the record was not answered"


def test_idle_followers_stay_in_sync_and_one_that_stops_leaves() -> None:
    cluster = idle_cluster()
    for _ in range(10):
        cluster.step(5_000)
        cluster.fetch(1, 2)
        shrink(cluster)
    assert cluster.leader.proposals == []
    cluster.produce("c", acks=1)
    shrink(cluster)
    assert cluster.leader.proposals == [], "they were in sync a moment ago"
    cluster.fetch(1, 2)
    for _ in range(4):
        cluster.fetch(1, 2)
    for _ in range(3):
        cluster.step(5_000)
        cluster.fetch(1)
        shrink(cluster)
    cluster.settle_isr()
    assert cluster.state.isr == (0, 1), "2 fetches no more"
    cluster.fetch(2)
    cluster.settle_isr()
    assert cluster.state.isr == (0, 1, 2), "its session has read it again"


def test_a_follower_whose_session_forgets_the_partition_leaves() -> None:
    cluster = idle_cluster()
    fetcher = cluster.fetcher(1)
    assert fetcher is not None
    fetcher.remove([T])
    session = sessions(cluster)[0]
    session.update({}, [T])
    for _ in range(3):
        cluster.step(5_000)
        session.clock.last_fetch_ms = cluster.time.hi_res_clock_ms()  # for its other partitions
        cluster.fetch(2)
        shrink(cluster)
    cluster.settle_isr()
    assert cluster.state.isr == (0, 2)


def test_a_follower_that_lagged_was_caught_up_at_its_last_idle_fetch() -> None:
    cluster = idle_cluster()
    cluster.step(3_000)
    cluster.fetch(1)
    last_ms = cluster.time.hi_res_clock_ms()
    cluster.step(2_000)
    cluster.produce("c", acks=1)
    cluster.step(1_000)
    cluster.send_fetch(1)  # from before the record
    replica = cluster.leader.partition.follower(1)
    assert replica is not None
    assert replica.last_caught_up_time_ms == last_ms
    assert replica.last_fetch_time_ms == last_ms + 3_000


def test_an_idle_follower_learns_that_it_is_fenced() -> None:
    cluster = idle_cluster(protocol=(2, 4))
    cluster.elect(0, (0, 1, 2), notified=[0])
    answer = cluster.send_fetch(1)
    assert answer[0].responses[0].partition_responses[0].error_code == Errors.FENCED_LEADER_EPOCH


def test_a_fetch_that_waits_learns_of_a_new_epoch_and_of_a_failed_disk() -> None:
    for event in ("epoch", "disk"):
        cluster = idle_cluster(wait_ms=500, protocol=(2, 4))
        answer = cluster.send_fetch(1)
        assert answer == []
        if event == "epoch":
            cluster.elect(0, (0, 1, 2), notified=[0])
            expected = Errors.FENCED_LEADER_EPOCH
        else:
            cluster.leader.manager.partitions.take_offline(T)
            expected = Errors.KAFKA_STORAGE_ERROR
        [response] = answer
        assert response.responses[0].partition_responses[0].error_code == expected


def test_a_record_that_comes_while_a_fetch_is_read_is_answered_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The session had left out the idle partition, so it is not in the list of partitions with
    which the fetch arrived.
    """
    cluster = idle_cluster(wait_ms=500)

    def read_then_produce(
        partitions: Partitions,
        params: FetchParams,
        infos: FetchInfos,
        session: FetchSession,
        rules: ReadRules,
    ) -> FetchResults:
        results = local_reads.read_from_local_log(partitions, params, infos, session, rules)
        cluster.produce("c")
        return results

    monkeypatch.setattr(fetch, "read_from_local_log", read_then_produce)
    [response] = cluster.send_fetch(1)
    [topic] = response.responses
    assert part_size(topic.partition_responses[0].record_set) > 0


def test_another_replica_to_read_from_is_answered_each_time() -> None:
    session = FetchSession(1, False, {T: CachedPartition(PartitionFetch(0, -1, 1000))}, 0)
    read = LogReadResult(
        Errors.NONE, b"", 0, UNKNOWN_METADATA, 3, 0, 3, 3, None, preferred_read_replica=2
    )
    assert session.take_news([(T, read)]) == [(T, read)]
    assert session.take_news([(T, read)]) == [(T, read)]
    stays = read._replace(preferred_read_replica=NO_PREFERRED_REPLICA)
    assert session.take_news([(T, stays)]) == []


def test_a_session_knows_which_high_watermark_its_reader_lacks() -> None:
    session = FetchSession(1, True, {T: CachedPartition(PartitionFetch(0, 0, 1000), 5, 0)}, 0)
    assert [session.lacks_high_watermark(T, mark) for mark in (4, 5, 6)] == [False, False, True]
    assert not session.lacks_high_watermark(T._replace(partition=9), 6)
