"""A follower's fetch that waits is answered when its leader also becomes the leader of another
partition of this follower. For a while, a fetch that does not name this partition waits only a
short time.
"""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import at_once
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from kafka_edu.replication.fetch import AWAITED_MS, SHORT_WAIT_MS
from kafka_edu.sim.stepped_cluster import SteppedCluster

WAIT_MS = 500
NEW = TopicPartition("new", 0)


def idle_cluster() -> SteppedCluster:
    """Three brokers. Both followers of t-0 have sessions with its leader, broker 0."""
    cluster = SteppedCluster(3, wait_ms=WAIT_MS)
    cluster.elect(0, (0, 1, 2))
    cluster.step(2 * AWAITED_MS)
    for _ in range(3):
        for follower in (1, 2):
            cluster.look_up_epochs(follower)
            answer = cluster.send_fetch(follower)
            cluster.step(WAIT_MS)
            cluster.receive(follower, answer)
    return cluster


def tell_of_new(cluster: SteppedCluster, broker: int, replicas: list[int]) -> None:
    """Tell a broker that broker 0 leads new-0."""
    request = LeaderAndIsrRequest(
        controller_epoch=1,
        topic_states=[
            LeaderAndIsrTopicState(
                topic_name=NEW.topic,
                partition_states=[
                    LeaderAndIsrPartitionState(
                        partition_index=NEW.partition,
                        controller_epoch=1,
                        leader=0,
                        leader_epoch=1,
                        isr=replicas,
                        zk_version=1,
                        replicas=replicas,
                    )
                ],
            )
        ],
    )
    orders = cluster.brokers[broker].manager.controller_orders
    at_once(orders.become_leader_or_follower(LeaderAndIsrRequest.decode(request.encode(4), 4), 4))


def test_a_waiting_fetch_ends_when_its_leader_leads_more_of_its_partitions() -> None:
    cluster = idle_cluster()
    concerned, other = cluster.send_fetch(1), cluster.send_fetch(2)
    assert concerned == other == []
    tell_of_new(cluster, 1, [0, 1])
    tell_of_new(cluster, 0, [0, 1])
    assert len(concerned) == 1
    assert other == [], "broker 2 has no replica of it"
    (ended,) = cluster.leader.events("OperationCompleted")[-1:]
    assert "its leader leads more partitions" in ended
    cluster.receive(1, concerned)
    cluster.look_up_epochs(1)
    cluster.fetch(1)
    new = cluster.leader.manager.partitions.get(NEW)
    assert new is not None
    follower = new.follower(1)
    assert follower is not None
    assert follower.log_end_offset.message_offset == 0, "its next fetch names the new partition"


def test_a_follower_that_learns_later_waits_only_a_short_time_until_it_knows() -> None:
    cluster = idle_cluster()
    tell_of_new(cluster, 0, [0, 1])
    for _ in range(3):
        answer = cluster.send_fetch(1)
        cluster.step(SHORT_WAIT_MS - 1)
        assert answer == []
        cluster.step(1)
        assert len(answer) == 1
        cluster.receive(1, answer)
    tell_of_new(cluster, 1, [0, 1])
    for _ in range(3):
        cluster.look_up_epochs(1)
        answer = cluster.send_fetch(1)
        cluster.receive(1, answer)
    answer = cluster.send_fetch(1)
    cluster.step(SHORT_WAIT_MS)
    assert answer == [], "it waits as usual once it has named the partition"


def test_a_follower_that_never_learns_waits_as_usual_after_a_while() -> None:
    cluster = idle_cluster()
    tell_of_new(cluster, 0, [0, 1])
    cluster.step(AWAITED_MS)
    answer = cluster.send_fetch(1)
    cluster.step(WAIT_MS - 1)
    assert answer == []
    cluster.step(1)
    assert len(answer) == 1


def test_a_new_epoch_of_the_same_leader_ends_no_wait() -> None:
    cluster = idle_cluster()
    answer = cluster.send_fetch(1)
    cluster.elect(0, (0, 1, 2), notified=[0])
    assert cluster.leader.partition.leader_epoch == 1
    cluster.step(WAIT_MS - 1)
    assert answer == []
