"""The term of a controller: how it begins, what its end frees, and changes in ZooKeeper while it
lasts.
"""

import asyncio
import contextlib
import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.kafka_controller import BrokerIdTakenError
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.trace.events.controller import (
    BrokerListenersChanged,
    ControllerElected,
    ElectionsHeld,
    LeaderImbalanceMeasured,
)
from kafka_edu.zk.zk_client import CreateOp, DeleteOp, ZkError
from kafka_edu.zk.zk_data import ControllerZNode
from tests.defaults import CONTROLLER_DEFAULTS

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

T0 = TopicPartition("t", 0)


def watches_of(cluster: "ControllerCluster", broker_id: int) -> list[str]:
    """Return the watches that a broker has set in ZooKeeper and that have not fired, by path."""
    tree = cluster.zookeeper.server.tree
    session = cluster.brokers[broker_id].zk.session_id
    (cnxn,) = [
        c for c, found in cluster.zookeeper.server.cnxns.items() if found.session_id == session
    ]
    return sorted(
        path
        for manager in (tree.data_watches, tree.child_watches)
        for path, watcher in manager.items()
        if watcher == cnxn
    )


ALWAYS = ["/controller"]
IN_OFFICE = [
    "/admin/delete_topics",
    "/admin/preferred_replica_election",
    "/admin/reassign_partitions",
    "/brokers/ids",
    "/brokers/ids/1",
    "/brokers/ids/2",
    "/brokers/topics",
    "/brokers/topics/t",
    "/controller",
    "/isr_change_notification",
    "/log_dir_event_notification",
]


def test_only_the_controller_watches_the_cluster(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    assert watches_of(cluster, 1) == IN_OFFICE
    assert watches_of(cluster, 2) == ALWAYS


def test_resignation_frees_everything(cluster: "ControllerCluster") -> None:
    """Tasks, timers, channels and the context are freed.

    A watch that is left in ZooKeeper cannot be removed. It fires once and is not set again.
    """
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    old = cluster.brokers[1].controller
    term = old._term
    assert term is not None
    assert old._rebalance_timer is not None
    tasks_in_office = {task.get_name() for task in asyncio.all_tasks(cluster.loop)}
    assert "auto-leader-rebalance-task" in tasks_in_office
    left, timer, context = (
        weakref.ref(term),
        weakref.ref(old._rebalance_timer),
        weakref.ref(term.context),
    )
    channels = weakref.ref(term._channels)
    del term
    cluster.loop.pause(cluster.brokers[1].process)
    cluster.run(cluster.hand.delete("/controller"))
    cluster.settle()
    cluster.loop.resume(cluster.brokers[1].process)
    cluster.settle()
    assert cluster.controller.id == 2
    assert old._term is None
    assert old._channels is None
    assert old._rebalance_timer is None
    gc.collect()
    assert [left(), timer(), context(), channels()] == [None, None, None, None]
    assert watches_of(cluster, 1) == IN_OFFICE, "ZooKeeper 3.4 has no call to remove a watch"
    before = len(cluster.brokers[1].facts("ControllerEventQueued"))
    cluster.create_topic("u", [1, 2])
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert len(cluster.brokers[1].facts("ControllerEventQueued")) == before, (
        "out of office nothing but /controller is listened to"
    )
    assert set(watches_of(cluster, 1)) < set(IN_OFFICE)
    assert not {"/brokers/topics", "/brokers/topics/t", "/admin/delete_topics"} & set(
        watches_of(cluster, 1)
    )


def test_the_same_broker_elected_again_has_one_timer_and_one_set_of_watches(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, config=CONTROLLER_DEFAULTS._replace(leader_imbalance_check_interval_seconds=1))
    for _ in range(5):
        cluster.run(cluster.hand.delete("/controller"))
        cluster.settle()
    assert cluster.controller.controller.epoch == 6
    names = [task.get_name() for task in asyncio.all_tasks(cluster.loop)]
    assert names.count("auto-leader-rebalance-task") == 1
    assert names.count("controller-event-task") == 1
    before = len(cluster.controller.facts("ControllerEventStarted"))
    cluster.settle(20_000)
    assert 15 <= len(cluster.controller.facts("ControllerEventStarted")) - before <= 16
    watched = watches_of(cluster, 1)
    assert len(watched) == len(set(watched))


@pytest.mark.parametrize(
    "data",
    [
        ControllerZNode.encode(77, 0),
        ControllerZNode.encode(2, 0),
        b"nonsense",
        b'{"version":1}',
        b"\xff\x00",
    ],
)
def test_a_controller_znode_without_a_session_behind_it_goes(
    cluster: "ControllerCluster", data: bytes
) -> None:
    """/controller is replaced by hand, with a znode that is not ephemeral, while there is a
    controller.

    The new znode would stay for ever, and no broker would be the controller.
    """
    cluster.start(1, 2)
    cluster.run(cluster.hand.multi([DeleteOp("/controller"), CreateOp("/controller", data)]))
    cluster.settle()
    assert cluster.controller.controller.epoch == 2
    everybody = [
        event for broker in cluster.brokers.values() for event in broker.facts("ControllerElected")
    ]
    assert sorted(everybody) == [
        ControllerElected(epoch=1, epoch_zk_version=1),
        ControllerElected(epoch=2, epoch_zk_version=2),
    ]


@pytest.mark.parametrize("gap_ms", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
def test_a_controller_znode_that_is_written_and_gone_before_anybody_looks(
    cluster: "ControllerCluster", gap_ms: float
) -> None:
    """The watch reports a write, but the znode is already gone. No other watch fires for that."""
    cluster.start(1, 2)

    async def write_twice() -> None:
        for _ in range(2):
            await cluster.hand.set("/controller", ControllerZNode.encode(2, 0))
            await cluster.time.sleep(gap_ms)

    with contextlib.suppress(ZkError):  # it may be gone by then
        cluster.run(write_twice())
    cluster.settle()
    assert cluster.controller.controller.epoch >= 2


def test_a_corrupt_controller_znode_that_was_there_first_goes_too(
    cluster: "ControllerCluster",
) -> None:
    cluster.run(cluster.hand.create("/controller", b"{"))
    cluster.start(1, 2)
    assert cluster.controller.controller.epoch == 1


def test_a_corrupt_controller_znode_with_a_session_behind_it_is_waited_out(
    cluster: "ControllerCluster",
) -> None:
    """A broker must not delete the znode, because the session that created it is alive."""
    other = MemoryZkClient(cluster.zookeeper, 6_000, "somebody")
    cluster.run(other.start(lambda _: None, lambda _: None, 1000))
    cluster.run(other.create("/controller", b"{", ephemeral=True))
    cluster.start(1)
    assert not cluster.brokers[1].controller.is_active
    cluster.run(other.close())
    cluster.settle()
    assert cluster.controller.controller.epoch == 1


def test_a_broker_whose_id_was_taken_while_its_session_was_lost_ends(
    cluster: "ControllerCluster",
) -> None:
    """A broker that has lost its registration for good must end.

    Otherwise it would continue to serve its partitions, and no other broker would notice that it is
    missing.
    """
    cluster.start(1, 2)
    data, _ = cluster.run(cluster.hand.get("/brokers/ids/2"))
    cluster.loop.pause(cluster.brokers[2].process)
    cluster.zookeeper.expire(cluster.brokers[2].zk.session_id)
    cluster.run(cluster.hand.create("/brokers/ids/2", data, ephemeral=True))
    cluster.loop.resume(cluster.brokers[2].process)
    cluster.loop.advance(1_000)
    (error,) = [context["exception"] for context in cluster.loop.errors]
    assert isinstance(error, BrokerIdTakenError)
    assert str(error) == "while our session was lost, another broker has registered as 2"


def test_new_listeners_of_a_broker_are_sent_to_all_and_used(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2)
    data, _ = cluster.run(cluster.hand.get("/brokers/ids/2"))
    epoch = cluster.brokers[2].controller.broker_epoch
    cluster.run(cluster.hand.set("/brokers/ids/2", data.replace(b"9094", b"9999")))
    cluster.settle()
    assert cluster.controller.facts("BrokerListenersChanged") == [
        BrokerListenersChanged(
            broker_id=2,
            broker_epoch=epoch,
            before=("PLAINTEXT://127.0.0.1:9094",),
            after=("PLAINTEXT://127.0.0.1:9999",),
        )
    ]
    assert [broker.end_points[0].port for broker in cluster.moved] == [9999]
    cluster.run(cluster.hand.set("/brokers/ids/2", data.replace(b"9094", b"9999")))
    cluster.settle()
    assert len(cluster.controller.facts("BrokerListenersChanged")) == 1, (
        "the same listeners are no news"
    )


def test_a_bounce_is_not_hidden_by_a_change_of_listeners(cluster: "ControllerCluster") -> None:
    """The watch reported that the broker's znode was written. When the controller handles this,
    there is a new znode, which the broker created after a restart.

    So the controller must handle a failure and a start of the broker.
    """
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    data, _ = cluster.run(cluster.hand.get("/brokers/ids/2"))
    moved = data.replace(b"9094", b"9999")
    cluster.loop.pause(cluster.brokers[1].process)
    cluster.run(cluster.hand.set("/brokers/ids/2", moved))
    cluster.run(cluster.hand.multi([DeleteOp("/brokers/ids/2"), CreateOp("/brokers/ids/2", moved)]))
    cluster.loop.resume(cluster.brokers[1].process)
    cluster.settle()
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1 controller=1"]


def test_auto_leader_rebalance_keeps_to_its_interval_and_its_percentage(
    cluster: "ControllerCluster",
) -> None:
    """leader.imbalance.check.interval.seconds is 300, and the first check is after 5 s.

    With leader.imbalance.per.broker.percentage 10, another broker than the preferred one may lead
    one of ten partitions, but not two.
    """
    cluster.start(1, 2)
    cluster.create_topic("t", *([2, 1],) * 10)
    started = cluster.time.milliseconds()

    def lead_elsewhere(*numbers: int) -> None:
        async def lead() -> None:
            partitions = [TopicPartition("t", n) for n in numbers]
            states = await cluster.admin.get_topic_partition_states(partitions)
            wanted = {
                tp: state.leader_and_isr.with_leader(1, state.leader_and_isr.isr)
                for tp, state in states.items()
            }
            epoch = await cluster.admin.get_controller_epoch()
            assert epoch is not None
            await cluster.admin.update_leader_and_isr(wanted, *epoch)
            await cluster.admin.propagate_isr_changes(partitions)

        cluster.run(lead())
        cluster.settle()

    def measured() -> list[LeaderImbalanceMeasured]:
        return [
            e
            for e in cluster.controller.facts("LeaderImbalanceMeasured")
            if isinstance(e, LeaderImbalanceMeasured)
        ]

    lead_elsewhere(3)
    cluster.settle(300_000)
    assert measured()[-1] == LeaderImbalanceMeasured(
        broker_id=2, preferred_here=10, led_elsewhere=1, allowed_percentage=10, given_back=0
    )
    assert cluster.states()[3] == "t-3 leader=1 epoch=1 isr=2,1 controller=1"
    lead_elsewhere(7)
    cluster.settle(300_000)
    assert measured()[-1] == LeaderImbalanceMeasured(
        broker_id=2, preferred_here=10, led_elsewhere=2, allowed_percentage=10, given_back=2
    )
    assert cluster.states()[3] == "t-3 leader=2 epoch=2 isr=2,1 controller=1"
    assert cluster.states()[7] == "t-7 leader=2 epoch=2 isr=2,1 controller=1"
    assert cluster.controller.facts("ElectionsHeld") == [
        ElectionsHeld(
            trigger="auto.leader.rebalance",
            election_type="preferred",
            asked=2,
            elected=2,
            refused=(),
        )
    ]
    rounds = [
        e for e in cluster.controller.facts("ControllerEventStarted") if "AutoPreferred" in str(e)
    ]
    assert len(rounds) == 1 + (cluster.time.milliseconds() - started - 5_000) // 300_000


def test_auto_leader_rebalance_leaves_what_is_not_in_sync(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1], [2, 1])
    cluster.kill(2)
    cluster.start(2)
    cluster.write_isr(TopicPartition("t", 1), [1, 2])
    cluster.settle(310_000)
    assert [words.partition(" epoch")[0] for words in cluster.states()] == [
        "t-0 leader=1",
        "t-1 leader=2",
    ]
    assert [e for e in cluster.controller.facts("ElectionsHeld") if isinstance(e, ElectionsHeld)][
        -1
    ].elected == 1
