"""The reads of the controller before its writes: no state twice, except if another wrote since."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller.leader_elections_asked import ElectionType
from kafka_edu.controller.leadership_update import LeadershipUpdate
from kafka_edu.sim.memory_zk_client import MemoryZkClient
from kafka_edu.zk.zk_client import Op, OpResult, SetDataOp, Stat
from kafka_edu.zk.zk_data import TopicPartitionStateZNode
from kafka_edu.zk.zk_requests import ControllerMovedError
from tests.defaults import CONTROLLER_DEFAULTS

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

T0 = TopicPartition("t", 0)
PATH = TopicPartitionStateZNode.path(T0)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return how often states were read and written, by all controllers together."""
    counter: Counter[str] = Counter()
    get, multi = MemoryZkClient.get, MemoryZkClient.multi

    async def counted_get(
        self: MemoryZkClient, path: str, *, watch: bool = False
    ) -> tuple[bytes, Stat]:
        if path.endswith("/state"):
            counter["read"] += 1
        return await get(self, path, watch=watch)

    async def counted_multi(self: MemoryZkClient, ops: Sequence[Op]) -> list[OpResult]:
        if any(isinstance(op, SetDataOp) and op.path.endswith("/state") for op in ops):
            counter["written"] += 1
        return await multi(self, ops)

    monkeypatch.setattr(MemoryZkClient, "get", counted_get)
    monkeypatch.setattr(MemoryZkClient, "multi", counted_multi)
    return counter


def test_a_failover_reads_each_state_once(
    cluster: "ControllerCluster", asked: Counter[str]
) -> None:
    """The dead controller led 10 of 30 partitions, and was in every ISR.

    So 30 states are read, it leaves 30 ISRs, and there are 10 elections.
    """
    cluster.start(1, 2, 3, config=CONTROLLER_DEFAULTS._replace(auto_leader_rebalance_enable=False))
    cluster.create_topic("t", *([[1, 2, 3], [2, 3, 1], [3, 1, 2]] * 10))
    asked.clear()
    cluster.kill(1)
    assert asked == {"read": 30, "written": 40}


def test_a_controlled_shutdown_reads_nothing(
    cluster: "ControllerCluster", asked: Counter[str]
) -> None:
    """20 leaderships move, and the broker leaves the 10 ISRs in which it follows."""
    cluster.start(1, 2, 3)
    cluster.create_topic("t", *([[2, 3], [2, 1], [1, 2]] * 10))
    asked.clear()
    cluster.run(cluster.controller.controller.controlled_shutdown(2, -1))
    assert asked == {"written": 30}


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
    """The first round is decided by the context.

    Partitions that were refused or left alone come again, with their state in ZooKeeper.
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
