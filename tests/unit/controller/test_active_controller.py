"""The controller at work while brokers and disks come and go."""

from typing import TYPE_CHECKING

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.events.controller import (
    BrokerJoined,
    LeaderElected,
    LeaderElectionFailed,
)
from kafka_edu.zk.zk_client import CreateOp, DeleteOp
from tests.defaults import CONTROLLER_DEFAULTS
from tests.unit.controller.test_kafka_controller import T0

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_a_dead_leader_is_replaced_by_ar_order_not_isr_order(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [3, 2, 1])
    cluster.write_isr(T0, [1, 3, 2])
    cluster.sent()
    cluster.kill(3)
    assert cluster.states() == ["t-0 leader=2 epoch=1 isr=1,2 controller=1"]
    assert cluster.sent() == [
        "1 LeaderAndIsr t-0:2/1/1,2",
        "2 LeaderAndIsr t-0:2/1/1,2",
        "1 UpdateMetadata live=1,2 t-0:2/1",
        "2 UpdateMetadata live=1,2 t-0:2/1",
        "1 LeaderAndIsr t-0:2/1/1,2",
        "2 LeaderAndIsr t-0:2/1/1,2",
        "1 UpdateMetadata live=1,2 t-0:2/1",
        "2 UpdateMetadata live=1,2 t-0:2/1",
    ]
    elected = cluster.controller.facts("LeaderElected")[-1]
    assert elected == LeaderElected(
        topic="t",
        partition=0,
        strategy="OfflinePartition",
        replicas=(3, 2, 1),
        isr_before=(1, 3, 2),
        live=(2, 1),
        old_leader=3,
        new_leader=2,
        isr=(1, 2),
        leader_epoch=1,
        unclean=False,
        controller_epoch=1,
        zk_path="/brokers/topics/t/partitions/0/state",
        zk_version=2,
        shutting_down=(),
        why="2 is the first of AR [3, 2, 1] that is alive and in the ISR [1, 3, 2]",
        passed_over=(
            (3, "it is not alive"),
            (
                1,
                "it could lead too, but comes after 2 in AR; the order of the ISR does not count",
            ),
        ),
    )


def test_a_dead_follower_leaves_the_isr_and_comes_back_as_a_follower(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    cluster.kill(2)
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1 controller=1"]
    cluster.sent()
    cluster.start(2)
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1 controller=1"]
    assert cluster.sent() == [
        "1 UpdateMetadata live=1,2",
        "2 UpdateMetadata live=1,2 t-0:1/1",
        "2 LeaderAndIsr t-0:1/1/1",
        "1 UpdateMetadata live=1,2 t-0:1/1",
        "2 UpdateMetadata live=1,2 t-0:1/1",
    ]
    cluster.write_isr(T0, [1, 2])
    assert cluster.sent() == [
        "1 UpdateMetadata live=1,2 t-0:1/1",
        "2 UpdateMetadata live=1,2 t-0:1/1",
    ]
    assert cluster.run(cluster.admin.get_isr_change_notifications()) == []


def test_a_broker_that_bounced_unseen_fails_and_starts(cluster: "ControllerCluster") -> None:
    """The broker's znode is replaced by one with a higher czxid before the controller looks
    (KIP-380).
    """
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    cluster.sent()

    async def bounce() -> None:
        data, _ = await cluster.hand.get("/brokers/ids/2")
        await cluster.hand.multi([DeleteOp("/brokers/ids/2"), CreateOp("/brokers/ids/2", data)])

    cluster.run(bounce())
    cluster.settle()
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1 controller=1"]
    assert cluster.sent()[-1] == "2 UpdateMetadata live=1,2 t-0:1/1"
    started = cluster.controller.facts("BrokerJoined")
    assert [event.bounced for event in started if isinstance(event, BrokerJoined)] == [False, True]


def test_no_replica_of_the_isr_is_left_and_unclean_is_off(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.write_isr(T0, [2])
    cluster.kill(2)
    assert cluster.states() == ["t-0 leader=-1 epoch=1 isr=2 controller=1"]
    failed = cluster.controller.facts("LeaderElectionFailed")[-1]
    assert isinstance(failed, LeaderElectionFailed)
    assert (
        failed.reason
        == "no replica of AR [2, 3] is alive and in the ISR [2], and an unclean election is not"
        " allowed: the partition waits for its ISR"
    )
    assert failed.passed_over == (
        (2, "it is not alive"),
        (3, "it is not in the ISR: it may lack records that were acknowledged"),
    )
    cluster.start(2)
    assert cluster.states() == ["t-0 leader=2 epoch=2 isr=2 controller=1"]


def test_no_replica_of_the_isr_is_left_and_the_topic_allows_unclean(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3], config={"unclean.leader.election.enable": "true"})
    cluster.write_isr(T0, [2])
    cluster.kill(2)
    assert cluster.states() == ["t-0 leader=3 epoch=1 isr=3 controller=1"]
    (unclean,) = [
        e
        for e in cluster.controller.facts("LeaderElected")
        if isinstance(e, LeaderElected) and e.unclean
    ]
    assert (unclean.isr_before, unclean.new_leader) == ((2,), 3)


def test_unclean_election_is_allowed_afterwards(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.write_isr(T0, [2])
    cluster.kill(2)
    cluster.run(
        cluster.admin.set_or_create_entity_configs(
            "topics", "t", {"unclean.leader.election.enable": "true"}
        )
    )
    cluster.controller.controller.enable_unclean_leader_election("t")
    cluster.settle()
    assert cluster.states() == ["t-0 leader=3 epoch=2 isr=3 controller=1"]


def test_unclean_election_by_the_brokers_default(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3, config=CONTROLLER_DEFAULTS._replace(unclean_leader_election_enable=True))
    cluster.create_topic("t", [2, 3])
    cluster.create_topic("u", [2, 3], config={"unclean.leader.election.enable": "false"})
    for topic in ("t", "u"):
        cluster.write_isr(TopicPartition(topic, 0), [2])
    cluster.kill(2)
    assert cluster.states("t") == ["t-0 leader=3 epoch=1 isr=3 controller=1"]
    assert cluster.states("u") == ["u-0 leader=-1 epoch=1 isr=2 controller=1"]


def test_a_dead_disk_takes_its_replicas_offline(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1], [2, 1])
    cluster.dead_disks.add((2, T0))
    cluster.run(cluster.admin.propagate_log_dir_event(2))
    cluster.settle()
    assert cluster.states() == [
        "t-0 leader=1 epoch=1 isr=1 controller=1",
        "t-1 leader=2 epoch=0 isr=2,1 controller=1",
    ]
    assert cluster.run(cluster.admin.get_log_dir_event_notifications()) == []
    metadata = [request for broker_id, request in cluster.requests if broker_id == 1][-1]
    assert [p.offline_replicas for t in metadata.topic_states for p in t.partition_states] == [[2]]  # type: ignore[attr-defined]
