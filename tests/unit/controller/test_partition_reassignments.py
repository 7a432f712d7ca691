"""Reassignments phase by phase: the content of ZooKeeper, and the requests to brokers.

The test plays the leaders: it writes the ISRs.
"""

from typing import TYPE_CHECKING

import pytest

from kafka_edu.cluster.topic_assignment import ReplicaAssignment
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.events.controller import LeaderElected, TopicDeletionChanged
from kafka_edu.trace.events.reassignment import (
    ReassignmentCompleted,
    ReassignmentSnapshot,
    ReassignmentStarted,
)
from kafka_edu.zk.zk_data import ReassignPartitionsZNode

if TYPE_CHECKING:
    from tests.unit.controller.conftest import ControllerCluster

T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
PHASES = (
    "ReassignmentStarted",
    "LeaderEpochIncremented",
    "ReassignmentWaits",
    "ReassignmentCaughtUp",
    "LeaderElected",
    "ReassignmentReplicasStopped",
)
PHASES += ("ReassignmentCompleted", "ReassignmentOrderShrunk", "ReassignmentRefused")


def alter(
    cluster: "ControllerCluster", wanted: dict[TopicPartition, list[int] | None]
) -> list[Errors]:
    results = cluster.run(cluster.controller.controller.alter_partition_reassignments(wanted))
    cluster.settle()
    return [result.error for result in results.values()]


def order(cluster: "ControllerCluster", wanted: dict[TopicPartition, list[int]]) -> None:
    cluster.run(cluster.admin.create_partition_reassignment(wanted))
    cluster.settle()


def ordered(cluster: "ControllerCluster") -> dict[TopicPartition, tuple[int, ...]] | None:
    return cluster.run(cluster.admin.get_partition_reassignment())


def assignment(cluster: "ControllerCluster", tp: TopicPartition = T0) -> ReplicaAssignment:
    return cluster.run(cluster.admin.get_assignment_for_topics([tp.topic]))[tp.topic].partitions[
        tp.partition
    ]


def listed(cluster: "ControllerCluster") -> dict[TopicPartition, ReplicaAssignment]:
    return cluster.run(cluster.controller.controller.list_partition_reassignments(None))


def phases(cluster: "ControllerCluster", since: int = 0) -> list[str]:
    return [e.name for e in list(cluster.controller.events.events)[since:] if e.name in PHASES]


def steps(cluster: "ControllerCluster") -> list[str]:
    return [
        e.step
        for e in cluster.controller.facts("TopicDeletionChanged")
        if isinstance(e, TopicDeletionChanged)
    ]


def test_a_partition_moves_and_its_leader_with_it(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", [1, 2])
    cluster.sent()
    begun = len(cluster.controller.events.events)
    assert alter(cluster, {T0: [3, 4]}) == [Errors.NONE]
    assert assignment(cluster) == ReplicaAssignment((3, 4, 1, 2), (3, 4), (1, 2))
    assert listed(cluster) == {T0: assignment(cluster)}
    assert cluster.states() == ["t-0 leader=1 epoch=1 isr=1,2 controller=1"]
    told = cluster.sent()
    assert [words for words in told if "LeaderAndIsr" in words] == [
        "1 LeaderAndIsr t-0:1/1/1,2",
        "2 LeaderAndIsr t-0:1/1/1,2",
        "3 LeaderAndIsr t-0:1/1/1,2/new",
        "4 LeaderAndIsr t-0:1/1/1,2/new",
        "3 LeaderAndIsr t-0:1/1/1,2/new",
        "4 LeaderAndIsr t-0:1/1/1,2/new",
    ]
    cluster.write_isr(T0, [1, 2, 3])
    assert listed(cluster), "4 is missing still"
    cluster.sent()
    cluster.write_isr(T0, [1, 2, 3, 4])
    assert listed(cluster) == {}
    assert assignment(cluster) == ReplicaAssignment((3, 4))
    assert cluster.states() == ["t-0 leader=3 epoch=4 isr=3,4 controller=1"]
    told = [words for words in cluster.sent() if "UpdateMetadata" not in words]
    assert told == [
        "3 LeaderAndIsr t-0:3/2/1,2,3,4",
        "4 LeaderAndIsr t-0:3/2/1,2,3,4",
        "3 LeaderAndIsr t-0:3/4/3,4",
        "4 LeaderAndIsr t-0:3/4/3,4",
        "1 StopReplica t-0",
        "2 StopReplica t-0",
        "1 StopReplica t-0/delete",
        "2 StopReplica t-0/delete",
    ]
    # Each check of the ISR emits an event: the write of the new epoch also fires the watch.
    assert list(dict.fromkeys(phases(cluster, begun))) == [
        "ReassignmentStarted",
        "ReassignmentWaits",
        "LeaderEpochIncremented",
        "ReassignmentCaughtUp",
        "LeaderElected",
        "ReassignmentReplicasStopped",
        "ReassignmentCompleted",
    ]
    (started,) = [
        e
        for e in cluster.controller.facts("ReassignmentStarted")
        if isinstance(e, ReassignmentStarted)
    ]
    assert started == ("t", 0, "api", (1, 2), (3, 4, 1, 2), (3, 4), (1, 2))
    elected = [
        e for e in cluster.controller.facts("LeaderElected") if isinstance(e, LeaderElected)
    ][-1]
    assert (elected.strategy, elected.old_leader, elected.new_leader) == ("ReassignPartition", 1, 3)


def test_a_leader_that_stays_leads_on_in_a_new_epoch(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1, 2])
    alter(cluster, {T0: [3, 1]})
    cluster.sent()
    cluster.write_isr(T0, [1, 2, 3])
    assert assignment(cluster) == ReplicaAssignment((3, 1))
    assert cluster.states() == ["t-0 leader=1 epoch=3 isr=1,3 controller=1"]
    assert [w for w in cluster.sent() if "UpdateMetadata" not in w][-4:] == [
        "1 LeaderAndIsr t-0:1/3/1,3",
        "3 LeaderAndIsr t-0:1/3/1,3",
        "2 StopReplica t-0",
        "2 StopReplica t-0/delete",
    ]


def test_another_order_of_the_same_brokers_is_done_at_once(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1, 2])
    cluster.sent()
    assert alter(cluster, {T0: [2, 1]}) == [Errors.NONE]
    assert assignment(cluster) == ReplicaAssignment((2, 1))
    assert not [words for words in cluster.sent() if "StopReplica" in words]


def test_a_cancellation_stops_the_new_replicas_and_all_is_as_before(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", [1, 2])
    alter(cluster, {T0: [3, 4]})
    cluster.write_isr(T0, [1, 2, 3])
    cluster.sent()
    assert alter(cluster, {T0: None}) == [Errors.NONE]
    assert assignment(cluster) == ReplicaAssignment((1, 2))
    assert cluster.states()[0].endswith("isr=1,2 controller=1")
    assert {w for w in cluster.sent() if "delete" in w} == {
        "3 StopReplica t-0/delete",
        "4 StopReplica t-0/delete",
    }
    assert listed(cluster) == {}
    assert alter(cluster, {T0: None}) == [Errors.NO_REASSIGNMENT_IN_PROGRESS]


def test_a_new_target_over_a_running_reassignment(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", [1, 2])
    alter(cluster, {T0: [3, 2]})
    cluster.sent()
    assert alter(cluster, {T0: [4, 2]}) == [Errors.NONE]
    assert assignment(cluster) == ReplicaAssignment((4, 2, 1), (4,), (1,))
    assert [w for w in cluster.sent() if "delete" in w] == ["3 StopReplica t-0/delete"]
    cluster.write_isr(T0, [1, 2, 4])
    assert assignment(cluster) == ReplicaAssignment((4, 2))
    assert cluster.states() == ["t-0 leader=4 epoch=4 isr=2,4 controller=1"]


def test_an_order_by_znode_shrinks_entry_by_entry(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1], [1], [1])
    order(cluster, {T0: [2], T1: [3], T2: [1], TopicPartition("nope", 0): [1]})
    assert ordered(cluster) == {
        T0: (2,),
        T1: (3,),
    }, "what does not exist, and what is there already, is out"
    cluster.write_isr(T0, [1, 2])
    assert ordered(cluster) == {T1: (3,)}
    cluster.write_isr(T1, [1, 3])
    assert ordered(cluster) is None
    order(cluster, {T0: [3]})
    assert assignment(cluster) == ReplicaAssignment((3, 2), (3,), (2,)), (
        "the next order is seen too"
    )


def test_an_order_by_hand_that_would_delete_every_replica_is_not_taken(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1)
    cluster.create_topic("t", [1], [1])
    order(cluster, {T0: [], T1: [1, 1]})
    assert ordered(cluster) is None
    assert (assignment(cluster), assignment(cluster, T1)) == (
        ReplicaAssignment((1,)),
        ReplicaAssignment((1,)),
    )


def test_entries_that_are_added_by_hand_are_begun(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1], [1])
    order(cluster, {T0: [2]})

    async def write() -> None:
        await cluster.hand.set(
            ReassignPartitionsZNode.PATH, ReassignPartitionsZNode.encode({T0: [2], T1: [2]})
        )

    cluster.run(write())
    cluster.settle()
    assert set(listed(cluster)) == {T0, T1}
    starts = [
        e
        for e in cluster.controller.facts("ReassignmentStarted")
        if isinstance(e, ReassignmentStarted)
    ]
    assert [(e.partition, e.ordered_by) for e in starts] == [
        (0, "znode"),
        (1, "znode"),
    ], "the running one is not begun again"


def test_an_order_that_is_deleted_by_hand_leaves_the_watch(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1], [1])
    order(cluster, {T0: [2]})
    cluster.run(cluster.hand.delete(ReassignPartitionsZNode.PATH))
    cluster.settle()
    order(cluster, {T1: [2]})
    assert set(listed(cluster)) == {T0, T1}


def test_the_latest_request_counts_by_api_or_by_znode(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1], [1])
    order(cluster, {T0: [2], T1: [2]})
    assert alter(cluster, {T0: [3]}) == [Errors.NONE]
    assert ordered(cluster) == {T1: (2,)}
    assert assignment(cluster) == ReplicaAssignment((3, 1), (3,), (1,))


def test_the_next_controller_goes_on(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", [2, 3])
    alter(cluster, {T0: [4, 3]})
    cluster.kill(1)
    assert set(listed(cluster)) == {T0}
    cluster.write_isr(T0, [2, 3, 4])
    assert assignment(cluster) == ReplicaAssignment((4, 3))
    assert cluster.states()[0].endswith("isr=3,4 controller=2")


def test_an_order_that_nobody_read_is_taken_up_by_the_next_controller(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2], [2])
    cluster.loop.kill(cluster.brokers.pop(1).process)
    order(cluster, {T0: [3], T1: [2]})
    cluster.settle(12_000)
    assert ordered(cluster) == {T0: (3,)}
    cluster.write_isr(T0, [2, 3])
    assert (assignment(cluster), ordered(cluster)) == (ReplicaAssignment((3,)), None)


def test_below_2_4_the_order_is_all_that_a_new_controller_has(
    cluster_2_0: "ControllerCluster",
) -> None:
    cluster = cluster_2_0
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [2])
    order(cluster, {T0: [3]})
    assert assignment(cluster) == ReplicaAssignment((3, 2)), (
        "the znode of that time has no word for who comes and goes"
    )
    cluster.kill(1)
    cluster.write_isr(T0, [2, 3])
    assert (assignment(cluster), ordered(cluster)) == (ReplicaAssignment((3,)), None)


def test_a_new_broker_that_dies_is_waited_for(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1, 2])
    alter(cluster, {T0: [1, 3]})
    cluster.kill(3)
    assert set(listed(cluster)) == {T0}
    cluster.sent()
    cluster.start(3)
    assert any(words.startswith("3 LeaderAndIsr t-0:1/") for words in cluster.sent())
    cluster.write_isr(T0, [1, 2, 3])
    assert assignment(cluster) == ReplicaAssignment((1, 3))


def test_the_leader_dies_and_one_of_the_old_replicas_leads_until_the_target_has_arrived(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", [4, 2])
    alter(cluster, {T0: [3, 2]})
    cluster.kill(4)
    assert cluster.states()[0].split(" epoch")[0] == "t-0 leader=2"
    cluster.write_isr(T0, [2, 3])
    assert assignment(cluster) == ReplicaAssignment((3, 2))
    assert cluster.states()[0].startswith("t-0 leader=2 ")


def test_a_topic_is_deleted_only_when_its_partitions_have_arrived(
    cluster: "ControllerCluster",
) -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [1])
    alter(cluster, {T0: [2]})
    cluster.run(cluster.admin.create_delete_topic_path("t"))
    cluster.settle()
    assert steps(cluster) == ["queued", "ineligible"]
    assert alter(cluster, {T0: [3]}) == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
    cluster.start(4)
    assert "started" not in steps(cluster), "nor does a broker that comes set it going"
    cluster.write_isr(T0, [1, 2])
    assert steps(cluster)[-1] == "complete"
    assert not cluster.run(cluster.admin.topic_exists("t"))


def test_many_partitions_arrive_in_one_event(cluster: "ControllerCluster") -> None:
    """The watches fire in a burst.

    One event processes all of them, and each broker gets one request for each step.
    """
    cluster.start(1, 2)
    cluster.create_topic("t", *([1] for _ in range(50)))
    partitions = [TopicPartition("t", number) for number in range(50)]
    assert alter(cluster, {tp: [2] for tp in partitions}) == [Errors.NONE] * 50
    cluster.sent()
    before = len(cluster.controller.facts("ControllerEventStarted"))

    async def write() -> None:
        for tp, state in (await cluster.admin.get_topic_partition_states(partitions)).items():
            new = state._replace(leader_and_isr=state.leader_and_isr._replace(isr=(1, 2)))
            await cluster.admin.conditional_update_partition_state(
                tp, new, state.leader_and_isr.zk_version
            )

    cluster.run(write())
    cluster.settle(1000)
    completed = cluster.controller.facts("ReassignmentCompleted")
    assert sorted(e.partition for e in completed if isinstance(e, ReassignmentCompleted)) == list(
        range(50)
    )
    assert listed(cluster) == {}
    dealt_with = [
        e
        for e in cluster.controller.facts("ControllerEventStarted")[before:]
        if "IsrChange" in str(e)
    ]
    assert len(dealt_with) < 25


def test_no_leadership_is_given_back_while_partitions_move(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2, 3)
    cluster.create_topic("t", [3, 1], [1])
    cluster.kill(3)
    alter(cluster, {T1: [2]})
    cluster.start(3)
    cluster.write_isr(T0, [1, 3])
    cluster.settle(700_000)
    assert cluster.states()[0].startswith("t-0 leader=1 ")
    cluster.write_isr(T1, [1, 2])
    cluster.settle(700_000)
    assert cluster.states()[0].startswith("t-0 leader=3 ")


def test_a_new_subscriber_gets_the_running_reassignments(cluster: "ControllerCluster") -> None:
    cluster.start(1, 2)
    cluster.create_topic("t", [1])
    alter(cluster, {T0: [2]})
    term = cluster.controller.controller._term
    assert term is not None
    assert [e for e in term.snapshot() if isinstance(e, ReassignmentSnapshot)] == [
        ("t", 0, (2, 1), (2,), (1,))
    ]


@pytest.mark.parametrize("delay", range(0, 60, 2))
def test_a_controller_may_die_at_any_moment(cluster: "ControllerCluster", delay: int) -> None:
    """The controller is killed some tenths of a millisecond after the last replica has joined.

    The next controller leaves the partition on its target.
    """
    cluster.start(1, 2, 3, 4)
    cluster.create_topic("t", [2, 3])
    order(cluster, {T0: [4, 3]})

    async def join() -> None:
        state = (await cluster.admin.get_topic_partition_states([T0]))[T0]
        new = state._replace(leader_and_isr=state.leader_and_isr._replace(isr=(2, 3, 4)))
        await cluster.admin.conditional_update_partition_state(
            T0, new, state.leader_and_isr.zk_version
        )

    cluster.run(join())
    cluster.loop.advance(delay / 10)
    cluster.kill(1)
    cluster.settle(1000)
    assert (assignment(cluster), ordered(cluster), listed(cluster)) == (
        ReplicaAssignment((4, 3)),
        None,
        {},
    )
    (state,) = cluster.states()
    assert set(state.split("isr=")[1].split(" ")[0].split(",")) == {"3", "4"}
    assert state.split(" ")[1] in ("leader=3", "leader=4")
