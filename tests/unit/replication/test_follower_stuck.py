"""A follower whose last epoch the leader does not know: the follower reports this, and waits before
it asks again.
"""

from kafka_edu.common.errors import Errors
from kafka_edu.sim.stepped_cluster import SteppedCluster
from kafka_edu.trace.events.replication import FollowerStuck


def stuck_cluster() -> SteppedCluster:
    cluster = SteppedCluster(protocol=(2, 8))
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.brokers[1].leo == 1
    cluster.brokers[1].log.leader_epoch_cache.assign(9, 0)
    fetcher = cluster.fetcher(1)
    assert fetcher is not None
    fetcher.add(cluster.brokers[1].partition)
    return cluster


def test_it_is_told_once_with_the_epoch_and_the_folder() -> None:
    cluster = stuck_cluster()
    for _ in range(20):
        cluster.fetch(1)
        cluster.step(1000)
    (told,) = cluster.brokers[1].events("FollowerStuck")
    assert told == FollowerStuck(
        topic="t",
        partition=0,
        leader=0,
        log_end_offset=1,
        latest_epoch=9,
        directory=cluster.brokers[1].log.directory,
    )


def test_it_waits_before_it_asks_again() -> None:
    cluster = stuck_cluster()
    fetcher = cluster.fetcher(1)
    assert fetcher is not None
    for _ in range(3):
        cluster.fetch(1)
    delayed = cluster.brokers[1].events("FetcherPartitionDelayed")
    assert [event.error for event in delayed] == [Errors.OFFSET_OUT_OF_RANGE.name]  # type: ignore[attr-defined]
    assert fetcher.next_resume_ms is not None


def test_a_refusal_that_passes_is_not_told() -> None:
    cluster = stuck_cluster()
    for _ in range(2):
        cluster.fetch(1)
    cluster.leader.log.leader_epoch_cache.assign(9, 0)
    cluster.produce("b", acks=1)
    cluster.fetch(1)
    cluster.fetch(1)
    assert cluster.brokers[1].events("FollowerStuck") == []
    assert cluster.brokers[1].leo == 2
