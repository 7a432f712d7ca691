"""The clients in a run of the search by seeds. Each client is a separate simulated process.

PipelinedProducer    an idempotent producer with acks=all and several requests in flight, in a
                     module of its own
GroupReader          the one consumer of a group: joins, heartbeats, fetches, commits
ProbeClient          requests of every kind to one broker, in bursts
TraceDashboard       a subscriber of the trace of one broker, which changes its level

The search does not use our real clients. It needs the time of each single answer, bursts that no
real client sends, and a check that shares no code with the checked code. Our real clients have
separate tests in the simulator.
"""

import asyncio
import json
import random
from collections.abc import Iterator, Sequence
from typing import Final

from kafka_edu.clients.answer_deadlines import AnswerDeadlines
from kafka_edu.clients.probe_requests import CLIENT_TIMEOUT_MS, Probe, ProbeRequests, fetch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Wire
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.fetch import FetchResponse
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
from kafka_edu.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record_batch import iter_headers, read_records
from kafka_edu.sim.pipelined_producer import PipelinedProducer
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.sim.timed_connections import (
    CONNECT_TIMEOUT_MS,
    RETRY_MS,
    Gone,
    TimedConnections,
)
from kafka_edu.trace.event import Level

BURSTS: Final = (1, 3, 8, 32)
"""How many requests a ProbeClient sends at once. It waits for the answers only after that. The
requests are of all kinds, or only Produce.
"""
GAUGES_CHANCE: Final = 0.1
"""The share of subscribers that also request gauges. There are ten sets of gauges in a virtual
second, so with a larger share they would take most of a seed's time.
"""


class GroupReader:
    """The only consumer of a group. It reads every partition from the beginning, and commits its
    offsets.
    """

    GROUP: Final = "readers"

    def __init__(
        self,
        connections: TimedConnections,
        partitions: Sequence[TopicPartition],
        chance: random.Random,
    ) -> None:
        self.connections = connections
        self.stopping = False
        self.read: dict[TopicPartition, list[int]] = {tp: [] for tp in partitions}
        """The numbers of the records that were read from each partition, in the order of their
        offsets.
        """
        self.commits = 0
        self._partitions = partitions
        self._chance = chance
        self._positions = dict.fromkeys(partitions, 0)

    async def run(self) -> None:
        membership = asyncio.get_running_loop().create_task(self._belong())
        while not self.stopping:
            for tp in self._partitions:
                try:
                    await self._fetch(tp)
                except Gone:
                    self.connections.leaders.pop(tp, None)
                    await self.connections.observed.sleep(RETRY_MS)
        membership.cancel()

    async def _fetch(self, tp: TopicPartition) -> None:
        leader = self.connections.leaders.get(tp, -1)
        if leader not in self.connections.observed.cluster.brokers:
            await self.connections.refresh([tp.topic], self._chance)
            await self.connections.observed.sleep(RETRY_MS)
            return
        probe = fetch(self._chance, tp, self._positions[tp], max_wait_ms=100, min_bytes=1)
        data = (
            (await self.connections.ask(leader, probe, FetchResponse))
            .responses[0]
            .partition_responses[0]
        )
        if data.error_code:
            self.connections.leaders.pop(tp, None)
            return
        records = data.record_set
        if not isinstance(records, memoryview) or not records:
            return
        for position, header in iter_headers(records):
            for record in read_records(records[position : position + header.size_in_bytes]):
                if record.offset >= self._positions[tp]:
                    self.read[tp].append(int(record.value or b"-1"))
            self._positions[tp] = header.next_offset

    async def _belong(self) -> None:
        """Be a member of the group: join, take all partitions, send heartbeats and commit. Begin
        again if the coordinator has moved or no longer knows this member.
        """
        while True:
            try:
                await self._membership()
            except Gone:
                await self.connections.observed.sleep(RETRY_MS)

    def _probe(self, kind: str, request: Message, version: int) -> Probe:
        return Probe(kind, request, version, CLIENT_TIMEOUT_MS)

    async def _membership(self) -> None:
        any_broker = self._chance.choice(list(self.connections.observed.cluster.brokers))
        found = await self.connections.ask(
            any_broker,
            self._probe("FindCoordinator", FindCoordinatorRequest(key=self.GROUP, key_type=0), 2),
            FindCoordinatorResponse,
        )
        if found.error_code:
            raise Gone
        # As in every client, there is a separate connection to the coordinator. Otherwise a waiting
        # JoinGroup would delay the fetches.
        coordinator = TimedConnections(
            self.connections.observed, f"{self.connections.process.name}-group"
        )
        join = JoinGroupRequest(
            group_id=self.GROUP,
            session_timeout_ms=6_000,
            rebalance_timeout_ms=3_000,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        joined = await coordinator.ask(
            found.node_id, self._probe("JoinGroup", join, 2), JoinGroupResponse
        )
        if joined.error_code:
            raise Gone
        generation, member = joined.generation_id, joined.member_id
        assignment = (
            [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"all")]
            if joined.leader == joined.member_id
            else []
        )
        synced = await coordinator.ask(
            found.node_id,
            self._probe(
                "SyncGroup",
                SyncGroupRequest(
                    group_id=self.GROUP,
                    generation_id=generation,
                    member_id=member,
                    assignments=assignment,
                ),
                2,
            ),
            SyncGroupResponse,
        )
        if synced.error_code:
            raise Gone
        while True:
            beat = await coordinator.ask(
                found.node_id,
                self._probe(
                    "Heartbeat",
                    HeartbeatRequest(
                        group_id=self.GROUP, generation_id=generation, member_id=member
                    ),
                    2,
                ),
                HeartbeatResponse,
            )
            if beat.error_code:
                raise Gone
            topic = OffsetCommitRequestTopic(
                name=self._partitions[0].topic,
                partitions=[
                    OffsetCommitRequestPartition(
                        partition_index=tp.partition,
                        committed_offset=offset,
                        committed_metadata=None,
                    )
                    for tp, offset in self._positions.items()
                ],
            )
            commit = self._probe(
                "OffsetCommit",
                OffsetCommitRequest(
                    group_id=self.GROUP, generation_id=generation, member_id=member, topics=[topic]
                ),
                6,
            )
            answer = await coordinator.ask(found.node_id, commit, OffsetCommitResponse)
            self.commits += not answer.topics[0].partitions[0].error_code
            await self.connections.observed.sleep(1_000)


class ProbeClient:
    """Sends requests of every kind to one broker, several at once without waiting for answers."""

    def __init__(
        self,
        connections: TimedConnections,
        broker: int,
        requests: ProbeRequests,
        chance: random.Random,
    ) -> None:
        self.connections = connections
        self.stopping = False
        self._broker = broker
        self._requests = requests
        self._chance = chance

    async def run(self) -> None:
        observed = self.connections.observed
        while not self.stopping:
            try:
                client, deadlines = await self.connections.connection(self._broker)
            except Gone:
                await observed.sleep(500)
                continue
            draw = self._chance.choice((self._requests.draw, self._requests.produce))
            burst = [
                self._one(client, deadlines, draw()) for _ in range(self._chance.choice(BURSTS))
            ]
            await asyncio.gather(*burst)
            await observed.sleep(self._chance.uniform(300, 4_000))

    async def _one(self, client: NetworkClient, deadlines: AnswerDeadlines, probe: Probe) -> None:
        try:
            await self.connections.ask_on(self._broker, client, deadlines, probe, Message)
        except Gone:
            return


class TraceDashboard:
    """A subscriber of the events of one broker, like a dashboard. It connects to the broker's
    EventServer.

    The subscriber drops the events that it reads. To change the level it connects again.
    """

    def __init__(
        self, cluster: SimCluster, name: str, chance: random.Random, levels: tuple[Level, ...]
    ) -> None:
        self.process = SimProcess(name)
        self.level_changes = 0
        self.bytes_read = 0
        self._cluster = cluster
        self._chance = chance
        self._levels = levels

    async def run(self, broker: int, port: int, token: str) -> None:
        """Read events until the broker has ended."""
        for level in self._turns():
            gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            reads = _Reads(self, gone)
            try:
                wire = await self._cluster.network.transport().connect(
                    "127.0.0.1", port, reads.on_wire, CONNECT_TIMEOUT_MS
                )
            except (OSError, TimeoutError):
                return
            self._hello(wire, token, level, self._chance.random() < GAUGES_CHANCE)
            done, _ = await asyncio.wait(
                [gone], timeout=None if len(self._levels) == 1 else self._chance.uniform(0.5, 8.0)
            )
            wire.close()
            if done:
                return
            self.level_changes += 1

    def _turns(self) -> Iterator[Level]:
        while True:
            yield from self._levels

    def _hello(self, wire: Wire, token: str, level: Level, gauges: bool) -> None:
        wire.send(
            [json.dumps({"token": token, "level": level.value, "gauges": gauges}).encode() + b"\n"]
        )


class _Reads:
    """Receives the bytes of a TraceDashboard's connection."""

    def __init__(self, dashboard: TraceDashboard, gone: "asyncio.Future[None]") -> None:
        self._dashboard = dashboard
        self._gone = gone

    def on_wire(self, _: Wire) -> "_Reads":
        return self

    def data_received(self, data: memoryview) -> None:
        self._dashboard.bytes_read += len(data)

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None:
        if not self._gone.done():
            self._gone.set_result(None)


#: A client in a run of the search by seeds. The script runs its method `run` in the process of its
#: `connections`.
SoakClient = PipelinedProducer | GroupReader | ProbeClient
