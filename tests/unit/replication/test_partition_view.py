"""Samples of partitions: all whose offsets have moved, and a limited number of the others in
turn.
"""

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.replication.partition_view import PartitionSampler
from kafka_edu.sim.stepped_cluster import SteppedCluster, T, log_config


def sampled(cluster: SteppedCluster, broker: int) -> list[int]:
    """Return the log end of each sample that this broker would send now."""
    return [
        envelope.event.progress.leo
        for envelope in cluster.brokers[broker].trace.gauges()
        if envelope.name == "PartitionOffsets"
    ]


def test_a_partition_without_followers_is_sampled_when_it_moves() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    assert sampled(cluster, 0) == [0]
    assert sampled(cluster, 0) == []
    cluster.produce("a")
    assert sampled(cluster, 0) == [1]
    assert sampled(cluster, 0) == []


def test_a_followers_own_partition_is_sampled_when_it_moves() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    sampled(cluster, 1)
    assert sampled(cluster, 1) == []
    cluster.produce("a", "b", acks=1)
    cluster.fetch(1)
    assert sampled(cluster, 1) == [2]


def test_other_settings_of_the_topic_are_sampled_too() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    sampled(cluster, 0)
    cluster.leader.log.update_config(log_config(2))
    assert sampled(cluster, 0) == [0]


def test_a_leaders_partition_is_sampled_while_a_follower_lacks_records() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.fetch(1)
    cluster.fetch(1)
    cluster.produce("a", acks=1)
    sampler, partitions = PartitionSampler(in_turn=0), [cluster.leader.partition]
    for _ in range(3):
        assert len(sampler.sample(partitions)) == 1
    cluster.fetch(1)
    cluster.fetch(1)
    [sample] = sampler.sample(partitions)
    assert (sample.progress.hw, sample.progress.remote_leos) == (1, ((1, 1),))
    assert sampler.sample(partitions) == []


def test_the_others_come_in_turn() -> None:
    clusters = [SteppedCluster() for _ in range(5)]
    for cluster in clusters:
        cluster.elect(0, (0, 1))
    partitions = [cluster.leader.partition for cluster in clusters]
    sampler = PartitionSampler(in_turn=2)
    for cluster in clusters:
        cluster.fetch(1)
    assert len(sampler.sample(partitions)) == 5, "all are new"
    for cluster in clusters:
        cluster.fetch(1)
    sampler.sample(partitions)
    assert [len(sampler.sample(partitions)) for _ in range(6)] == [1, 2, 2, 1, 2, 2]


def test_a_partition_that_is_gone_is_forgotten() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    sampled(cluster, 0)
    partitions = cluster.leader.manager.partitions
    partitions.remove(TopicPartition("unknown", 0))
    assert partitions.remove(T) is not None
    assert partitions._sampler._sampled == {}
