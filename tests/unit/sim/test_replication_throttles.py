"""A follower that comes back catches up at the throttled rate, in virtual time (KIP-73).

There are three brokers. Broker 1 leads t-0, and broker 2 follows. Broker 2 is killed, 30 MB are
written, and it starts again with a throttle of 1 MB/s on one side.
"""

from collections.abc import Iterator
from itertools import pairwise

import pytest

from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kafka_edu.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kafka_edu.replication.partition import Partition
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.replication import (
    IsrExpanded,
    ReplicationThrottleBegan,
    ReplicationThrottleEnded,
)

T0 = TopicPartition("t", 0)
MB = 1_000_000
RECORD = 20_000
SET, DELETE = 0, 1
TOPIC, BROKER = 2, 4
SESSION_IS_OVER_MS = 10_000
WINDOW_MS = 11_000


class World:
    def __init__(self, **properties: str) -> None:
        named = {name.replace("_", "."): value for name, value in properties.items()}
        self.cluster = SimCluster(5, (1, 2, 3), {"zookeeper.session.timeout.ms": "4000", **named})
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        replicas = CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2])
        topic = CreatableTopic(
            name="t", num_partitions=-1, replication_factor=-1, assignments=[replicas]
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        assert self.ask(request, 4, CreateTopicsResponse).topics[0].error_code == 0
        self.cluster.advance(2000)

    def ask(self, request, version, response, to: int = 1):
        async def ask():
            wire = NetworkClient(self.cluster.network.transport(), "admin")
            await wire.connect("127.0.0.1", self.cluster.port(to), 1000)
            try:
                return await wire.ask(request, version, response, 30_000)
            finally:
                wire.close()

        return self.cluster.run_as(self.client.process, ask())

    def configure(self, kind: int, name: str, **configs: str | None) -> None:
        """Set configs, or remove those that are None."""
        resource = AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                AlterableConfig(
                    name=key.replace("_", "."),
                    config_operation=DELETE if value is None else SET,
                    value=value,
                )
                for key, value in configs.items()
            ],
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        to = int(name) if kind == BROKER else 1
        response = self.ask(request, 1, IncrementalAlterConfigsResponse, to)
        assert response.responses[0].error_code == 0, response
        self.cluster.advance(500)

    def lose_follower(self, megabytes: int = 30) -> None:
        """Kill broker 2, and write records of 20 kB when it has left the ISR."""
        self.cluster.kill(2)
        self.cluster.advance(SESSION_IS_OVER_MS)
        assert self.partition(1).isr == (1,)
        for _ in range(megabytes * MB // RECORD):
            self.client.produce(T0, "x" * RECORD, 1)
            self.cluster.advance(20)

    def start_follower(self) -> None:
        """Start broker 2. Return as soon as it follows again."""
        self.cluster.start(2)
        while self.find_partition(2) is None:
            self.cluster.advance(1)

    def find_partition(self, broker_id: int) -> Partition | None:
        replication = self.cluster.brokers[broker_id].running.replication
        assert replication is not None
        return replication.replicas.partitions.get(T0)

    def partition(self, broker_id: int) -> Partition:
        partition = self.find_partition(broker_id)
        assert partition is not None
        return partition

    def log_bytes(self) -> int:
        return self.partition(2).local_log().size

    def copied(self, seconds: int) -> list[int]:
        """Return the bytes that the follower copied in each of the next seconds."""
        sizes = [self.log_bytes()]
        for _ in range(seconds):
            self.cluster.advance(1000)
            sizes.append(self.log_bytes())
        return [after - before for before, after in pairwise(sizes)]


@pytest.fixture
def worlds() -> Iterator[list[World]]:
    made: list[World] = []
    yield made
    for world in made:
        world.cluster.close()


def throttle(world: World, side: str, rate: int | None, broker_id: int) -> None:
    key = f"{side}_replication_throttled"
    world.configure(TOPIC, "t", **{f"{key}_replicas": f"0:{broker_id}" if rate else None})
    world.configure(BROKER, str(broker_id), **{f"{key}_rate": str(rate) if rate else None})


@pytest.mark.parametrize(("side", "broker_id"), [("leader", 1), ("follower", 2)])
def test_a_follower_catches_up_within_10_percent_of_the_rate_over_10_seconds(
    worlds: list[World], side: str, broker_id: int
) -> None:
    worlds.append(world := World())
    throttle(world, side, MB, broker_id)
    world.lose_follower()
    world.start_follower()
    copied = world.copied(20)
    assert 0.9 * 10 * MB <= sum(copied[:10]) <= 1.1 * 10 * MB, copied
    assert 0.9 * 10 * MB <= sum(copied[10:]) <= 1.1 * 10 * MB, copied
    assert world.partition(1).isr == (1,)
    world.cluster.advance(14_000)
    assert world.log_bytes() == world.partition(1).local_log().size > 30 * MB
    assert set(world.partition(1).isr) == {1, 2}
    world.cluster.advance(2 * WINDOW_MS)
    [began] = world.cluster.facts(ReplicationThrottleBegan)
    [ended] = world.cluster.facts(ReplicationThrottleEnded)
    assert began.source == ended.source == Source.of_broker(broker_id)
    assert began.event[0] == side
    assert isinstance(ended.event, ReplicationThrottleEnded)
    assert 25_000 < ended.event.lasted_ms < 34_000
    assert 27 * MB < ended.event.bytes < 32 * MB


def test_without_a_throttle_the_same_copy_takes_a_second(worlds: list[World]) -> None:
    worlds.append(world := World())
    world.lose_follower()
    world.start_follower()
    assert sum(world.copied(1)) > 10 * MB
    assert world.cluster.facts(ReplicationThrottleBegan) == []


def test_a_rate_can_change_and_go_while_the_copy_runs(worlds: list[World]) -> None:
    worlds.append(world := World(replica_fetch_max_bytes="101000"))
    throttle(world, "leader", 200_000, 1)
    world.lose_follower(15)
    world.start_follower()
    slow = sum(world.copied(10))
    assert 0.9 * 2 * MB <= slow <= 1.1 * 2 * MB
    world.configure(BROKER, "1", leader_replication_throttled_rate="500000")
    world.copied(5)
    faster = sum(world.copied(10))
    assert 0.9 * 5 * MB <= faster <= 1.1 * 5 * MB
    world.configure(BROKER, "1", leader_replication_throttled_rate=None)
    world.cluster.advance(2000)
    assert world.log_bytes() == world.partition(1).local_log().size
    [ended] = world.cluster.facts(ReplicationThrottleEnded)
    assert ended.event[-1] == "its rate was removed"


def test_a_replica_in_sync_is_not_throttled_whatever_the_rate(worlds: list[World]) -> None:
    worlds.append(world := World())
    throttle(world, "leader", 1, 1)
    throttle(world, "follower", 1, 2)
    for _ in range(20):
        answer = world.client.produce(T0, "x" * RECORD, -1)
        world.cluster.advance(100)
        assert answer.acked is not None, "acks=all waits for no throttle"
    assert world.cluster.facts(ReplicationThrottleBegan) == []
    assert set(world.partition(1).isr) == {1, 2}


def test_a_throttle_of_another_replica_holds_nothing_back(worlds: list[World]) -> None:
    worlds.append(world := World())
    world.configure(TOPIC, "t", leader_replication_throttled_replicas="0:3,1:1")
    world.configure(BROKER, "1", leader_replication_throttled_rate="1")
    world.lose_follower(5)
    world.start_follower()
    world.cluster.advance(1000)
    assert world.cluster.facts(IsrExpanded)
    assert world.cluster.facts(ReplicationThrottleBegan) == []


def test_a_throttle_is_known_again_after_a_restart(worlds: list[World]) -> None:
    worlds.append(world := World(replica_fetch_max_bytes="101000"))
    throttle(world, "follower", 200_000, 2)
    world.lose_follower(5)
    for _ in range(2):
        world.start_follower()
        before = world.log_bytes()
        world.cluster.advance(5000)
        assert world.log_bytes() - before <= 1_300_000
        world.cluster.kill(2)
        world.cluster.advance(SESSION_IS_OVER_MS)
