"""Consumers read from followers (KIP-392), in virtual time.

Broker 1 leads t-0, and 2 and 3 follow. The brokers are in the racks a, b and c.
"""

from collections.abc import Iterator

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_size
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.fetch import (
    FetchablePartitionResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from kafka_edu.replication.partition import Partition
from kafka_edu.replication.replica_selector import ClientMetadata
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Level, Source
from kafka_edu.trace.events.purgatory import OperationCompleted
from kafka_edu.trace.events.replication import ConsumerSentToFollower

T0 = TopicPartition("t", 0)
RACKS = {1: "a", 2: "b", 3: "c"}
RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
FOLLOWERS_WAIT_MS = 500


class World:
    def __init__(self, selector: str | None = RACK_AWARE, level: Level = Level.STATE) -> None:
        properties = {"replica.selector.class": selector} if selector else {}
        self.cluster = SimCluster(
            5,
            (1, 2, 3),
            properties,
            level,
            {broker: {"broker.rack": rack} for broker, rack in RACKS.items()},
        )
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        replicas = CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2, 3])
        topic = CreatableTopic(
            name="t", num_partitions=-1, replication_factor=-1, assignments=[replicas]
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        created = self.ask(1, request, 4, CreateTopicsResponse)
        assert created.topics[0].error_code == 0
        self.cluster.advance(2000)

    def ask(self, to: int, request, version, response):
        async def ask():
            wire = NetworkClient(self.cluster.network.transport(), "reader")
            await wire.connect("127.0.0.1", self.cluster.port(to), 1000)
            try:
                return await wire.ask(request, version, response, 30_000)
            finally:
                wire.close()

        return self.cluster.run_as(self.client.process, ask())

    def fetch(
        self, to: int, offset: int, rack: str = "", version: int = 11, wait_ms: int = 0
    ) -> FetchablePartitionResponse:
        wanted = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=wait_ms,
            min_bytes=1,
            topics=[FetchTopic(topic="t", partitions=[wanted])],
            rack_id=rack,
        )
        response = self.ask(to, request, version, FetchResponse)
        return response.responses[0].partition_responses[0]

    def write(self, records: int, settle: bool = True) -> None:
        for number in range(records):
            self.client.produce(T0, f"v{number}", 1)
            self.cluster.advance(20)
        if settle:
            self.cluster.advance(2 * FOLLOWERS_WAIT_MS)

    def partition(self, broker_id: int) -> Partition:
        replication = self.cluster.brokers[broker_id].running.replication
        assert replication is not None
        partition = replication.replicas.partitions.get(T0)
        assert partition is not None
        return partition


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        world.cluster.close()


def test_the_leader_sends_a_consumer_to_its_rack_and_the_follower_serves_it(
    worlds: list[World],
) -> None:
    worlds.append(world := World())
    world.write(3)
    answer = world.fetch(1, 0, "b")
    assert (answer.preferred_read_replica, answer.error_code) == (2, 0)
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (3, 3, 0)
    assert part_size(answer.record_set or b"") == 0
    read = world.fetch(2, 0, "b")
    assert (read.preferred_read_replica, read.error_code, read.high_watermark) == (-1, 0, 3)
    assert part_size(read.record_set or b"") > 0
    [sent] = world.cluster.facts(ConsumerSentToFollower)
    assert sent.source == Source.of_broker(1)
    assert sent.event == ConsumerSentToFollower(
        topic="t",
        partition=0,
        client_id="reader",
        rack="b",
        follower=2,
        fetch_offset=0,
        follower_log_end_offset=3,
        leader_log_end_offset=3,
    )


@pytest.mark.parametrize(
    ("selector", "rack", "version"),
    [
        (None, "b", 11),
        ("org.apache.kafka.common.replica.LeaderSelector", "b", 11),
        (RACK_AWARE, "a", 11),
        (RACK_AWARE, "", 11),
        (RACK_AWARE, "nowhere", 11),
        (RACK_AWARE, "b", 10),
    ],
)
def test_otherwise_the_leader_serves(
    worlds: list[World], selector: str | None, rack: str, version: int
) -> None:
    worlds.append(world := World(selector))
    world.write(3)
    answer = world.fetch(1, 0, rack, version)
    assert answer.preferred_read_replica == -1
    assert part_size(answer.record_set or b"") > 0
    assert world.cluster.facts(ConsumerSentToFollower) == []


def test_a_follower_that_is_behind_or_dead_gets_no_consumer(worlds: list[World]) -> None:
    worlds.append(world := World())
    world.write(3)
    world.cluster.cut(1, 2)
    world.write(2)
    assert world.fetch(1, 4, "b").preferred_read_replica == -1, "it does not have offset 4 yet"
    assert world.fetch(1, 3, "b").preferred_read_replica == 2, "its log ends there"
    world.cluster.kill(3)
    world.cluster.advance(30_000)
    assert world.fetch(1, 0, "c").preferred_read_replica == -1


def test_a_follower_that_the_consumer_cannot_reach_or_whose_log_starts_later_gets_none(
    worlds: list[World],
) -> None:
    worlds.append(world := World())
    world.write(3)
    replication = world.cluster.brokers[1].running.replication
    assert replication is not None
    rules, partition = replication.replicas.fetch._rules, world.partition(1)

    def chosen(offset: int, listener: str = "PLAINTEXT") -> int | None:
        client = ClientMetadata("b", "reader", listener)
        return rules.preferred_read_replica(partition, client, offset)

    assert chosen(0) == 2
    assert chosen(0, "ANOTHER_NETWORK") is None
    follower = partition.follower(2)
    assert follower is not None
    follower.log_start_offset = 1
    assert (chosen(0), chosen(1)) == (None, 2)


def test_a_follower_answers_by_its_own_log_and_its_own_high_watermark(
    worlds: list[World],
) -> None:
    worlds.append(world := World())
    world.write(3)
    assert world.fetch(2, 0, version=10).error_code == Errors.NOT_LEADER_OR_FOLLOWER
    assert world.fetch(2, 4).error_code == Errors.OFFSET_OUT_OF_RANGE
    at_end = world.fetch(2, 3)
    assert (at_end.error_code, part_size(at_end.record_set or b"")) == (0, 0)
    world.cluster.cut(1, 3)
    world.write(1)  # 2 has it, 3 has not: it is not committed
    partition = world.partition(2)
    assert (partition.high_watermark.offset, partition.local_log().log_end_offset) == (3, 4)
    for offset in (3, 4):
        beyond = world.fetch(2, offset)
        assert (beyond.error_code, beyond.high_watermark) == (0, 3)
        assert part_size(beyond.record_set or b"") == 0


@pytest.mark.parametrize("selector", [RACK_AWARE, None])
def test_followers_learn_a_new_high_watermark_at_once_if_consumers_may_read_there(
    worlds: list[World], selector: str | None
) -> None:
    """If consumers may not read from followers, the followers learn the high watermark with their
    next fetch: the fetch that waits now ends after 500 ms.
    """
    worlds.append(world := World(selector, Level.HOPS))
    world.write(1)
    world.client.produce(T0, "next", 1)
    world.cluster.advance(50)
    assert [world.partition(broker).local_log().log_end_offset for broker in RACKS] == [2, 2, 2]
    known = [world.partition(broker).high_watermark.offset for broker in RACKS]
    assert known == ([2, 2, 2] if selector else [2, 1, 1])
    ends = [
        envelope.event
        for envelope in world.cluster.facts(OperationCompleted)
        if "the follower serves consumers" in str(envelope.event)
    ]
    assert bool(ends) == bool(selector)
    world.cluster.advance(2 * FOLLOWERS_WAIT_MS)
    assert [world.partition(broker).high_watermark.offset for broker in RACKS] == [2, 2, 2]


def test_an_idle_cluster_does_not_spin_for_the_high_watermark(worlds: list[World]) -> None:
    worlds.append(world := World(level=Level.HOPS))
    world.write(3)
    before = len(world.cluster.sink.events)
    world.cluster.advance(10_000)
    fetches = 2 * 10_000 // FOLLOWERS_WAIT_MS
    assert len(world.cluster.sink.events) - before < 12 * fetches


def test_a_consumer_that_waits_at_a_follower_is_answered_when_the_mark_moves_there(
    worlds: list[World],
) -> None:
    worlds.append(world := World())
    world.write(3)
    answers: list[tuple[float, FetchablePartitionResponse]] = []

    async def wait_at_follower() -> None:
        wire = NetworkClient(world.cluster.network.transport(), "waiting")
        await wire.connect("127.0.0.1", world.cluster.port(2), 1000)
        wanted = FetchPartition(partition=0, fetch_offset=3, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1,
            max_wait_ms=20_000,
            min_bytes=1,
            topics=[FetchTopic(topic="t", partitions=[wanted])],
            rack_id="b",
        )
        response = await wire.ask(request, 11, FetchResponse, 30_000)
        answers.append(
            (world.cluster.time.milliseconds(), response.responses[0].partition_responses[0])
        )
        wire.close()

    world.cluster.loop.spawn(world.client.process, wait_at_follower())
    world.cluster.advance(5_000)
    assert answers == []
    produced_ms = world.cluster.time.milliseconds()
    world.client.produce(T0, "awaited", 1)
    world.cluster.advance(1_000)
    [(answered_ms, answer)] = answers
    assert part_size(answer.record_set or b"") > 0
    assert answered_ms - produced_ms < 100
