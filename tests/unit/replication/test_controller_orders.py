"""LeaderAndIsr, StopReplica and UpdateMetadata: fences, roles, and what is created and deleted
(spec C8).
"""

from uuid import UUID

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.turns import at_once
from kafka_edu.log.new_log import NewLog
from kafka_edu.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from kafka_edu.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaPartitionV0,
    StopReplicaRequest,
    StopReplicaTopicState,
    StopReplicaTopicV1,
)
from kafka_edu.protocol.messages.update_metadata import UpdateMetadataRequest
from kafka_edu.sim.stepped_cluster import SteppedCluster, T
from tests.unit.replication.logs import in_loop, stop_replicas

TOPIC_ID = UUID(int=7)


def error_of(response: LeaderAndIsrResponse) -> Errors:
    return Errors(response.partition_errors[0].error_code)


def test_an_older_controller_is_refused_whole_and_a_newer_one_fences_it() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    manager = cluster.leader.manager
    orders = manager.controller_orders
    assert orders.controller_epoch == 1
    cluster.state = cluster.state._replace(leader_epoch=1)
    assert error_of(cluster.tell(0, controller_epoch=5)) is Errors.NONE
    cluster.state = cluster.state._replace(leader_epoch=2)
    refused = cluster.tell(0, controller_epoch=4)
    assert (refused.error_code, refused.partition_errors) == (Errors.STALE_CONTROLLER_EPOCH, [])
    assert cluster.leader.partition.leader_epoch == 1
    stopped = at_once(orders.stop_replicas(StopReplicaRequest(controller_epoch=4), 0))
    assert (
        orders.stop_replica_response(stopped, {}).error_code
        == stopped.error
        == Errors.STALE_CONTROLLER_EPOCH
    )
    with pytest.raises(KafkaException) as stale:
        orders.maybe_update_metadata_cache(
            UpdateMetadataRequest(controller_id=0, controller_epoch=4)
        )
    assert stale.value.error is Errors.STALE_CONTROLLER_EPOCH
    assert orders.controller_epoch == 5


def test_a_leader_epoch_that_is_not_newer_is_ignored() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    again = cluster.tell(0)
    assert (again.error_code, error_of(again)) == (Errors.NONE, Errors.STALE_CONTROLLER_EPOCH)
    assert cluster.leader.partition.leader_epoch_start_offset == 0


def test_new_logs_are_those_that_a_controller_of_today_wants_here_and_that_are_not_there() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    manager = cluster.leader.manager
    orders = manager.controller_orders
    states = [
        LeaderAndIsrPartitionState(
            topic_name="t",
            partition_index=i,
            leader=0,
            leader_epoch=9,
            isr=[0],
            replicas=[7 if i == 2 else 0],
            is_new=i == 1,
        )
        for i in range(4)
    ]

    def new_logs(controller_epoch: int) -> list[NewLog]:
        request = LeaderAndIsrRequest(
            controller_epoch=controller_epoch, ungrouped_partition_states=states
        )
        return orders.new_logs(LeaderAndIsrRequest.decode(request.encode(1), 1))

    assert [(new.topic_partition.partition, new.is_new) for new in new_logs(1)] == [
        (1, True),
        (3, False),
    ], "0 is there, 2 is elsewhere"
    assert new_logs(0) == []


def test_a_partition_whose_replicas_are_elsewhere_is_unknown() -> None:
    cluster = SteppedCluster(1)
    state = LeaderAndIsrPartitionState(
        topic_name="t", partition_index=0, leader=7, leader_epoch=0, isr=[7], replicas=[7, 8]
    )
    request = LeaderAndIsrRequest(controller_epoch=1, ungrouped_partition_states=[state])
    manager = cluster.brokers[0].manager
    orders = manager.controller_orders
    response = at_once(
        orders.become_leader_or_follower(LeaderAndIsrRequest.decode(request.encode(0), 0), 0)
    )
    assert error_of(response) is Errors.UNKNOWN_TOPIC_OR_PARTITION
    assert manager.partitions.get(T) is None


def test_v5_answers_by_topic_id() -> None:
    cluster = SteppedCluster(1)
    states = [
        LeaderAndIsrPartitionState(
            partition_index=i,
            leader=0,
            leader_epoch=0,
            isr=[0],
            replicas=[0] if i else [9],
            is_new=True,
        )
        for i in range(3)
    ]
    topic = LeaderAndIsrTopicState(topic_name="t", topic_id=TOPIC_ID, partition_states=states)
    orders = cluster.brokers[0].manager.controller_orders
    response = at_once(
        orders.become_leader_or_follower(
            LeaderAndIsrRequest(controller_epoch=1, topic_states=[topic]), 5
        )
    )
    assert response.partition_errors == []
    [answer] = response.topics
    assert answer.topic_id == TOPIC_ID
    assert sorted((p.partition_index, Errors(p.error_code)) for p in answer.partition_errors) == [
        (0, Errors.UNKNOWN_TOPIC_OR_PARTITION),
        (1, Errors.NONE),
        (2, Errors.NONE),
    ]


def stop(version: int, *, delete: bool, leader_epoch: int = -1) -> StopReplicaRequest:
    if version == 0:
        partition = StopReplicaPartitionV0(topic_name=T.topic, partition_index=T.partition)
        return StopReplicaRequest(
            controller_epoch=1, delete_partitions=delete, ungrouped_partitions=[partition]
        )
    if version < 3:
        topic = StopReplicaTopicV1(name=T.topic, partition_indexes=[T.partition])
        return StopReplicaRequest(controller_epoch=1, delete_partitions=delete, topics=[topic])
    state = StopReplicaPartitionState(
        partition_index=T.partition, leader_epoch=leader_epoch, delete_partition=delete
    )
    return StopReplicaRequest(
        controller_epoch=1,
        topic_states=[StopReplicaTopicState(topic_name=T.topic, partition_states=[state])],
    )


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@in_loop
async def test_stop_replica_stops_fetching_and_deletes_when_told(version: int) -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.produce("a", acks=1)
    cluster.fetch(1)
    follower = cluster.brokers[1]
    orders = follower.manager.controller_orders
    response = await stop_replicas(orders, follower.logs, stop(version, delete=False), version)
    assert [p.error_code for p in response.partition_errors] == [Errors.NONE]
    assert follower.fetchers.by_leader == {}
    assert follower.values() == ["a"]
    response = await stop_replicas(orders, follower.logs, stop(version, delete=True), version)
    assert [p.error_code for p in response.partition_errors] == [Errors.NONE]
    assert follower.manager.partitions.get(T) is None
    assert follower.logs.get_log(T) is None
    with pytest.raises(KafkaException) as unknown:
        follower.manager.partitions.get_or_raise(T)
    assert unknown.value.error is Errors.UNKNOWN_TOPIC_OR_PARTITION


@in_loop
async def test_stop_replica_v3_is_fenced_by_the_leader_epoch() -> None:
    cluster = SteppedCluster()
    cluster.elect(0, (0, 1))
    cluster.elect(0, (0, 1))
    manager = cluster.brokers[1].manager
    orders = manager.controller_orders
    logs = cluster.brokers[1].logs
    fenced = await stop_replicas(orders, logs, stop(3, delete=True, leader_epoch=0), 3)
    assert [p.error_code for p in fenced.partition_errors] == [Errors.FENCED_LEADER_EPOCH]
    assert manager.partitions.get(T) is not None
    deleting = await stop_replicas(orders, logs, stop(3, delete=True, leader_epoch=-2), 3)
    assert [p.error_code for p in deleting.partition_errors] == [Errors.NONE]
    assert manager.partitions.get(T) is None


def test_a_controller_may_name_a_partition_of_another_topic_too() -> None:
    cluster = SteppedCluster(1)
    states = [
        LeaderAndIsrPartitionState(
            partition_index=0, leader=0, leader_epoch=0, isr=[0], replicas=[0], is_new=True
        )
    ]
    topics = [
        LeaderAndIsrTopicState(topic_name=name, partition_states=states) for name in ("a", "b")
    ]
    manager = cluster.brokers[0].manager
    orders = manager.controller_orders
    at_once(
        orders.become_leader_or_follower(
            LeaderAndIsrRequest(controller_epoch=1, topic_states=topics), 4
        )
    )
    assert [p.topic_partition for p in manager.partitions] == [
        TopicPartition("a", 0),
        TopicPartition("b", 0),
    ]
