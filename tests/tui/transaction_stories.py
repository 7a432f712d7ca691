"""Transactional producers of ours on a real cluster: for the recording and for the live test."""

import asyncio
from collections.abc import Sequence
from typing import Final

from confluent_kafka.admin import AdminClient

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch
from kafka_edu.trace.tracer import Tracer
from tests.tui.stories import controller_of
from tests.waiting import PATIENCE_S

#: One broker coordinates all transactional ids, and no other broker has a copy of their states. So
#: another broker can be paused, and a transaction is still decided.
PROPERTIES: Final = {
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "offsets.topic.num.partitions": "1",
}
VERSION: Final = 8
"""The version of the produce request that comes too late."""


def producer_of(
    bootstrap: str,
    client: str,
    transactional_id: str,
    trace: Tracer | None = None,
    timeout_ms: int = 60_000,
) -> Producer:
    """Return a producer of transactions. `async with` starts it."""
    settings = {
        "bootstrap.servers": bootstrap,
        "client.id": client,
        "transactional.id": transactional_id,
        "transaction.timeout.ms": timeout_ms,
        "linger.ms": 0,
    }
    return Producer(settings, trace=trace)


async def make_topic(bootstrap: str, topic: str, brokers: Sequence[int], coordinator: int) -> int:
    """Create the topic with four partitions, and return the broker that leads partition 2.

    This broker is neither the coordinator nor the controller, and leads no other partition. So a
    test can pause it, and everything else continues.
    """
    busy = (coordinator, await asyncio.to_thread(controller_of, bootstrap))
    victim = next(each for each in brokers if each not in busy)
    one, other = (each for each in brokers if each != victim)
    replicas = {
        partition: [leader, *({*brokers} - {leader})]
        for partition, leader in enumerate((one, other, victim, other))
    }
    await asyncio.to_thread(make_assigned_topic, bootstrap, topic, replicas)
    return victim


async def write(producer: Producer, topic: str, partitions: Sequence[int], records: int) -> None:
    """Send records to each partition, and wait until all are acknowledged."""
    for partition in partitions:
        for number in range(records):
            await producer.send(topic, b"order %d" % number, partition=partition)
    await producer.flush()


async def write_too_late(
    bootstrap: str, transactional_id: str, topic: str, partition: int, producer: tuple[int, int]
) -> None:
    """Send a batch of a transaction whose coordinator does not have this partition.

    `producer` is a producer id with its epoch.

    This can happen if a batch was on its way when its transaction ended (KIP-890). As in Kafka 2.8,
    the leader writes the batch. So a new transaction is open in the log, and no coordinator will
    end it.
    """
    now_ms = SystemTime().milliseconds()
    batch = build_batch(
        [Record(number, now_ms, b"late", b"too late") for number in range(3)],
        producer_id=producer[0],
        producer_epoch=producer[1],
        base_sequence=0,
        is_transactional=True,
    )
    entry = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        transactional_id=transactional_id,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[entry])],
    )
    host, port = leader_address(bootstrap, topic, partition)
    client = NetworkClient(SocketTransport(), "late-batch")
    await client.connect(host, port, PATIENCE_S * 1000)
    try:
        answer = await client.ask(request, VERSION, ProduceResponse, PATIENCE_S * 1000)
        [response] = answer.responses[0].partition_responses
        assert response.error_code == 0, response
    finally:
        client.close()


def leader_address(bootstrap: str, topic: str, partition: int) -> tuple[str, int]:
    """Return host and port of a partition's leader."""
    metadata = AdminClient({"bootstrap.servers": bootstrap}).list_topics(topic, PATIENCE_S)
    broker = metadata.brokers[metadata.topics[topic].partitions[partition].leader]
    return broker.host, broker.port
