"""Measure reading a topic with our consumer, kafka-python, aiokafka and confluent-kafka.

Each client reads all partitions from their beginning, without a group, and with the same limits for
a fetch and for a poll. The measurement begins when the first records have come. confluent-kafka has
a queue that is larger than the topic (`confluent_clients`).
"""

import asyncio
import importlib
import time
from collections.abc import Callable, Mapping
from typing import Final

from kafka import KafkaConsumer
from kafka import TopicPartition as PythonPartition

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.common.topic_partition import TopicPartition

from . import confluent_clients
from .confluent_clients import MEGABYTE

PARTITION_FETCH_BYTES: Final = 1 << 20
FETCH_BYTES: Final = 50 << 20
FETCH_WAIT_MS: Final = 500
POLL_RECORDS: Final = 500
POLL_MS: Final = 1_000
TIMEOUT_S: Final = 120.0


class Reading:
    """Counts records, and measures the time from the first ones to the last."""

    def __init__(self, topic: str, records: int) -> None:
        self._topic = topic
        self._records = records
        self._first = self._read = 0
        self._began = self._deadline = 0.0

    def ended(self, count: int) -> bool:
        """Count `count` more records.

        Return whether all records have come. Raises RuntimeError after the time limit.
        """
        now = time.perf_counter()
        if not self._deadline:
            self._deadline = now + TIMEOUT_S
        if not self._read:
            self._first, self._began = count, now
        self._read += count
        if now > self._deadline:
            raise RuntimeError(
                f"{self._read} of {self._records} records of {self._topic} came within"
                f" {TIMEOUT_S:g} s. Are the brokers up?"
            )
        return self._read >= self._records

    def rate(self) -> float:
        """Return thousands of records a second."""
        return (self._read - self._first) / (time.perf_counter() - self._began) / 1_000


def ours(bootstrap: str, topic: str, partitions: int, size: int, records: int) -> float:
    """Read with our consumer. Return thousands of records a second. Raises KafkaException."""

    async def run() -> float:
        settings = {
            "bootstrap.servers": bootstrap,
            "fetch.max.wait.ms": FETCH_WAIT_MS,
            "fetch.max.bytes": FETCH_BYTES,
            "max.partition.fetch.bytes": PARTITION_FETCH_BYTES,
            "max.poll.records": POLL_RECORDS,
        }
        reading = Reading(topic, records)
        async with Consumer(settings) as consumer:
            consumer.assign([TopicPartition(topic, number) for number in range(partitions)])
            consumer.seek_to_beginning()
            while not reading.ended(len(await consumer.poll(POLL_MS))):
                pass
            return reading.rate()

    return asyncio.run(run())


def kafka_python(bootstrap: str, topic: str, partitions: int, size: int, records: int) -> float:
    """Read with kafka-python. Return thousands of records a second. Raises KafkaError."""
    consumer = KafkaConsumer(
        bootstrap_servers=bootstrap,
        fetch_max_wait_ms=FETCH_WAIT_MS,
        fetch_max_bytes=FETCH_BYTES,
        max_partition_fetch_bytes=PARTITION_FETCH_BYTES,
        max_poll_records=POLL_RECORDS,
    )
    reading = Reading(topic, records)
    try:
        consumer.assign([PythonPartition(topic, number) for number in range(partitions)])
        consumer.seek_to_beginning()
        while not reading.ended(sum(map(len, consumer.poll(POLL_MS).values()))):
            pass
        return reading.rate()
    finally:
        consumer.close()


def aiokafka(bootstrap: str, topic: str, partitions: int, size: int, records: int) -> float:
    """Read with aiokafka. Return thousands of records a second. Raises KafkaError."""
    client = importlib.import_module("aiokafka")  # a package of the group dev

    async def run() -> float:
        consumer = client.AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            fetch_max_bytes=FETCH_BYTES,
            max_partition_fetch_bytes=PARTITION_FETCH_BYTES,
        )
        reading = Reading(topic, records)
        await consumer.start()
        try:
            consumer.assign([client.TopicPartition(topic, number) for number in range(partitions)])
            await consumer.seek_to_beginning()
            count = 0
            while not reading.ended(count):
                polled = await consumer.getmany(timeout_ms=POLL_MS, max_records=POLL_RECORDS)
                count = sum(map(len, polled.values()))
            return reading.rate()
        finally:
            await consumer.stop()

    return asyncio.run(run())


def confluent(bootstrap: str, topic: str, partitions: int, size: int, records: int) -> float:
    """Read with confluent-kafka. Return thousands of records a second. Raises RuntimeError."""
    rate = confluent_clients.consume(bootstrap, topic, partitions, size=size, records=records)
    return rate * MEGABYTE / size / 1_000


ConsumerClient = Callable[[str, str, int, int, int], float]
CONSUMERS: Final[Mapping[str, ConsumerClient]] = {
    "ours": ours,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
    "confluent-kafka": confluent,
}
