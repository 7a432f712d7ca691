"""Measure producing and consuming with confluent-kafka.

confluent-kafka is librdkafka in C with a thin layer of Python. MB are 2^20 bytes of payload.
"""

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicPartition

from .java_clients import BATCH, LINGER_MS

MEGABYTE = 1 << 20
TIMEOUT_S = 120.0
POLL_EVERY = 10_000
READ_AHEAD = {"queued.min.messages": 10_000_000, "queued.max.messages.kbytes": 1 << 20}
"""Settings for a queue that is larger than the topic.

With its defaults, librdkafka fetches nothing for a second when 100,000 records or 64 MB wait for
the application. The measured reading takes less than half a second. So with the defaults, the
result would mainly show whether this pause happened.
"""


def produce(bootstrap: str, topic: str, *, size: int, acks: str, records: int) -> float:
    """Produce records. Return the MB/s from the first record until the last acknowledgement.

    Raises RuntimeError if a record was not acknowledged.
    """
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": acks,
            "linger.ms": LINGER_MS,
            "batch.size": BATCH,
            "queue.buffering.max.messages": 1_000_000,
            "delivery.report.only.error": True,
        }
    )
    failed: list[object] = []
    payload = b"x" * size
    began = time.perf_counter()
    for i in range(records):
        while True:
            try:
                producer.produce(topic, payload, on_delivery=lambda error, _: failed.append(error))
                break
            except BufferError:
                producer.poll(0.01)
        if i % POLL_EVERY == 0:
            producer.poll(0)
    left = producer.flush(TIMEOUT_S)
    seconds = time.perf_counter() - began
    if left or failed:
        raise RuntimeError(
            f"{left} records were not acknowledged, {len(failed)} were refused: {failed[:1]}"
        )
    return records * size / MEGABYTE / seconds


def consume(bootstrap: str, topic: str, partitions: int, *, size: int, records: int) -> float:
    """Read the records of a topic.

    Return the MB/s from the first records until all have arrived.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": f"bench-{topic}",
            "enable.auto.commit": False,
            **READ_AHEAD,
        }
    )
    try:
        consumer.assign(
            [TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in range(partitions)]
        )
        first = len(consumer.consume(1, TIMEOUT_S))
        began = time.perf_counter()
        read = first
        while read < records:
            messages = consumer.consume(
                min(POLL_EVERY, records - read), 0.1
            )  # It waits until it has that many.
            for message in messages:
                if error := message.error():
                    raise KafkaException(error)
            read += len(messages)
            if time.perf_counter() - began > TIMEOUT_S:
                raise RuntimeError(f"{read} of {records} records came within {TIMEOUT_S:g} s")
        return (records - first) * size / MEGABYTE / (time.perf_counter() - began)
    finally:
        consumer.close()
