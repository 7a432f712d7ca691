"""A group whose members send a request only when a case says so, in virtual time.

The coordinator is part of a complete simulated broker. The members send the requests of Kafka 2.0
(JoinGroup version 3, in which a new member needs no second request to get its id). After each
request a little time passes. A request that is still without an answer waits at the coordinator.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.group.group_state import GroupState
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.consumer_protocol import ConsumerProtocolSubscription
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
from kafka_edu.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
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
from kafka_edu.trace.events.group import GroupStateChanged, RebalanceStarted

R = TypeVar("R", bound=Message)

BROKER: Final = 1
#: The settings of a broker for these groups: one partition of __consumer_offsets, one replica.
PROPERTIES: Final = {
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}
SEED: Final = 13
LIMIT_MS: Final = 3_600_000
SESSION_MS: Final = 10_000
REBALANCE_MS: Final = 60_000
INITIAL_DELAY_S: Final = 3
"""The default of group.initial.rebalance.delay.ms. The wait begins again if a member has joined."""
HEARTBEAT_S: Final = 3
"""The default of heartbeat.interval.ms."""
TOPIC: Final = "t"
_SETTLE_S: Final = 0.1
_PATIENCE_MS: Final = 600_000
_JOIN_VERSION: Final = 3
_VERSION: Final = 2
"""The version of the other requests."""


class Moment(NamedTuple):
    """One request of a case, or a pause, and the results."""

    words: str
    answers: tuple[tuple[str, str], ...]
    """(member, answer) of each answer that arrived: to this request or to an earlier one."""
    waiting: tuple[str, ...]
    """The members whose request has no answer yet."""
    state: str
    """The group's state afterwards."""


class _Open(NamedTuple):
    """A request without an answer."""

    task: "asyncio.Task[Message]"
    words: Callable[[Message], str]


def simulate(
    body: Callable[[SimCluster], Awaitable[None]], properties: Mapping[str, str] | None = None
) -> None:
    """Start a broker with TOPIC, run `body` there as a client, and end the simulation."""
    cluster = SimCluster(
        SEED, broker_ids=(BROKER,), properties={**PROPERTIES, **(properties or {})}
    )
    cluster.start_all()
    client = SimClient(cluster)
    made = cluster.run_as(client.process, client.create_topic(TOPIC, 1, 1))
    assert made is Errors.NONE
    cluster.run_as(SimProcess("members"), body(cluster), LIMIT_MS)
    cluster.close()


class SteppedGroup:
    """One group on the simulated broker. Its methods run in the simulation."""

    def __init__(self, cluster: SimCluster, group: str) -> None:
        self._cluster = cluster
        self._group = group
        self._clients: dict[str, NetworkClient] = {}
        self._ids: dict[str, str] = {}
        """Member's name → its member id."""
        self._open: dict[str, _Open] = {}
        self.generation = 0
        self.moments: list[Moment] = []

    async def _client(self, name: str) -> NetworkClient:
        if name not in self._clients:
            client = NetworkClient(self._cluster.network.transport(), name)
            await client.connect("127.0.0.1", self._cluster.port(BROKER), 1_000)
            self._clients[name] = client
        return self._clients[name]

    async def find(self) -> None:
        """Wait until the broker coordinates the group. The first request makes the broker create
        the topic __consumer_offsets.
        """
        client = await self._client("a")
        request = FindCoordinatorRequest(key=self._group, key_type=0)
        answer = await client.ask(request, 1, FindCoordinatorResponse, _PATIENCE_MS)
        while answer.error_code:
            await asyncio.sleep(_SETTLE_S)
            answer = await client.ask(request, 1, FindCoordinatorResponse, _PATIENCE_MS)
        await asyncio.sleep(1)  # the broker loads the new partition of __consumer_offsets

    def close(self) -> None:
        """Close all connections."""
        for client in self._clients.values():
            client.close()

    async def _ask(
        self,
        name: str,
        said: str,
        request: Message,
        version: int,
        response: type[R],
        words: Callable[[R], str],
    ) -> None:
        client = await self._client(name)

        def described(answer: Message) -> str:
            assert isinstance(answer, response)
            return words(answer)

        task = asyncio.create_task(client.send(request, version, _PATIENCE_MS))
        self._open[name] = _Open(task, described)
        await self._settle(said)

    async def _settle(self, said: str) -> None:
        await asyncio.sleep(_SETTLE_S)
        answers = []
        for name, one in list(self._open.items()):
            if one.task.done():
                del self._open[name]
                answers.append((name, one.words(one.task.result())))
        self.moments.append(
            Moment(said, tuple(sorted(answers)), tuple(sorted(self._open)), self.states()[-1])
        )

    def states(self) -> list[str]:
        """Return the states of the group, from its beginning."""
        changes = [each.event for each in self._cluster.facts(GroupStateChanged)]
        own = [e for e in changes if isinstance(e, GroupStateChanged) and e.group == self._group]
        return [GroupState.EMPTY.value, *(str(each.after) for each in own)]

    def reasons(self) -> list[str]:
        """Return why each rebalance of the group began."""
        started = [each.event for each in self._cluster.facts(RebalanceStarted)]
        return [
            each.reason
            for each in started
            if isinstance(each, RebalanceStarted) and each.group == self._group
        ]

    async def join(self, name: str) -> None:
        """Let a member send JoinGroup. The member is new if it has no member id yet."""
        metadata = b"\0\0" + ConsumerProtocolSubscription(topics=[TOPIC]).encode(0)
        request = JoinGroupRequest(
            group_id=self._group,
            session_timeout_ms=SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self._ids.get(name, ""),
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )

        def words(answer: JoinGroupResponse) -> str:
            if answer.error_code:
                return Errors.of(answer.error_code).name
            self._ids[name] = answer.member_id
            self.generation = answer.generation_id
            leads = f", leads {len(answer.members)}" if answer.members else ""
            return f"generation {answer.generation_id}{leads}"

        new = "" if name in self._ids else "new, "
        said = f"{new}{name} sends JoinGroup"
        await self._ask(name, said, request, _JOIN_VERSION, JoinGroupResponse, words)

    async def sync(self, name: str, shares: Sequence[str] = ()) -> None:
        """Let a member send SyncGroup. The leader's request has the assignments in `shares`."""
        assignments = [
            SyncGroupRequestAssignment(member_id=self._ids[each], assignment=each.encode())
            for each in shares
        ]
        request = SyncGroupRequest(
            group_id=self._group,
            generation_id=self.generation,
            member_id=self._ids[name],
            assignments=assignments,
        )

        def words(answer: SyncGroupResponse) -> str:
            error = Errors.of(answer.error_code)
            return "its assignment" if error is Errors.NONE else error.name

        said = f"{name} sends SyncGroup" + (", with the assignment" if shares else "")
        await self._ask(name, said, request, _VERSION, SyncGroupResponse, words)

    async def heartbeat(self, name: str) -> None:
        """Let a member send a heartbeat."""
        await self._beat(name)
        await self._settle(f"{name} sends a heartbeat")

    async def _beat(self, name: str) -> None:
        request = HeartbeatRequest(
            group_id=self._group, generation_id=self.generation, member_id=self._ids[name]
        )
        client = await self._client(name)

        def words(answer: Message) -> str:
            assert isinstance(answer, HeartbeatResponse)
            return Errors.of(answer.error_code).name

        task = asyncio.create_task(client.send(request, _VERSION, _PATIENCE_MS))
        self._open[name] = _Open(task, words)

    async def leave(self, name: str) -> None:
        """Let a member send LeaveGroup, as close() does."""
        request = LeaveGroupRequest(group_id=self._group, member_id=self._ids[name])
        await self._ask(
            name,
            f"{name} sends LeaveGroup",
            request,
            _VERSION,
            LeaveGroupResponse,
            lambda answer: Errors.of(answer.error_code).name,
        )

    async def commit(self, name: str, offset: int, generation: int) -> None:
        """Let a member commit an offset of partition 0 as a member of this generation."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            generation_id=generation,
            member_id=self._ids[name],
            topics=[OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])],
        )
        await self._ask(
            name,
            f"{name} commits {offset}, of generation {generation}",
            request,
            _VERSION,
            OffsetCommitResponse,
            lambda answer: Errors.of(answer.topics[0].partitions[0].error_code).name,
        )

    async def committed(self, name: str) -> int:
        """Return the committed offset of partition 0, or -1 if there is none."""
        topics = [OffsetFetchRequestTopic(name=TOPIC, partition_indexes=[0])]
        request = OffsetFetchRequest(group_id=self._group, topics=topics)
        client = await self._client(name)
        answer = await client.ask(request, _VERSION, OffsetFetchResponse, _PATIENCE_MS)
        return answer.topics[0].partitions[0].committed_offset

    async def pass_time(self, seconds: int, beating: Sequence[str] = ()) -> None:
        """Let time pass. The members `beating` send a heartbeat every HEARTBEAT_S."""
        for gone in range(0, seconds, HEARTBEAT_S):
            for name in beating:
                await self._beat(name)
            await asyncio.sleep(min(HEARTBEAT_S, seconds - gone))
        beats = f", {' and '.join(beating)} with heartbeats" if beating else ""
        await self._settle(f"{seconds} s pass{beats}")

    async def stable(self, *names: str) -> None:
        """Make a stable group of these members, and clear `moments`. The first member leads."""
        for name in names:
            await self.join(name)
        await self.pass_time(2 * INITIAL_DELAY_S)
        await self.sync(names[0], names)
        for name in names[1:]:
            await self.sync(name)
        assert self.states()[-1] == GroupState.STABLE
        self.moments.clear()
