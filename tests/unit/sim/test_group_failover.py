"""A group outlives its coordinator (spec O2).

Three brokers in virtual time. The coordinator is killed or stopped, and another broker loads the
group.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kafka_edu.common.errors import Errors
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from kafka_edu.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
)
from kafka_edu.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.events.group import (
    GroupLoaded,
    GroupsLoaded,
    GroupStateChanged,
    GroupsUnloaded,
    MemberFailed,
)

R = TypeVar("R", bound=Message)
PATIENCE_MS = 60_000
PROPERTIES = {
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "replica.lag.time.max.ms": "10000",
    "zookeeper.session.timeout.ms": "6000",
}


class GroupClient:
    """One member. It asks the coordinator, wherever that is."""

    def __init__(self, cluster: SimCluster, name: str) -> None:
        self.cluster = cluster
        self.process = SimProcess(name)
        self.member_id = ""
        self.generation = -1

    def ask(self, broker_id: int, request: Message, version: int, response: type[R]) -> R:
        async def body() -> R:
            client = NetworkClient(self.cluster.network.transport(), self.process.name)
            await client.connect("127.0.0.1", self.cluster.port(broker_id), 1_000)
            try:
                return await client.ask(request, version, response, PATIENCE_MS)
            finally:
                client.close()

        return self.cluster.run_as(self.process, body(), 2 * PATIENCE_MS)

    def spawn(
        self,
        broker_id: int,
        request: Message,
        version: int,
        response: type[R],
        then: Callable[[R], None],
    ) -> None:
        """Send a request without waiting. `then` gets the answer."""

        async def body() -> None:
            client = NetworkClient(self.cluster.network.transport(), self.process.name)
            await client.connect("127.0.0.1", self.cluster.port(broker_id), 1_000)
            then(await client.ask(request, version, response, PATIENCE_MS))
            client.close()

        task: Awaitable[None] = body()
        self.cluster.loop.spawn(self.process, task)

    def coordinator(self, asked: int, group: str) -> int:
        """Return the group's coordinator, as soon as the broker `asked` knows it."""
        for _ in range(300):
            found = self.ask(asked, FindCoordinatorRequest(key=group), 1, FindCoordinatorResponse)
            if found.error_code == Errors.NONE:
                return found.node_id
            self.cluster.advance(100)
        raise AssertionError("no coordinator")

    def join(self, broker_id: int, group: str) -> int:
        request = self.join_request(group)
        for _ in range(300):
            joined = self.ask(broker_id, request, 3, JoinGroupResponse)
            if joined.error_code not in (
                Errors.COORDINATOR_LOAD_IN_PROGRESS,
                Errors.NOT_COORDINATOR,
            ):
                break
            self.cluster.advance(100)
        self.member_id, self.generation = joined.member_id, joined.generation_id
        return joined.error_code

    def join_request(self, group: str) -> JoinGroupRequest:
        protocols = [
            JoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff")
        ]
        return JoinGroupRequest(
            group_id=group,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=60_000,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=protocols,
        )

    def sync(self, broker_id: int, group: str, assignment: bytes = b"") -> SyncGroupResponse:
        given = (
            [SyncGroupRequestAssignment(member_id=self.member_id, assignment=assignment)]
            if assignment
            else []
        )
        request = SyncGroupRequest(
            group_id=group,
            generation_id=self.generation,
            member_id=self.member_id,
            assignments=given,
        )
        return self.ask(broker_id, request, 2, SyncGroupResponse)

    def heartbeat(self, broker_id: int, group: str) -> int:
        request = HeartbeatRequest(
            group_id=group, generation_id=self.generation, member_id=self.member_id
        )
        return self.ask(broker_id, request, 2, HeartbeatResponse).error_code

    def commit(self, broker_id: int, group: str, offset: int) -> int:
        partitions = [
            OffsetCommitRequestPartition(
                partition_index=0, committed_offset=offset, committed_metadata=""
            )
        ]
        topics = [OffsetCommitRequestTopic(name="t", partitions=partitions)]
        request = OffsetCommitRequest(
            group_id=group, generation_id=self.generation, member_id=self.member_id, topics=topics
        )
        return (
            self.ask(broker_id, request, 5, OffsetCommitResponse).topics[0].partitions[0].error_code
        )

    def fetch(self, broker_id: int, group: str) -> tuple[int, int]:
        request = OffsetFetchRequest(
            group_id=group, topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        )
        answer = self.ask(broker_id, request, 5, OffsetFetchResponse)
        return answer.error_code, (
            answer.topics[0].partitions[0].committed_offset if answer.topics else -1
        )


def started() -> tuple[SimCluster, GroupClient, int]:
    """Start three brokers, and a group with one member and a committed offset. Return them with its
    coordinator.
    """
    cluster = SimCluster(11, (1, 2, 3), PROPERTIES)
    cluster.start_all()
    topics = SimClient(cluster)
    assert cluster.run_as(topics.process, topics.create_topic("t", 1, 3)) is Errors.NONE
    member = GroupClient(cluster, "member")
    coordinator = member.coordinator(1, "g")
    assert member.join(coordinator, "g") == Errors.NONE
    assert member.sync(coordinator, "g", b"mine").assignment == b"mine"
    assert member.commit(coordinator, "g", 42) == Errors.NONE
    return cluster, member, coordinator


def test_a_killed_coordinators_groups_go_on_under_another_without_a_rebalance() -> None:
    cluster, member, coordinator = started()
    cluster.kill(coordinator)
    survivor = next(broker_id for broker_id in cluster.brokers if broker_id != coordinator)
    for _ in range(200):
        cluster.advance(100)
        new = member.coordinator(survivor, "g")
        if new != coordinator:
            break
    assert new != coordinator
    error = Errors.COORDINATOR_LOAD_IN_PROGRESS
    while error != Errors.NONE:
        error, offset = member.fetch(new, "g")
        assert error in (Errors.NONE, Errors.COORDINATOR_LOAD_IN_PROGRESS, Errors.NOT_COORDINATOR)
        cluster.advance(10)
    assert offset == 42
    assert member.heartbeat(new, "g") == Errors.NONE, "the generation is the same"
    assert member.sync(new, "g").assignment == b"mine"
    loaded = [
        e
        for e in cluster.facts(GroupLoaded)
        if e.broker == new and isinstance(e.event, GroupLoaded) and e.event.group.group == "g"
    ]
    assert [
        (e.event.group.state, e.event.group.generation, e.event.group.offsets)
        for e in loaded
        if isinstance(e.event, GroupLoaded)
    ] == [("Stable", 1, 1)]
    assert any(e.broker == new for e in cluster.facts(GroupsLoaded))
    cluster.advance(29_000)
    assert not cluster.facts(MemberFailed)
    cluster.advance(2_000)
    (failed,) = cluster.facts(MemberFailed)
    assert failed.broker == new, (
        "the new coordinator expects heartbeats from when it has loaded the group"
    )


def test_a_group_moves_with_its_partition_to_other_brokers() -> None:
    """The coordinator's replica of __consumer_offsets is removed. The coordinator hears of this
    only by StopReplica, and gets no LeaderAndIsr.
    """
    cluster, member, coordinator = started()
    others = [broker_id for broker_id in cluster.brokers if broker_id != coordinator]
    wish = ReassignablePartition(partition_index=ord("g") % 3, replicas=others)
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name="__consumer_offsets", partitions=[wish])]
    )
    controller = next(
        b.id
        for b in cluster.brokers.values()
        if b.running._controller is not None and b.running._controller.is_active
    )
    answer = member.ask(controller, request, 0, AlterPartitionReassignmentsResponse)
    assert answer.responses[0].partitions[0].error_code == Errors.NONE
    cluster.advance(2_000)
    assert [e.broker for e in cluster.facts(GroupsUnloaded)] == [coordinator]
    assert member.heartbeat(coordinator, "g") == Errors.NOT_COORDINATOR
    new = member.coordinator(coordinator, "g")
    assert new == others[0]
    assert member.fetch(new, "g") == (Errors.NONE, 42)
    assert member.heartbeat(new, "g") == Errors.NONE, "the generation is the same"


def test_a_stopping_coordinator_hands_its_groups_over_and_tells_who_waits() -> None:
    cluster, member, coordinator = started()
    second = GroupClient(cluster, "second")
    answers: list[JoinGroupResponse] = []
    second.spawn(coordinator, second.join_request("g"), 3, JoinGroupResponse, answers.append)
    cluster.advance(1_000)
    assert member.heartbeat(coordinator, "g") == Errors.REBALANCE_IN_PROGRESS
    assert not answers
    cluster.stop(coordinator)
    cluster.advance(100)
    assert [answer.error_code for answer in answers] == [Errors.NOT_COORDINATOR]
    told = [e for e in cluster.facts(GroupsUnloaded) if e.broker == coordinator]
    assert len(told) == 1
    survivor = next(broker_id for broker_id in cluster.brokers if broker_id != coordinator)
    new = member.coordinator(survivor, "g")
    assert new != coordinator
    assert member.heartbeat(new, "g") == Errors.NONE, (
        "the rebalance went with the old coordinator; the last stored generation goes on"
    )
    second.member_id = ""
    second.spawn(new, second.join_request("g"), 3, JoinGroupResponse, answers.append)
    cluster.advance(100)
    assert member.heartbeat(new, "g") == Errors.REBALANCE_IN_PROGRESS
    assert member.join(new, "g") == Errors.NONE
    cluster.advance(100)
    assert (member.generation, [answer.generation_id for answer in answers]) == (2, [-1, 2])


def test_the_old_coordinator_knows_nothing_when_it_leads_again() -> None:
    """A deposed coordinator never continues with its old memory. It reads from the log everything
    that happened meanwhile.
    """
    cluster, member, coordinator = started()
    cluster.stop(coordinator)
    survivor = next(broker_id for broker_id in cluster.brokers if broker_id != coordinator)
    new = member.coordinator(survivor, "g")
    assert member.commit(new, "g", 43) == Errors.NONE
    cluster.start(coordinator)
    cluster.advance(12_000)
    cluster.stop(new)
    asked = next(b for b in cluster.brokers if b != new)
    for _ in range(100):  # the old controller may stop before it has told all brokers
        back = member.coordinator(asked, "g")
        if back != new:
            break
        cluster.advance(100)
    assert back != new
    for _ in range(100):
        error, offset = member.fetch(back, "g")
        if error == Errors.NONE:
            break
        cluster.advance(50)
    assert (error, offset) == (Errors.NONE, 43)
    states = [
        e.event
        for e in cluster.facts(GroupStateChanged)
        if isinstance(e.event, GroupStateChanged) and e.event.after == "Dead"
    ]
    assert len(states) == 2, "each coordinator gave the group up when it stopped"
