"""The leader holds back throttled records from a follower that is out of sync."""

from kafka_edu.common.transport import part_size
from kafka_edu.protocol.messages.fetch import FetchResponse
from kafka_edu.replication.replication_quota_manager import ALL_PARTITIONS
from kafka_edu.sim.stepped_cluster import SteppedCluster, T


def throttled_cluster(wait_ms: int = 0, isr: tuple[int, ...] = (0,)) -> SteppedCluster:
    """Broker 0 leads, broker 1 has no record yet, and the leader exceeds its rate for a second."""
    cluster = SteppedCluster(2, wait_ms=wait_ms, protocol=(2, 8))
    cluster.elect(0, isr)
    cluster.produce("a", acks=1)
    cluster.look_up_epochs(1)
    quota = cluster.leader.quotas.leader
    now_ms = cluster.time.hi_res_clock_ms()
    quota.mark_throttled(T.topic, ALL_PARTITIONS, now_ms)
    quota.update_quota(100, now_ms)
    quota.record(150, now_ms)
    return cluster


def size_of(answer: list[FetchResponse]) -> int:
    [response] = answer
    return sum(
        part_size(p.record_set or b"") for t in response.responses for p in t.partition_responses
    )


def test_a_follower_out_of_sync_gets_no_records_until_the_rate_is_kept() -> None:
    cluster = throttled_cluster()
    assert size_of(cluster.send_fetch(1)) == 0
    assert len(cluster.leader.events("ReplicationThrottleBegan")) == 1
    cluster.step(1_500)  # 150 bytes in 1.5 s are 100 bytes/s
    assert size_of(cluster.send_fetch(1)) > 0


def test_a_follower_in_sync_gets_them_whatever_the_rate() -> None:
    cluster = throttled_cluster(isr=(0, 1))
    assert size_of(cluster.send_fetch(1)) > 0
    assert cluster.leader.events("ReplicationThrottleBegan") == []


def test_a_consumer_gets_them_whatever_the_rate() -> None:
    cluster = throttled_cluster()
    [read] = cluster.consume()
    assert read.size_in_bytes > 0


def test_held_back_bytes_do_not_complete_a_waiting_fetch() -> None:
    cluster = throttled_cluster(wait_ms=500)
    answer = cluster.send_fetch(1)
    assert answer == [], "it waits, although there is a record"
    [operation] = cluster.leader.fetch_purgatory.waiting()
    [requirement] = operation.why_waiting()
    assert requirement.holders == (("t-0, throttled", 1),)
    assert requirement.have == 0
    cluster.produce("b", acks=1)
    assert answer == [], "a record more changes nothing"
    cluster.step(501)
    assert size_of(answer) == 0, "its time is up, and the rate is still exceeded"


def test_a_waiting_fetch_gets_its_records_when_its_time_is_up_and_the_rate_is_kept_again() -> None:
    cluster = throttled_cluster(wait_ms=1_600)
    answer = cluster.send_fetch(1)
    cluster.step(1_601)
    assert size_of(answer) > 0
