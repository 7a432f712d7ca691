"""Our consumers read from real brokers while a broker is killed: no acknowledged record is lost."""

import asyncio

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.faults
PARTITIONS = 4
RECORDS = 4_000


def leader(admin: AdminClient, topic: str, partition: int) -> int:
    """Return the leader of a partition, or -1 if there is none yet."""
    found = admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    return found[partition].leader if partition in found else -1


async def produce(servers: str, half: asyncio.Event) -> dict[int, list[str]]:
    """Send records, and set `half` when half of them are acknowledged. Return what was sent."""
    sent: dict[int, list[str]] = {partition: [] for partition in range(PARTITIONS)}
    async with Producer(
        {"bootstrap.servers": servers, "enable.idempotence": True, "request.timeout.ms": 10_000}
    ) as producer:
        futures = []
        for number in range(RECORDS):
            partition = number % PARTITIONS
            sent[partition].append(f"{number}")
            futures.append(await producer.send("t", f"{number}", partition=partition))
            if number == RECORDS // 2:
                await futures[-1]
                half.set()
        for future in futures:
            await future
    return sent


async def consume(
    servers: str, seen: dict[int, dict[int, str]], assigned: list[list[TopicPartition]]
) -> None:
    """Read as a member of the group until all records are there."""
    settings = {
        "bootstrap.servers": servers,
        "group.id": "readers",
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 200,
        "request.timeout.ms": 10_000,
        "max.poll.records": 100,
    }
    async with Consumer(settings) as consumer:
        consumer.subscribe(["t"], on_assigned=lambda tps: assigned.append(list(tps)))
        while sum(map(len, seen.values())) < RECORDS:
            for record in await consumer.poll(200):
                assert isinstance(record.value, bytes)
                value = record.value.decode()
                assert seen[record.partition].setdefault(record.offset, value) == value


async def run(cluster: Cluster, victim: int) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    servers = cluster.bootstrap_servers
    half = asyncio.Event()
    seen: dict[int, dict[int, str]] = {partition: {} for partition in range(PARTITIONS)}
    assigned: list[list[TopicPartition]] = []
    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as tasks:
        producing = tasks.create_task(produce(servers, half))
        for _ in range(2):
            tasks.create_task(consume(servers, seen, assigned))
        await half.wait()
        cluster.kill(victim)
    assert sorted(map(len, assigned))[-1] >= 2
    in_order = {p: [values[offset] for offset in sorted(values)] for p, values in seen.items()}
    return producing.result(), in_order


def test_a_killed_coordinator_loses_nothing() -> None:
    props = {
        "zookeeper.session.timeout.ms": "6000",
        "offsets.topic.num.partitions": "1",
        "group.initial.rebalance.delay.ms": "0",
    }
    with running_cluster("own-consumer", brokers=3, props=props) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        new = NewTopic("t", PARTITIONS, 3, config={"min.insync.replicas": "2"})
        admin.create_topics([new], operation_timeout=PATIENCE_S)["t"].result(PATIENCE_S)
        asyncio.run(first_commit(cluster.bootstrap_servers))
        coordinator = leader(admin, "__consumer_offsets", 0)
        wait_for(lambda: leader(admin, "t", 0) + 1, "partition 0 has a leader")
        sent, seen = asyncio.run(run(cluster, coordinator))
    assert seen == sent


async def first_commit(servers: str) -> None:
    """Let the brokers create `__consumer_offsets`."""
    async with Consumer({"bootstrap.servers": servers, "group.id": "readers"}) as consumer:
        assert await consumer.committed([TopicPartition("t", 0)]) == {}
