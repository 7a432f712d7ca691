"""Clients for the search by seeds. Each request they send is timed by AnswerDeadlines; each is a
process of its own in the simulation.

PipelinedProducer    librdkafka's manner: a batch for each partition after a linger, acks=all, many
requests in flight on one connection
GroupReader          the one consumer of a group: joins, heartbeats, fetches, commits
ProbeClient          requests of every kind to one broker, in bursts
TraceDashboard       a subscriber of the trace of one broker, which changes its level
"""

import asyncio
import json
import random
from collections import deque
from collections.abc import Iterator
from typing import Final, TypeVar

from kafka_edu.clients.answer_deadlines import AnswerDeadlines, Answers, Pauses
from kafka_edu.clients.probe_requests import CLIENT_TIMEOUT_MS, Probe, ProbeRequests, fetch, produce
from kafka_edu.common.errors import Errors
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
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from kafka_edu.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kafka_edu.protocol.messages.produce import ProduceResponse
from kafka_edu.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.record.record_batch import iter_headers, read_records
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess
from kafka_edu.trace.event import Level

GIVE_UP_MS: Final = 120_000
CONNECT_TIMEOUT_MS: Final = 3_000
MAX_IN_FLIGHT: Final = 64
LINGER_MS: Final = 5
BATCH_EVERY_MS: Final = 120
RETRY_MS: Final = 150
GAUGES_CHANCE: Final = 0.1
"""How many subscribers ask for gauges too. Most of a seed's time would go into them, ten times a
virtual second.
"""

R = TypeVar("R", bound=Message)


class Gone(Exception):
    """The connection is closed, or cannot be made: the client comes again."""


class TimedClient:
    """One client process: its connections, one a broker, and the deadlines of what is in flight on
    them.
    """

    def __init__(
        self,
        cluster: SimCluster,
        name: str,
        answers: Answers,
        pauses: Pauses,
        deadlines: set[AnswerDeadlines],
    ) -> None:
        self.cluster = cluster
        self.process = SimProcess(name)
        self.stopping = False
        self._answers = answers
        self._pauses = pauses
        self._all_deadlines = deadlines
        self._connections: dict[int, tuple[NetworkClient, AnswerDeadlines]] = {}
        self.leaders: dict[TopicPartition, int] = {}

    def now_ms(self) -> float:
        return self.cluster.time.nanoseconds() / 1e6

    async def connection(self, broker: int) -> tuple[NetworkClient, AnswerDeadlines]:
        """The connection to this broker, made if there is none. Raises Gone."""
        found = self._connections.get(broker)
        if found is not None and found[0].connected:
            return found
        if found is not None:
            self._close(broker, *found)
        client = NetworkClient(self.cluster.network.transport(), self.process.name)
        try:
            await client.connect("127.0.0.1", self.cluster.port(broker), CONNECT_TIMEOUT_MS)
        except (OSError, TimeoutError):
            raise Gone from None
        deadlines = AnswerDeadlines(
            f"{self.process.name} {client.local}", broker, self._answers, self._pauses
        )
        self._all_deadlines.add(deadlines)
        self._connections[broker] = client, deadlines
        return client, deadlines

    def _close(self, broker: int, client: NetworkClient, deadlines: AnswerDeadlines) -> None:
        client.close()
        deadlines.closed(self.now_ms())
        self._all_deadlines.discard(deadlines)
        if self._connections.get(broker) == (client, deadlines):
            del self._connections[broker]

    async def ask(self, broker: int, probe: Probe, answer_type: type[R]) -> R:
        """Send one request and return its answer. Raises Gone."""
        client, deadlines = await self.connection(broker)
        return await self.ask_on(broker, client, deadlines, probe, answer_type)

    async def ask_on(
        self,
        broker: int,
        client: NetworkClient,
        deadlines: AnswerDeadlines,
        probe: Probe,
        answer_type: type[R],
    ) -> R:
        """Send at once: nothing is awaited before the request is on the wire, so requests leave in
        the order of the calls.
        """
        if not client.connected:
            raise Gone
        deadlines.sent(probe.kind, probe.allowed_ms, self.now_ms())
        try:
            response = await client.send(probe.request, probe.version, GIVE_UP_MS)
        except (OSError, TimeoutError, ProtocolError):
            self._close(broker, client, deadlines)
            raise Gone from None
        deadlines.answered(self.now_ms())
        if not isinstance(response, answer_type):
            raise TypeError(f"{probe.kind} is answered by {type(response).__name__}")
        return response

    async def refresh(self, topics: list[str], chance: random.Random) -> None:
        """Ask any broker who leads what. Raises Gone."""
        brokers = list(self.cluster.brokers)
        chance.shuffle(brokers)
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=topic) for topic in topics],
            allow_auto_topic_creation=False,
        )
        for broker in brokers:
            try:
                answer = await self.ask(
                    broker, Probe("Metadata", request, 8, CLIENT_TIMEOUT_MS), MetadataResponse
                )
            except Gone:
                continue
            for topic in answer.topics:
                for partition in topic.partitions:
                    self.leaders[TopicPartition(topic.name or "", partition.partition_index)] = (
                        partition.leader_id
                    )
            return
        raise Gone

    async def sleep(self, ms: float) -> None:
        await self.cluster.time.sleep(ms)


class PipelinedProducer(TimedClient):
    """Batches of numbered records; what is refused or unanswered is sent again."""

    def __init__(
        self,
        cluster: SimCluster,
        partitions: list[TopicPartition],
        chance: random.Random,
        answers: Answers,
        pauses: Pauses,
        deadlines: set[AnswerDeadlines],
    ) -> None:
        super().__init__(cluster, "producer", answers, pauses, deadlines)
        self._partitions = partitions
        self._chance = chance
        self.timeout_ms = chance.choice((1_500, 5_000, 30_000))
        self._queues: dict[TopicPartition, deque[int]] = {tp: deque() for tp in partitions}
        self._in_flight = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.sent = 0
        self.acked: dict[int, TopicPartition] = {}
        self.timed_out: list[float] = []
        """When a broker answered that the followers had not fetched a batch within the time-out of
        the request.
        """
        self.burst = False
        """Set by the script: a burst of small requests, as many as may be in flight."""

    async def run(self) -> None:
        while not self.stopping or self._in_flight or any(self._queues.values()):
            if not self.stopping:
                self._make()
            try:
                if any(self.leaders.get(tp, -1) < 0 for tp in self._partitions):
                    await self.refresh([self._partitions[0].topic], self._chance)
                await self._send()
            except Gone:
                await self.sleep(RETRY_MS)
            await self.sleep(LINGER_MS if self.burst else BATCH_EVERY_MS)

    def _make(self) -> None:
        for _ in range(MAX_IN_FLIGHT if self.burst else self._chance.randint(1, 3)):
            self._queues[self._chance.choice(self._partitions)].append(self.sent)
            self.sent += 1
        self.burst = False

    async def _send(self) -> None:
        for tp, queue in self._queues.items():
            while queue and self._in_flight < MAX_IN_FLIGHT:
                leader = self.leaders.get(tp, -1)
                if leader not in self.cluster.brokers:
                    break
                client, deadlines = await self.connection(leader)
                if not queue:
                    break
                number = queue.popleft()
                probe = produce(
                    self._chance,
                    tp,
                    self.cluster.time.milliseconds(),
                    timeout_ms=self.timeout_ms,
                    value=b"%d" % number,
                )
                self._in_flight += 1
                task = asyncio.get_running_loop().create_task(
                    self._one(tp, number, leader, client, deadlines, probe)
                )
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    async def _one(
        self,
        tp: TopicPartition,
        number: int,
        leader: int,
        client: NetworkClient,
        deadlines: AnswerDeadlines,
        probe: Probe,
    ) -> None:
        try:
            answer = await self.ask_on(leader, client, deadlines, probe, ProduceResponse)
            error = Errors.of(answer.responses[0].partition_responses[0].error_code)
        except Gone:
            error = Errors.NETWORK_EXCEPTION
        finally:
            self._in_flight -= 1
        if error is Errors.NONE:
            self.acked[number] = tp
            return
        if error is Errors.REQUEST_TIMED_OUT:
            self.timed_out.append(self.now_ms())
        self._queues[tp].appendleft(number)
        if self.leaders.get(tp) == leader:
            self.leaders[tp] = -1


class GroupReader(TimedClient):
    """Reads every partition from the beginning, and commits. `read` holds the numbers it has
    seen.
    """

    GROUP: Final = "readers"

    def __init__(
        self,
        cluster: SimCluster,
        partitions: list[TopicPartition],
        chance: random.Random,
        answers: Answers,
        pauses: Pauses,
        deadlines: set[AnswerDeadlines],
    ) -> None:
        super().__init__(cluster, "reader", answers, pauses, deadlines)
        self._partitions = partitions
        self._chance = chance
        self._positions = dict.fromkeys(partitions, 0)
        self.read: set[int] = set()
        self.commits = 0

    async def run(self) -> None:
        membership = asyncio.get_running_loop().create_task(self._belong())
        while not self.stopping:
            for tp in self._partitions:
                try:
                    await self._fetch(tp)
                except Gone:
                    self.leaders.pop(tp, None)
                    await self.sleep(RETRY_MS)
        membership.cancel()

    async def _fetch(self, tp: TopicPartition) -> None:
        leader = self.leaders.get(tp, -1)
        if leader not in self.cluster.brokers:
            await self.refresh([tp.topic], self._chance)
            await self.sleep(RETRY_MS)
            return
        probe = fetch(self._chance, tp, self._positions[tp], max_wait_ms=100, min_bytes=1)
        data = (await self.ask(leader, probe, FetchResponse)).responses[0].partition_responses[0]
        if data.error_code:
            self.leaders.pop(tp, None)
            return
        records = data.record_set
        if not isinstance(records, memoryview) or not records:
            return
        for position, header in iter_headers(records):
            for record in read_records(records[position : position + header.size_in_bytes]):
                if record.offset >= self._positions[tp]:
                    self.read.add(int(record.value or b"-1"))
            self._positions[tp] = header.next_offset

    async def _belong(self) -> None:
        """Join, take all partitions, heartbeat and commit; begin again when the coordinator moves
        or forgets us.
        """
        while True:
            try:
                await self._membership()
            except Gone:
                await self.sleep(RETRY_MS)

    def _probe(self, kind: str, request: Message, version: int) -> Probe:
        return Probe(kind, request, version, CLIENT_TIMEOUT_MS)

    async def _membership(self) -> None:
        any_broker = self._chance.choice(list(self.cluster.brokers))
        found = await self.ask(
            any_broker,
            self._probe("FindCoordinator", FindCoordinatorRequest(key=self.GROUP, key_type=0), 2),
            FindCoordinatorResponse,
        )
        if found.error_code:
            raise Gone
        # the coordinator has a connection of its own, as in every client: a JoinGroup that waits
        # must not hold fetches up
        coordinator = TimedClient(
            self.cluster,
            f"{self.process.name}-group",
            self._answers,
            self._pauses,
            self._all_deadlines,
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
            await self.sleep(1_000)


class ProbeClient(TimedClient):
    """Requests of every kind to one broker, in bursts without waiting."""

    def __init__(
        self,
        broker: int,
        number: int,
        requests: ProbeRequests,
        chance: random.Random,
        cluster: SimCluster,
        answers: Answers,
        pauses: Pauses,
        deadlines: set[AnswerDeadlines],
    ) -> None:
        super().__init__(cluster, f"prober-{broker}-{number}", answers, pauses, deadlines)
        self._broker = broker
        self._requests = requests
        self._chance = chance

    async def run(self) -> None:
        while not self.stopping:
            try:
                client, deadlines = await self.connection(self._broker)
            except Gone:
                await self.sleep(500)
                continue
            burst = [
                self._one(client, deadlines, self._requests.draw())
                for _ in range(self._chance.choice((1, 3, 8, 32)))
            ]
            await asyncio.gather(*burst)
            await self.sleep(self._chance.uniform(300, 4_000))

    async def _one(self, client: NetworkClient, deadlines: AnswerDeadlines, probe: Probe) -> None:
        try:
            await self.ask_on(self._broker, client, deadlines, probe, Message)
        except Gone:
            return


class TraceDashboard:
    """Subscribes to one broker's events as a dashboard does, by the broker's own EventServer; reads
    and forgets. It changes its level by coming again.
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
        """Until the broker is gone."""
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
    """The receiver of a dashboard's wire."""

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
