"""Transcripts of the controller: an action, then the content of ZooKeeper and the requests."""

import asyncio
import weakref
from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.controller_watches import event_of_watch
from kafka_edu.controller.leader_elections_asked import ElectionType
from kafka_edu.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafka_edu.trace.events.controller import (
    BrokerJoined,
    ControllerElected,
    ControllerResigned,
    LeaderElected,
    LeaderElectionFailed,
    StateMachineSnapshot,
    TopicDeletionChanged,
)
from kafka_edu.zk.zk_client import CreateOp, DeleteOp, WatchedEvent, WatchType
from kafka_edu.zk.zk_data import ControllerZNode, ReplicaAssignment, TopicAssignment
from tests.defaults import CONTROLLER_DEFAULTS
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
                "it could lead too, but stands behind 2 in AR; the order of the ISR does not count",
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
    """Its znode is replaced by one with a higher czxid before the controller looks (KIP-380)."""
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
        == "nobody of AR [2, 3] is alive and in the ISR [2], and an unclean election is not"
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


def test_controlled_shutdown_and_its_three_cases(cluster: "ControllerCluster") -> None:
    """The three cases of the book.

    More than one replica, and the broker leads (t-0); more than one, and it follows (t-1); one
    replica (t-2).
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3, 1], [3, 2, 1], [2])
    cluster.sent()
    controller, epoch = cluster.controller.controller, cluster.brokers[2].controller.broker_epoch
    assert cluster.run(controller.controlled_shutdown(2, epoch)) == []
    assert cluster.states() == [
        "t-0 leader=3 epoch=1 isr=3,1 controller=1",
        "t-1 leader=3 epoch=1 isr=3,1 controller=1",
        "t-2 leader=2 epoch=0 isr=2 controller=1",
    ]
    cluster.settle()
    assert cluster.sent() == [
        *(f"{b} LeaderAndIsr t-0:3/1/3,1" for b in (1, 2, 3)),
        *(f"{b} UpdateMetadata live=1,2,3 t-0:3/1" for b in (1, 2, 3)),
        "2 StopReplica t-1",
        *(f"{b} LeaderAndIsr t-1:3/1/3,1" for b in (1, 3)),
        *(f"{b} UpdateMetadata live=1,2,3 t-1:3/1" for b in (1, 2, 3)),
        "2 StopReplica t-1",
    ]
    cluster.kill(2)
    assert cluster.states()[2] == "t-2 leader=-1 epoch=1 isr=2 controller=1"


def test_controlled_shutdown_moves_many_leaderships_in_steps(cluster: "ControllerCluster") -> None:
    """The requests of each step are sent before the next step is written.

    So no partition waits until all others are moved.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", *[[2, 3]] * 450)
    cluster.requests.clear()
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == []
    orders = [
        r
        for broker_id, r in cluster.requests
        if broker_id == 3 and isinstance(r, LeaderAndIsrRequest)
    ]
    assert [
        sum(len(topic.partition_states) for topic in order.topic_states) for order in orders
    ] == [100, 100, 100, 100, 50]
    assert all(" leader=3 epoch=1 isr=3 " in state for state in cluster.states())


def test_controlled_shutdown_leaves_partitions_that_no_other_broker_can_lead(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    cluster.write_isr(T0, [2])
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == [T0]
    cluster.write_isr(T0, [2, 1])
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == []
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1 controller=1"]


def test_controlled_shutdown_does_not_wait_for_topics_that_are_being_deleted(
    cluster: "ControllerCluster",
) -> None:
    """The leaders of a topic that is queued for deletion are not moved.

    They are not among those that remain, either (Kafka: partitionLeadersOnBroker).
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    term = cluster.controller.controller._term
    assert term is not None
    term.context.topics_to_be_deleted.add("t")  # as if something holds up the deletion
    assert cluster.run(cluster.controller.controller.controlled_shutdown(2, -1)) == []
    assert cluster.states() == ["t-0 leader=2 epoch=0 isr=2,3 controller=1"]


def test_controlled_shutdown_is_refused(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    controller, epoch = cluster.controller.controller, cluster.brokers[2].controller.broker_epoch
    for who, broker_id, broker_epoch, error in [
        (controller, 2, epoch - 1, Errors.STALE_BROKER_EPOCH),
        (controller, 9, 1, Errors.STALE_BROKER_EPOCH),
        (controller, 9, -1, Errors.BROKER_NOT_AVAILABLE),
        (cluster.brokers[2].controller, 2, epoch, Errors.STALE_CONTROLLER_EPOCH),
    ]:
        with pytest.raises(KafkaException) as refused:
            cluster.run(who.controlled_shutdown(broker_id, broker_epoch))
        assert refused.value.error is error


def test_a_topic_is_deleted(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2], config={"retention.ms": "1"})
    cluster.sent()
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == []
    assert cluster.run(cluster.admin.get_topic_deletions()) == []
    assert cluster.run(cluster.hand.exists("/config/topics/t")) is None
    sent = cluster.sent()
    assert sent[:2] == ["1 UpdateMetadata live=1,2 t-0:-2/0", "2 UpdateMetadata live=1,2 t-0:-2/0"]
    assert [words for words in sent if "delete" in words] == [
        "1 StopReplica t-0/delete",
        "2 StopReplica t-0/delete",
    ]
    cluster.create_topic("t", [2, 1])
    assert cluster.states() == ["t-0 leader=2 epoch=0 isr=2,1 controller=1"]


def test_the_deletion_of_a_topic_waits_for_a_dead_broker(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    cluster.kill(2)
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == ["t"]
    steps = [
        event.step
        for event in cluster.controller.facts("TopicDeletionChanged")
        if isinstance(event, TopicDeletionChanged)
    ]
    assert steps == ["queued", "started", "ineligible"]
    cluster.start(2)
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == []


def test_a_deletion_survives_its_controller(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.undeletable.add((2, T0))
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert cluster.run(cluster.admin.get_topic_deletions()) == ["t"]
    cluster.undeletable.clear()
    cluster.kill(1)
    assert cluster.run(cluster.admin.get_topic_deletions()) == []
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == []


def test_deletion_orders_are_dropped_where_they_are_forbidden_or_mean_nothing(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, config=CONTROLLER_DEFAULTS._replace(delete_topic_enable=False))
    cluster.create_topic("t", [1])
    for topic in ("t", "unknown"):
        cluster.run(cluster.admin.create_delete_topic_path(topic))
    cluster.settle()
    assert cluster.run(cluster.admin.get_topic_deletions()) == []
    assert cluster.run(cluster.admin.get_all_topics_in_cluster()) == ["t"]


def test_preferred_replica_election_by_znode(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    for _ in range(2):  # the watch is set again
        cluster.run(cluster.controller.controller.controlled_shutdown(2, -1))
        cluster.kill(2)
        cluster.start(2)
        cluster.write_isr(T0, [1, 2])
        cluster.run(
            cluster.admin.create_preferred_replica_election([T0, TopicPartition("unknown", 7)])
        )
        cluster.settle()
        assert cluster.states()[0].startswith("t-0 leader=2 ")
        assert cluster.run(cluster.hand.exists("/admin/preferred_replica_election")) is None


def test_auto_leader_rebalance(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    cluster.kill(2)
    cluster.start(2)
    cluster.write_isr(T0, [1, 2])
    cluster.settle(310_000)
    assert cluster.states() == ["t-0 leader=2 epoch=2 isr=1,2 controller=1"]


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


def test_a_broker_that_changes_its_listeners_is_made_known(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.sent()

    async def change() -> None:
        data, _ = await cluster.hand.get("/brokers/ids/2")
        await cluster.hand.set("/brokers/ids/2", data.replace(b"9094", b"9999"))

    cluster.run(change())
    cluster.settle()
    broker_id, request = cluster.requests[0]
    assert broker_id == 1
    assert [[e.port for e in b.endpoints] for b in request.live_brokers] == [[9093], [9999]]  # type: ignore[attr-defined]


def test_at_level_2_0_the_requests_are_those_of_2_0(cluster_2_0: "ControllerCluster") -> None:
    cluster = cluster_2_0
    cluster.start(1)
    cluster.create_topic("t", [1])
    first = cluster.requests[1][1]
    assert [p.topic_name for p in first.ungrouped_partition_states] == ["t"]  # type: ignore[attr-defined]
    assert (
        cluster.run(cluster.hand.get("/brokers/topics/t"))[0]
        == b'{"version":1,"partitions":{"0":[1]}}'
    )


def test_every_fact_of_an_event_names_its_cause(cluster: "ControllerCluster") -> None:
    """One chain of causes: znode → watch → queued → started → elected."""
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    envelopes = {e.seq: e for e in cluster.controller.events.events}
    elected = next(e for e in envelopes.values() if e.name == "LeaderElected")
    chain = []
    while elected.cause:
        elected = envelopes[elected.cause]
        chain.append(elected.name)
    assert chain == ["ControllerEventStarted", "ControllerEventQueued", "ZkWatchFired"]


def test_the_snapshot_is_the_whole_context(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    snapshot = [envelope.event for envelope in cluster.controller.tracer.snapshot()]
    assert [type(event).__name__ for event in snapshot] == [
        *["StateMachineSnapshot"] * 2,
        "ControllerSnapshot",
        *["ControllerBrokerSnapshot"] * 2,
        "ControllerPartitionSnapshot",
    ]
    assert snapshot[-1] == (
        "t",
        0,
        "OnlinePartition",
        (1, 2),
        ("OnlineReplica", "OnlineReplica"),
        1,
        0,
        (1, 2),
        0,
    )
    (sample,) = [envelope.event for envelope in cluster.controller.tracer.gauges()]
    assert sample == (True, 0, 0, 2, 1, 1, 0, 0, 0, 0)


def test_the_snapshot_has_the_tables_of_both_machines(cluster: "ControllerCluster") -> None:
    """Of every broker, because each may become the controller."""
    cluster.start(1, 2)
    for broker in (1, 2):
        told = [e.event for e in cluster.brokers[broker].tracer.snapshot()]
        partition, replica = [e for e in told if isinstance(e, StateMachineSnapshot)]
        assert partition == StateMachineSnapshot(
            machine="partition",
            states=(
                "NewPartition",
                "OnlinePartition",
                "OfflinePartition",
                "NonExistentPartition",
            ),
            transitions=(
                ("NonExistentPartition", "NewPartition"),
                ("NewPartition", "OnlinePartition"),
                ("OnlinePartition", "OnlinePartition"),
                ("OfflinePartition", "OnlinePartition"),
                ("NewPartition", "OfflinePartition"),
                ("OnlinePartition", "OfflinePartition"),
                ("OfflinePartition", "OfflinePartition"),
                ("OfflinePartition", "NonExistentPartition"),
            ),
        )
        assert replica.machine == "replica"
        assert len(replica.states) == 7
        assert ("ReplicaDeletionSuccessful", "NonExistentReplica") in replica.transitions


@pytest.mark.parametrize(
    ("type_", "path", "name"),
    [
        (WatchType.DELETED, "/controller", "Reelect"),
        (WatchType.CREATED, "/controller", "ControllerChange"),
        (WatchType.CHILDREN_CHANGED, "/brokers/ids", "BrokerChange"),
        (WatchType.DATA_CHANGED, "/brokers/ids/3", "BrokerModifications"),
        (WatchType.DELETED, "/brokers/ids/3", "NoneType"),
        (WatchType.DATA_CHANGED, "/brokers/topics/t", "PartitionModifications"),
        (WatchType.CHILDREN_CHANGED, "/config/changes", "NoneType"),
    ],
)
def test_the_event_of_each_watch(type_: WatchType, path: str, name: str) -> None:
    assert type(event_of_watch(WatchedEvent(type_, path))).__name__ == name


def test_a_refusal_leaves_nothing_for_the_garbage_collector(cluster: "ControllerCluster") -> None:
    """Tools ask any broker first. Those that are not the controller refuse."""
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
