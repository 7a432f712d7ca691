"""The reads and writes in ZooKeeper when leaderships change."""

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.leadership_update import LeadershipUpdate
from kafka_edu.zk.zk_requests import ControllerMovedError
from tests.defaults import CONTROLLER_DEFAULTS
from tests.unit.controller.test_zk_partition_state_machine import PATH, T0

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster


def test_a_failover_reads_each_state_once(
    cluster: "ControllerCluster", asked: Counter[str]
) -> None:
    """The dead controller led 10 of 30 partitions, and was in every ISR.

    So 30 states are read, 10 leaders are elected, and the dead broker is removed from 30 ISRs.
    """
    cluster.start(1, 2, 3, config=CONTROLLER_DEFAULTS._replace(auto_leader_rebalance_enable=False))
    cluster.create_topic("t", *([[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 10))
    asked.clear()
    cluster.kill(1)
    assert asked == {"read": 30, "written": 40}


def test_a_controlled_shutdown_reads_nothing(
    cluster: "ControllerCluster", asked: Counter[str]
) -> None:
    """20 leaderships move, and the broker leaves the ISRs of the 10 partitions that it follows."""
    cluster.start(1, 2, 3)
    cluster.create_topic("t", *([[2, 3], [2, 1], [1, 2]] * 10))
    asked.clear()
    cluster.run(cluster.controller.controller.controlled_shutdown(2, -1))
    assert asked == {"written": 30}


def test_a_deleted_state_is_refused_and_not_created_again(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [2, 1])
    cluster.run(cluster.hand.delete(PATH))
    cluster.kill(2)
    assert cluster.run(cluster.hand.exists(PATH)) is None
    refused = cluster.controller.facts("StateChangeRefused")
    assert refused
    assert f"NO_NODE {PATH}" in str(refused[0])


def test_a_state_written_by_a_later_controller_ends_the_term(cluster: "ControllerCluster") -> None:
    cluster.start(1)
    cluster.create_topic("t", [1])
    term = cluster.controller.controller._term
    assert term is not None
    term.context.epoch = 0
    with pytest.raises(
        ControllerMovedError, match="t-0 was written by the controller of epoch 1; ours is 0"
    ):
        cluster.run(LeadershipUpdate(term.context, cluster.admin, [T0]).states())


def test_rounds(cluster: "ControllerCluster") -> None:
    """In the first round the states come from the controller's context.

    Partitions whose write was refused, or that were not written, come again in the next round, with
    their state from ZooKeeper.
    """
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2], [1, 2], [1, 2])
    term = cluster.controller.controller._term
    assert term is not None
    cluster.write_isr(T0, [1], notify=False)
    t1, t2 = TopicPartition("t", 1), TopicPartition("t", 2)
    update = LeadershipUpdate(term.context, cluster.admin, [T0, t1, t2, TopicPartition("gone", 0)])
    states = cluster.run(update.states())
    assert states == dict.fromkeys([T0, t1, t2], LeaderAndIsr(1, 0, (1, 2), 0))
    first = cluster.run(update.write({tp: states[tp].with_leader(2, (2,)) for tp in (T0, t1)}))
    assert (first.written[t1].leader_and_isr, first.unchanged, first.failed) == (
        LeaderAndIsr(2, 1, (2,), 1),
        [],
        {},
    )
    assert update.remaining == [T0, t2, TopicPartition("gone", 0)]
    states = cluster.run(update.states())
    assert states == {T0: LeaderAndIsr(1, 0, (1,), 1), t2: LeaderAndIsr(1, 0, (1, 2), 0)}
    assert term.context.partition_leadership_info(T0) == (states[T0], 1)
    cluster.write_isr(T0, [1, 2], notify=False)
    second = cluster.run(update.write({T0: states[T0].with_leader(2, (2,))}))
    assert (second.written, second.unchanged, second.failed) == (
        {},
        [t2, TopicPartition("gone", 0)],
        {},
    )
    assert update.remaining == [T0]
    states = cluster.run(update.states())
    third = cluster.run(update.write({T0: states[T0].with_leader(2, (2, 1))}))
    assert (third.written[T0].leader_and_isr, third.unchanged) == (
        LeaderAndIsr(2, 1, (2, 1), 3),
        [],
    )
    assert update.remaining == []
