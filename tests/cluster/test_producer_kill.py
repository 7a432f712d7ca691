"""Our producer on real brokers while a leader is killed: each acknowledged record is stored exactly
once.
"""

import asyncio

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from kafka_edu.clients.producer.producer import Producer
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.faults
PARTITIONS = 3
RECORDS_BEFORE, RECORDS_AFTER = 3_000, 3_000


def leader(admin: AdminClient, partition: int) -> int:
    topic = admin.list_topics("t", timeout=PATIENCE_S).topics["t"]
    return topic.partitions[partition].leader if partition in topic.partitions else -1


def read_all(servers: str) -> dict[int, list[tuple[int, str]]]:
    consumer = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": "check",
            "enable.auto.commit": False,  # the group's coordinator may be the broker that is dead
            "log_level": 0,
        }
    )
    found: dict[int, list[tuple[int, str]]] = {}
    for partition in range(PARTITIONS):
        tp = TopicPartition("t", partition, 0)
        _, end = consumer.get_watermark_offsets(tp, timeout=PATIENCE_S)
        consumer.assign([tp])
        read: list[tuple[int, str]] = []
        while len(read) < end:
            message = consumer.poll(PATIENCE_S)
            assert message is not None
            assert message.error() is None, message.error()
            read.append((message.offset(), (message.value() or b"").decode()))
        found[partition] = read
    consumer.close()
    return found


async def produce(cluster: Cluster, victim: int) -> dict[int, list[tuple[int, str]]]:
    """Send records, kill the leader of partition 0 after some of them, and return the acknowledged
    ones.
    """
    acked: dict[int, list[tuple[int, str]]] = {p: [] for p in range(PARTITIONS)}
    futures = []
    async with Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "enable.idempotence": True,
            "batch.size": 1_000,
            "linger.ms": 1,
            "request.timeout.ms": 10_000,
        }
    ) as producer:
        for number in range(RECORDS_BEFORE + RECORDS_AFTER):
            if number == RECORDS_BEFORE:
                await futures[-1][1]
                cluster.kill(victim)
            partition = number % PARTITIONS
            value = f"{number}"
            futures.append((value, await producer.send("t", value, partition=partition)))
        for value, future in futures:
            found = await future
            acked[found.partition].append((found.offset, value))
    return acked


def test_a_killed_leader_loses_and_doubles_nothing() -> None:
    props = {"zookeeper.session.timeout.ms": "6000"}
    with running_cluster("own-producer", brokers=3, props=props) as cluster:
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers, "log_level": 0})
        new = NewTopic("t", PARTITIONS, 3, config={"min.insync.replicas": "2"})
        admin.create_topics([new], operation_timeout=PATIENCE_S)["t"].result(PATIENCE_S)
        victim = wait_for(lambda: leader(admin, 0) + 1, "partition 0 has a leader") - 1
        acked = asyncio.run(produce(cluster, victim))
        stored = read_all(cluster.bootstrap_servers)
    for partition in range(PARTITIONS):
        sent = [
            str(n) for n in range(RECORDS_BEFORE + RECORDS_AFTER) if n % PARTITIONS == partition
        ]
        assert [value for _, value in stored[partition]] == sent
        assert acked[partition] == stored[partition]
