"""What the controller reads before it writes: no state twice, unless another process has written
the state since.
"""

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.requested_elections import ElectionType
from kafka_edu.zk.zk_data import TopicPartitionStateZNode

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

T0 = TopicPartition("t", 0)
PATH = TopicPartitionStateZNode.path(T0)


def test_a_dead_broker_leaves_the_isrs_that_the_election_left_it_in(
    cluster: "ControllerCluster", asked: Counter[str]
) -> None:
    """10 elections remove the dead broker from 10 ISRs at once.

    Nothing more must be written for these partitions, so the controller reads their states again to
    be sure. It removes the broker from 20 other ISRs.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", *([[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 10))
    asked.clear()
    cluster.kill(3)
    assert asked == {"read": 10, "written": 30}


@pytest.mark.parametrize(("dies", "stays"), [(2, 3), (3, 2)])
def test_a_replica_that_joined_the_isr_unseen_counts_when_another_dies(
    cluster: "ControllerCluster", dies: int, stays: int
) -> None:
    """A follower joins the ISR, and the controller has not seen it yet.

    The controller's context says that no replica of the ISR is left when broker 2 dies, and that
    nothing must be written when broker 3 dies.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.write_isr(T0, [2])
    cluster.write_isr(T0, [2, 3], notify=False)
    cluster.kill(dies)
    assert cluster.states() == [f"t-0 leader={stays} epoch=1 isr={stays} controller=1"]
    assert cluster.controller.facts("LeaderElectionFailed") == []


def test_a_replica_that_left_the_isr_unseen_does_not_lead(cluster: "ControllerCluster") -> None:
    """The controller's context says that broker 3 is in sync. So the controller tries to make
    broker 3 the leader, but the write is refused.

    The controller reads the state again, and by that state no replica may lead.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.write_isr(T0, [2], notify=False)
    cluster.kill(2)
    assert cluster.states() == ["t-0 leader=-1 epoch=1 isr=2 controller=1"]


def test_no_unclean_leader_is_elected_if_a_replica_joined_the_isr_unseen(
    cluster: "ControllerCluster",
) -> None:
    """By the controller's context the ISR is dead, and broker 1 is the first live broker of AR."""
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 1, 3], config={"unclean.leader.election.enable": "true"})
    cluster.write_isr(T0, [2])
    cluster.write_isr(T0, [2, 3], notify=False)
    cluster.kill(2)
    assert cluster.states() == ["t-0 leader=3 epoch=1 isr=3 controller=1"]


def test_the_preferred_leader_that_joined_the_isr_unseen_leads_when_asked(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    cluster.run(cluster.controller.controller.controlled_shutdown(1, -1))
    term = cluster.controller.controller._term
    assert term is not None
    term.context.shutting_down_broker_ids.clear()  # it has changed its mind
    cluster.write_isr(T0, [2, 1], notify=False)
    (result,) = cluster.run(
        cluster.controller.controller.elect_leaders([T0], ElectionType.PREFERRED)
    ).values()
    assert (result.error, result.leader) == (0, 1)
