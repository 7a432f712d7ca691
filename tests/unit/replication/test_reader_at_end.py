"""A reader that has read all there is costs next to nothing, and misses nothing
(replication/reader_at_end.py).
"""

from collections.abc import Callable

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.fetch_params import (
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchParams,
    PartitionFetch,
)
from kafka_edu.replication.log_read_result import LogReadResult
from kafka_edu.replication.partition import Partition
from tests.unit.replication.replication_cluster import Cluster, T


def quiet_cluster() -> Cluster:
    """Three brokers that all have two records, all committed; both followers' sessions know it."""
    cluster = Cluster(3)
    cluster.elect(0, (0, 1, 2))
    cluster.produce("a", "b")
    for _ in range(3):
        cluster.fetch(1, 2)
    return cluster


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[TopicPartition]:
    """Each real read of a partition."""
    made: list[TopicPartition] = []
    read_records: Callable[..., LogReadResult] = Partition.read_records

    def counted(self: Partition, *arguments: object, **options: object) -> LogReadResult:
        made.append(self.topic_partition)
        return read_records(self, *arguments, **options)

    monkeypatch.setattr(Partition, "read_records", counted)
    return made


def consumer(
    cluster: Cluster, wanted: PartitionFetch, isolation: int = READ_UNCOMMITTED
) -> LogReadResult:
    """A fetch in a session, which keeps `wanted`."""
    answer: list[LogReadResult] = []
    params = FetchParams(-1, 0, 1, 1 << 20, 10, isolation)
    cluster.leader.manager.fetch.fetch_messages(
        params, [(T, wanted)], lambda results: answer.extend(r for _, r in results)
    )
    return answer[0]


def test_a_consumer_that_changes_its_isolation_is_told_as_it_asks() -> None:
    cluster = quiet_cluster()
    wanted = PartitionFetch(2, -1, 1 << 20)
    told = [
        consumer(cluster, wanted, isolation).aborted_transactions
        for isolation in (READ_UNCOMMITTED, READ_COMMITTED, READ_COMMITTED, READ_UNCOMMITTED)
    ]
    assert told == [None, (), (), None]


def test_idle_followers_are_not_read_for_and_stay_in_sync(reads: list[TopicPartition]) -> None:
    cluster = quiet_cluster()
    reads.clear()
    for _ in range(10):
        cluster.step(5_000)
        cluster.fetch(1, 2)
        cluster.leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())
    assert reads == []
    assert cluster.leader.proposals == []
    cluster.produce("c", acks=1)
    cluster.leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())
    assert cluster.leader.proposals == [], "they were in sync a moment ago"
    for _ in range(2):
        cluster.fetch(1, 2)
    assert [broker.leo for broker in cluster.brokers] == [3, 3, 3]
    assert cluster.leader.hw == 3


def test_a_follower_that_stops_fetching_an_idle_partition_leaves() -> None:
    cluster = quiet_cluster()
    for _ in range(3):
        cluster.step(5_000)
        cluster.fetch(1)
        cluster.leader.partition.maybe_shrink_isr(cluster.time.hi_res_clock_ms())
    cluster.settle_isr()
    assert cluster.state.isr == (0, 1)
    cluster.fetch(2)  # its session's note is of a member
    cluster.settle_isr()
    assert cluster.state.isr == (0, 1, 2)


def test_a_consumer_at_the_end_sees_what_comes(reads: list[TopicPartition]) -> None:
    cluster = quiet_cluster()
    wanted = PartitionFetch(2, -1, 1 << 20)
    first = consumer(cluster, wanted)
    reads.clear()
    assert consumer(cluster, wanted) is first
    assert reads == []
    cluster.produce("c", acks=1)
    assert consumer(cluster, wanted).size_in_bytes == 0, "not committed yet"
    for _ in range(2):
        cluster.fetch(1, 2)
    assert consumer(cluster, wanted).size_in_bytes > 0


def test_a_consumer_at_the_end_learns_where_the_log_starts_now_and_who_leads() -> None:
    cluster = quiet_cluster()
    wanted = PartitionFetch(2, -1, 1 << 20, current_leader_epoch=0)
    assert consumer(cluster, wanted).log_start_offset == 0
    cluster.leader.log.maybe_increment_log_start_offset(1)
    assert consumer(cluster, wanted).log_start_offset == 1
    cluster.elect(0, (0, 1, 2))
    assert consumer(cluster, wanted).error is Errors.FENCED_LEADER_EPOCH
    manager = cluster.leader.manager
    unfenced = PartitionFetch(2, -1, 1 << 20)
    assert consumer(cluster, unfenced).error is Errors.NONE
    manager.partitions.take_offline(T)
    assert consumer(cluster, unfenced).error is Errors.KAFKA_STORAGE_ERROR
