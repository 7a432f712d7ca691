"""The log dir and the size of each replica, and requests to use another log dir (KIP-113)."""

import asyncio

from kafka_edu.cluster.metadata_cache import MetadataCache
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from kafka_edu.replication.partitions import Partitions
from kafka_edu.replication.replica_log_dirs import ReplicaInfo, ReplicaLogDirs
from kafka_edu.sim.stepped_cluster import LOG_DIR, SteppedCluster, T


def dirs_of(cluster: SteppedCluster, broker: int = 0) -> ReplicaLogDirs:
    model = cluster.brokers[broker]
    return ReplicaLogDirs(model.manager.partitions, model.logs, model.replica_logs, model.moves)


def alter(dirs: ReplicaLogDirs, wanted: dict[TopicPartition, str]) -> dict[TopicPartition, Errors]:
    return asyncio.run(dirs.alter(wanted))


def test_each_replica_has_its_bytes_and_no_lag() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    cluster.produce("a", "b")
    size = cluster.leader.log.size
    assert dirs_of(cluster).describe(None) == {
        LOG_DIR: (Errors.NONE, {"t": [ReplicaInfo(0, size, 0)]})
    }
    assert dirs_of(cluster).describe(set()) == {LOG_DIR: (Errors.NONE, {"t": []})}


def test_a_dir_that_failed_is_said_so() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    cluster.leader.logs.handle_log_dir_failure(LOG_DIR, OSError("broken"))
    assert dirs_of(cluster).describe(None)[LOG_DIR][0] is Errors.KAFKA_STORAGE_ERROR
    assert alter(dirs_of(cluster), {T: LOG_DIR}) == {T: Errors.KAFKA_STORAGE_ERROR}


def test_a_wish_for_another_dir_is_answered_partition_by_partition() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    unknown = TopicPartition("nowhere", 3)
    assert alter(dirs_of(cluster), {T: LOG_DIR, unknown: LOG_DIR}) == {
        T: Errors.NONE,
        unknown: Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert alter(dirs_of(cluster), {T: "/nowhere"}) == {T: Errors.LOG_DIR_NOT_FOUND}


def test_a_replica_that_is_yet_to_come_will_be_created_in_the_wished_dir() -> None:
    cluster = SteppedCluster(1)
    cluster.elect(0, (0,))
    elsewhere = TopicPartition("elsewhere", 0)
    cache = MetadataCache(0)
    cache.update(
        UpdateMetadataRequest.decode(
            UpdateMetadataRequest(
                controller_id=1,
                controller_epoch=1,
                topic_states=[
                    UpdateMetadataTopicState(
                        topic_name=elsewhere.topic,
                        partition_states=[
                            UpdateMetadataPartitionState(
                                partition_index=0,
                                controller_epoch=1,
                                leader=1,
                                leader_epoch=0,
                                isr=[1],
                                zk_version=0,
                                replicas=[1],
                            )
                        ],
                    )
                ],
            ).encode(5),
            5,
        )
    )
    model = cluster.leader
    dirs = ReplicaLogDirs(
        Partitions(cache, model.logs), model.logs, model.replica_logs, model.moves
    )
    assert alter(dirs, {elsewhere: LOG_DIR}) == {elsewhere: Errors.REPLICA_NOT_AVAILABLE}
