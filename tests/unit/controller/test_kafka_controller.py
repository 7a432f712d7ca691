"""Transcripts of the controller: an action, then the content of ZooKeeper and the requests."""

import asyncio
import weakref
from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.requested_elections import ElectionType
from kafka_edu.trace.events.controller import (
    ControllerElected,
    ControllerResigned,
)
from kafka_edu.zk.zk_data import ControllerZNode, ReplicaAssignment, TopicAssignment
from tests.without_collector import without_collector

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

T0 = TopicPartition("t", 0)


def test_the_first_broker_is_elected_and_notifies_the_others(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    assert cluster.controller.id == 1
    assert cluster.controller.controller.epoch == 1
    assert [broker.controller.active_controller_id for broker in cluster.brokers.values()] == [
        1,
        1,
        1,
    ]
    assert cluster.sent() == [
        "1 UpdateMetadata live=1",
        "1 UpdateMetadata live=1,2",
        "2 UpdateMetadata live=1,2",
        "1 UpdateMetadata live=1,2,3",
        "2 UpdateMetadata live=1,2,3",
        "3 UpdateMetadata live=1,2,3",
    ]


def test_a_topic_is_created_and_more_partitions_later(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.sent()
    cluster.create_topic("t", [1, 2, 3], [2, 3, 1])
    assert cluster.states() == [
        "t-0 leader=1 epoch=0 isr=1,2,3 controller=1",
        "t-1 leader=2 epoch=0 isr=2,3,1 controller=1",
    ]
    everything = "t-0:1/0/1,2,3/new t-1:2/0/2,3,1/new"
    metadata = "UpdateMetadata live=1,2,3 t-0:1/0 t-1:2/0"
    assert cluster.sent() == [
        *(f"{b} LeaderAndIsr {everything}" for b in (1, 2, 3)),
        *(f"{b} {metadata}" for b in (1, 2, 3)),
    ]

    async def add() -> None:
        (assignment,) = (await cluster.admin.get_assignment_for_topics(["t"])).values()
        more = {**assignment.partitions, 2: ReplicaAssignment((3, 1))}
        await cluster.admin.set_topic_assignment("t", TopicAssignment(assignment.topic_id, more))

    cluster.run(add())
    cluster.settle()
    assert cluster.states()[2] == "t-2 leader=3 epoch=0 isr=3,1 controller=1"
    assert [words for words in cluster.sent() if "LeaderAndIsr" in words][:2] == [
        "1 LeaderAndIsr t-2:3/0/3,1/new",
        "3 LeaderAndIsr t-2:3/0/3,1/new",
    ]


def test_a_topic_made_without_an_id_gets_one(cluster: "ControllerCluster") -> None:
    cluster.start(1)
    cluster.create_topic("t", [1])
    assignment = cluster.run(cluster.admin.get_assignment_for_topics(["t"]))["t"]
    assert assignment.topic_id is not None
    assert assignment.topic_id.version == 4


def test_the_controller_dies_and_another_takes_over(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1, 2, 3])
    cluster.sent()
    cluster.kill(1)
    assert cluster.controller.controller.epoch == 2
    assert cluster.controller.id in (2, 3)
    assert cluster.states() == ["t-0 leader=2 epoch=2 isr=2,3 controller=2"]
    assert {b.controller.active_controller_id for b in cluster.brokers.values()} == {
        cluster.controller.id
    }


def test_controller_znode_deleted_by_hand(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.run(cluster.hand.delete("/controller"))
    cluster.settle()
    assert cluster.controller.controller.epoch == 2
    assert cluster.brokers[1].facts("ControllerResigned") == [
        ControllerResigned(epoch=1, reason="/controller says None")
    ]
    assert (
        len(
            cluster.brokers[1].facts("ControllerElected")
            + cluster.brokers[2].facts("ControllerElected")
        )
        == 2
    )


@pytest.mark.parametrize(
    "data", [ControllerZNode.encode(2, 0), ControllerZNode.encode(77, 0), b"nonsense", b""]
)
def test_controller_znode_written_by_hand_is_a_new_election(
    cluster: "ControllerCluster", data: bytes
) -> None:
    cluster.start(1, 2)
    cluster.run(cluster.hand.set("/controller", data))
    cluster.settle()
    elected = cluster.controller
    assert elected.controller.epoch == 2
    assert elected.facts("ControllerElected")[-1] == ControllerElected(epoch=2, epoch_zk_version=2)
    assert len(cluster.brokers[1].facts("ControllerResigned")) == 1


def test_a_controller_znode_without_a_session_that_names_a_broker_is_removed(
    cluster: "ControllerCluster",
) -> None:
    cluster.run(cluster.hand.create("/controller", ControllerZNode.encode(1, 0)))
    cluster.start(1)
    assert cluster.controller.controller.epoch == 1


def test_an_epoch_written_by_hand_fences_the_controller_until_it_is_elected_again(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1)
    cluster.run(cluster.hand.set("/controller_epoch", b"41"))
    cluster.create_topic("t", [1])
    assert cluster.controller.controller.epoch == 42
    assert cluster.states() == ["t-0 leader=1 epoch=0 isr=1 controller=42"]


def test_session_expiry_makes_it_resign_and_register_again(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    before = cluster.brokers[1].controller.broker_epoch
    cluster.zookeeper.expire(cluster.brokers[1].zk.session_id)
    cluster.settle(1000)
    assert len(cluster.brokers[1].facts("ControllerResigned")) == 1
    assert cluster.controller.controller.epoch == 2
    epoch = cluster.brokers[1].controller.broker_epoch
    assert epoch > before
    end_points = ("PLAINTEXT://127.0.0.1:9093",)
    assert cluster.brokers[1].facts("BrokerRegistered") == [
        (1, epoch, end_points, cluster.brokers[1].zk.session_id)
    ]
    assert sorted(cluster.run(cluster.admin.get_all_brokers_in_cluster())) == [1, 2]
    assert cluster.states()[0].startswith("t-0 leader=2")
    assert cluster.states()[0].endswith("controller=2")


def test_a_paused_controller_is_fenced_when_it_wakes_up(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1, 2, 3])
    cluster.loop.pause(cluster.brokers[1].process)
    cluster.settle(15_000)
    cluster.loop.resume(cluster.brokers[1].process)
    cluster.settle(1000)
    assert not cluster.brokers[1].controller.is_active
    assert cluster.controller.controller.epoch == 2
    assert sorted(cluster.run(cluster.admin.get_all_brokers_in_cluster())) == [1, 2, 3]


def test_auto_leader_rebalance(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    cluster.kill(2)
    cluster.start(2)
    cluster.write_isr(T0, [1, 2])
    cluster.settle(310_000)
    assert cluster.states() == ["t-0 leader=2 epoch=2 isr=1,2 controller=1"]


def test_a_refusal_leaves_nothing_for_the_garbage_collector(cluster: "ControllerCluster") -> None:
    """A tool asks any broker first. A broker that is not the controller refuses the request."""
    cluster.start(1, 2)

    async def ask() -> "weakref.ref[KafkaException] | None":
        try:
            await cluster.brokers[2].controller.elect_leaders([T0], ElectionType.PREFERRED)
        except KafkaException as error:
            return weakref.ref(error)
        return None

    with without_collector():
        left = cluster.run(ask())
        cluster.run(asyncio.sleep(0))
        assert left is not None
        assert left() is None
