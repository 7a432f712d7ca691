"""The reads of the controller before its writes: no state twice, except if another wrote since."""

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
    """10 elections remove the dead broker from the ISR at once.

    For these partitions nothing more must be written, so the controller reads them again to be
    sure. It removes the broker from 20 other ISRs.
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

    By the context, no replica of the ISR is left when 2 dies, and nothing must be written when 3
    dies.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.write_isr(T0, [2])
    cluster.write_isr(T0, [2, 3], notify=False)
    cluster.kill(dies)
    assert cluster.states() == [f"t-0 leader={stays} epoch=1 isr={stays} controller=1"]
    assert cluster.controller.facts("LeaderElectionFailed") == []


def test_a_replica_that_left_the_isr_unseen_does_not_lead(cluster: "ControllerCluster") -> None:
    """By the context, 3 is in sync. The write that makes 3 the leader is refused.

    By the state that is read then, no replica may lead.
    """
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2, 3])
    cluster.write_isr(T0, [2], notify=False)
    cluster.kill(2)
    assert cluster.states() == ["t-0 leader=-1 epoch=1 isr=2 controller=1"]


def test_no_unclean_leader_is_elected_if_a_replica_joined_the_isr_unseen(
    cluster: "ControllerCluster",
) -> None:
    """By the context, 1 would be the first of AR that is alive, and the ISR is dead."""
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
