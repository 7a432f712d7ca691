"""A log dir of one of three brokers dies at some operation, in virtual time.

The broker continues with its other dir, and no acked record is lost. From a random operation on,
everything below the dir raises OSError, also on open files. A record is acked by all in-sync
replicas, at least two.
"""

import random
from collections.abc import Awaitable

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from kafka_edu.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from kafka_edu.server.broker_state import BrokerState
from kafka_edu.sim.sim_client import Answer, SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.log import LogDirFailed
from kafka_edu.trace.events.replication import PartitionOffline

PROPERTIES = {
    "log.dirs": "/a,/b",
    "min.insync.replicas": "2",
    "log.segment.bytes": "400",
    "log.index.size.max.bytes": "480",
    "log.index.interval.bytes": "100",
    "log.flush.interval.messages": "3",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "file.delete.delay.ms": "500",
    "log.segment.delete.delay.ms": "500",
}
PARTITIONS = [TopicPartition("t", number) for number in range(4)]
ROUNDS = 40


class World:
    """Three brokers with two log dirs each, one client, and its acked records."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.cluster = SimCluster(seed, (1, 2, 3), PROPERTIES)
        self.cluster.start_all()
        self.client = SimClient(self.cluster)
        self.sent: list[tuple[TopicPartition, Answer]] = []
        assert self.create("t", 4) is Errors.NONE
        assert self.create("doomed", 2) is Errors.NONE
        self.cluster.advance(1000)

    def create(self, topic: str, partitions: int) -> Errors:
        return self.cluster.run_as(
            self.client.process, self.client.create_topic(topic, partitions, 3)
        )

    def delete(self, topic: str) -> None:
        async def ask() -> None:
            network = NetworkClient(self.cluster.network.transport(), "script")
            controller = (await self.client.metadata(topic)).controller_id
            await network.connect("127.0.0.1", self.cluster.port(controller), 1000)
            await network.ask(
                DeleteTopicsRequest(topic_names=[topic], timeout_ms=100),
                3,
                DeleteTopicsResponse,
                30_000,
            )
            network.close()

        asking: Awaitable[None] = ask()
        self.cluster.run_as(self.client.process, asking)

    def work(self, rounds: int) -> None:
        for _ in range(rounds):
            tp = self.rng.choice(PARTITIONS)
            self.sent.append(
                (
                    tp,
                    self.client.produce(
                        tp, f"{tp} {len(self.sent)} {'.' * self.rng.randint(0, 200)}", -1
                    ),
                )
            )
            self.cluster.advance(self.rng.choice((0, 1, 20, 100, 400)))

    def errors_of_dirs(self, broker_id: int) -> dict[str, Errors]:
        async def ask() -> dict[str, Errors]:
            network = NetworkClient(self.cluster.network.transport(), "script")
            await network.connect("127.0.0.1", self.cluster.port(broker_id), 1000)
            answer = await network.ask(
                DescribeLogDirsRequest(topics=None), 1, DescribeLogDirsResponse, 30_000
            )
            network.close()
            return {result.log_dir: Errors.of(result.error_code) for result in answer.results}

        asking: Awaitable[dict[str, Errors]] = ask()
        return self.cluster.run_as(self.client.process, asking)

    def check_records(self) -> None:
        """Check that every acked record is where its ack said, and that each partition has a
        leader.
        """
        for tp in PARTITIONS:
            stored = dict(self.cluster.run_as(self.client.process, self.client.consume(tp)))
            for sent_to, answer in self.sent:
                if sent_to == tp and answer.acked is not None and answer.acked.error is Errors.NONE:
                    assert stored.get(answer.acked.offset) == answer.value, (tp, answer.acked)


#: The fast tests play four seeds, the slow ones the others.
SEEDS = [*range(4), *(pytest.param(seed, marks=pytest.mark.faults) for seed in range(4, 12))]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_dir_dies_at_any_operation(seed: int) -> None:
    world = World(seed)
    cluster, rng = world.cluster, world.rng
    victim, log_dir = rng.choice((1, 2, 3)), rng.choice(("/a", "/b"))
    disk = cluster.brokers[victim].file_system
    world.work(10)
    in_dir = {tp for tp in PARTITIONS if disk.is_dir(f"{log_dir}/{tp}")}
    disk.break_folder(log_dir, after=rng.randint(0, 150))
    topics = rng.sample(("delete", "create", "nothing"), 3)
    for act in topics:
        world.work(ROUNDS // 4)
        if act == "delete":
            world.delete("doomed")
        elif act == "create":
            world.create("fresh", 2)
    world.work(ROUNDS // 4)
    disk.break_folder(log_dir)  # if the operations were not used up
    cluster.advance(5000)
    world.work(10)
    cluster.advance(5000)
    server = cluster.brokers[victim].running
    assert (server.state, server.failure) == (BrokerState.RUNNING, "")
    failed = [e for e in cluster.facts(LogDirFailed) if e.broker == victim]
    assert [e.event.log_dir for e in failed if isinstance(e.event, LogDirFailed)] == [log_dir]
    offline = {
        TopicPartition(e.event.topic, e.event.partition)
        for e in cluster.facts(PartitionOffline)
        if isinstance(e.event, PartitionOffline)
    }
    assert offline & set(PARTITIONS) == in_dir
    other = "/b" if log_dir == "/a" else "/a"
    assert world.errors_of_dirs(victim) == {log_dir: Errors.KAFKA_STORAGE_ERROR, other: Errors.NONE}
    assert (
        sum(
            answer.acked is not None and answer.acked.error is Errors.NONE
            for _, answer in world.sent[-10:]
        )
        == 10
    )
    world.check_records()
    if rng.random() < 0.5:
        cluster.stop(victim)
    else:
        cluster.kill(victim)
    cluster.start(victim)  # the dir is still bad
    cluster.advance(10_000)
    assert cluster.brokers[victim].running.state is BrokerState.RUNNING
    assert world.errors_of_dirs(victim)[log_dir] is Errors.KAFKA_STORAGE_ERROR
    world.work(5)
    cluster.stop(victim)
    disk.mend_folder(log_dir)
    cluster.start(victim)
    cluster.advance(30_000)
    assert set(world.errors_of_dirs(victim).values()) == {Errors.NONE}
    for stopped in (broker_id for broker_id in cluster.brokers if broker_id != victim):
        cluster.kill(stopped)  # only the healed broker is left, and it has everything
    cluster.advance(20_000)
    world.check_records()
    cluster.close()


def test_the_last_dir_ends_the_broker_and_says_why() -> None:
    world = World(1)
    disk = world.cluster.brokers[2].file_system
    for log_dir in ("/a", "/b"):
        disk.break_folder(log_dir)
    world.cluster.advance(3000)
    server = world.cluster.brokers[2].running
    assert server.failed.is_set()
    assert server.failure.startswith(
        "Shutdown broker because all log dirs in /a, /b have failed: /a: "
    )
    world.cluster.close()
