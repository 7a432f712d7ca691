"""In virtual time: a fetcher's task and its connection, and the writes of the ISR."""

import asyncio
import random

from kafka_edu.cluster.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import Wire
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.framing import FrameReceiver
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.fetch import FetchRequest, FetchResponse
from kafka_edu.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from kafka_edu.replication.fetch_params import FetchParams, PartitionFetch
from kafka_edu.replication.isr import IsrProposal
from kafka_edu.replication.log_read_result import LogReadResult
from kafka_edu.replication.replica_fetcher_thread import ReplicaFetcherThread, fetcher_versions
from kafka_edu.sim.memory_transport import MemoryNetwork
from kafka_edu.sim.sim_loop import SimLoop, SimTime
from kafka_edu.sim.stepped_cluster import ModelBroker, SteppedCluster, T


class LeaderEnd:
    """The leader's end of a connection. It answers Fetch and OffsetForLeaderEpoch from a
    ModelBroker, at once or as soon as there is data.
    """

    def __init__(self, wire: Wire, leader: ModelBroker, seen: list[str]) -> None:
        self._wire = wire
        self._leader = leader
        self._seen = seen
        self._receiver = FrameReceiver(1 << 20)

    def data_received(self, data: memoryview) -> None:
        for frame in self._receiver.feed(data):
            header, offset = decode_request_header(frame)
            version, correlation_id = header.api_version, header.correlation_id
            self._seen.append(ApiKey(header.api_key).name)
            if header.api_key == ApiKey.FETCH:
                self._fetch(FetchRequest.decode(frame, version, offset), version, correlation_id)
            else:
                response = self._epochs(OffsetForLeaderEpochRequest.decode(frame, version, offset))
                self._wire.send(
                    encode_response(
                        ApiKey.OFFSET_FOR_LEADER_EPOCH, version, correlation_id, response
                    )
                )

    def _fetch(self, request: FetchRequest, version: int, correlation_id: int) -> None:
        wanted = {
            TopicPartition(t.topic, p.partition): PartitionFetch(
                p.fetch_offset, p.log_start_offset, p.partition_max_bytes
            )
            for t in request.topics
            for p in t.partitions
        }
        now_ms = self._leader.time.hi_res_clock_ms()
        context = self._leader.sessions.new_context(
            request.session_id, request.session_epoch, wanted, [], follower="1 a", now_ms=now_ms
        )
        params = FetchParams(
            request.replica_id, request.max_wait_ms, request.min_bytes, request.max_bytes, version
        )

        def respond(results: list[tuple[TopicPartition, LogReadResult]]) -> None:
            response: FetchResponse = context.response(results, now_ms)
            self._wire.send(encode_response(ApiKey.FETCH, version, correlation_id, response))

        self._leader.manager.fetch.fetch_messages(params, context.infos(), respond, context.session)

    def _epochs(self, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
        [topic] = request.topics
        [asked] = topic.partitions
        epoch, end_offset = self._leader.manager.offset_lookup.last_offset_for_leader_epoch(
            T, asked.leader_epoch
        )
        answer = EpochEndOffset(
            partition=asked.partition, leader_epoch=epoch, end_offset=end_offset
        )
        return OffsetForLeaderEpochResponse(
            topics=[OffsetForLeaderTopicResult(topic=topic.topic, partitions=[answer])]
        )

    def all_sent(self) -> None: ...

    def connection_lost(self, reason: str) -> None: ...


def test_a_fetcher_connects_truncates_fetches_backs_off_and_connects_again() -> None:
    loop = SimLoop()
    network = MemoryNetwork(loop, random.Random(1))
    transport = network.transport()
    cluster = SteppedCluster(wait_ms=500)
    cluster.elect(0, (0, 1))
    leader, follower = cluster.brokers
    cluster.produce("a", acks=1)
    seen: list[str] = []
    wires: list[Wire] = []

    def accept(wire: Wire) -> LeaderEnd:
        wires.append(wire)
        return LeaderEnd(wire, leader, seen)

    async def scenario() -> None:
        listener = await transport.listen("leader", 9092, accept)
        fetcher = follower.fetchers.by_leader[0]
        thread = ReplicaFetcherThread(
            fetcher,
            0,
            follower.config,
            SimTime(loop),
            transport,
            lambda: ("leader", listener.port),
            follower.trace,
        )
        task = asyncio.get_running_loop().create_task(thread.run())
        await asyncio.sleep(0.1)
        assert seen[:2] == ["OFFSET_FOR_LEADER_EPOCH", "FETCH"]
        assert follower.values() == ["a"]
        asked = len(seen)
        await asyncio.sleep(0.1)
        assert len(seen) == asked  # the leader holds the next fetch
        cluster.produce("b", acks=1)
        await asyncio.sleep(0.1)
        assert follower.values() == ["a", "b"]
        assert leader.hw == 2

        listener.close()
        wires[-1].close()
        await asyncio.sleep(0.5)
        assert [event[0] for event in follower.events("FetcherFailed")] == [0]
        await asyncio.sleep(3)
        failures = len(follower.events("FetcherFailed"))
        assert 3 <= failures <= 5  # once every replica.fetch.backoff.ms
        await transport.listen("leader", listener.port, accept)
        cluster.produce("c", acks=1)
        await asyncio.sleep(2)
        assert follower.values() == ["a", "b", "c"]
        assert len(follower.events("FetcherConnected")) == 2
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    loop.run_until_complete(scenario())


def test_versions_follow_the_inter_broker_protocol() -> None:
    assert [
        tuple(fetcher_versions(v)) for v in ((1, 1), (2, 0), (2, 1), (2, 4), (2, 7), (2, 8), (3, 0))
    ] == [
        (8, 1, 3),
        (8, 1, 3),
        (10, 2, 4),
        (11, 3, 5),
        (12, 3, 5),
        (12, 4, 6),
        (12, 4, 6),
    ]


PROPOSAL = IsrProposal(
    T, LeaderIsrAndControllerEpoch(LeaderAndIsr(0, 0, (0,), 3), 1), (0, 1), "test"
)
