"""Measure the time from the producer's call until the consumer has the record.

A thousand records a second are sent with acks=all. At this rate no queue builds up.
"""

import struct
import threading
import time
from typing import NamedTuple

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

RATE = 1_000
RECORD_BYTES = 100
WARM_UP_S = 2.0
TIMEOUT_S = 30.0


class Latency(NamedTuple):
    """Percentiles of the latency, in ms."""

    p50: float
    p99: float


def end_to_end_latency(bootstrap: str, topic: str, partitions: int, *, seconds: float) -> Latency:
    """Measure the latency on a new topic, with confluent-kafka as producer and consumer.

    A warm-up of two seconds comes first. Raises RuntimeError if records are missing.
    """
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": f"bench-{topic}", "enable.auto.commit": False}
    )
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    total = int((WARM_UP_S + seconds) * RATE)
    filler = b"x" * (RECORD_BYTES - 8)

    def send() -> None:
        began = time.perf_counter()
        for i in range(total):
            wait = began + i / RATE - time.perf_counter()
            if wait > 0:
                time.sleep(wait)
            producer.produce(
                topic, struct.pack(">d", time.perf_counter()) + filler, partition=i % partitions
            )
            producer.poll(0)
        producer.flush(TIMEOUT_S)

    try:
        consumer.assign(
            [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)]
        )
        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        latencies: list[float] = []
        while len(latencies) < total:
            message = consumer.poll(TIMEOUT_S)
            now = time.perf_counter()
            if message is None:
                raise RuntimeError(f"{len(latencies)} of {total} records came")
            value = message.value()
            assert value is not None
            if len(value) < RECORD_BYTES:
                continue  # This record waited until the topic had leaders.
            latencies.append((now - struct.unpack_from(">d", value)[0]) * 1000)
        sender.join()
    finally:
        consumer.close()
    counted = sorted(latencies[int(WARM_UP_S * RATE) :])
    return Latency(counted[len(counted) // 2], counted[len(counted) * 99 // 100])
