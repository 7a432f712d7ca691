"""A program that sends ten records and ends. It calls no close(), and checks no results.

    python -m chapters.ch12_producer.hasty_program SERVERS TOPIC

It prints how often it called send(), and how many callbacks were called before it ended.
"""

import asyncio
import sys
from typing import Final

from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException

RECORDS: Final = 10
LINGER_MS: Final = 60_000


async def send(servers: str, topic: str) -> None:
    """Send the records to partition 0, and end while they wait in the accumulator."""
    calls: list[RecordMetadata | None] = []

    def called(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
        calls.append(metadata)

    settings = {"bootstrap.servers": servers, "client.id": "hasty", "linger.ms": LINGER_MS}
    producer = await Producer(settings).start()
    for number in range(RECORDS):
        await producer.send(topic, b"line %d" % number, partition=0, on_delivery=called)
    print(RECORDS, len(calls))


if __name__ == "__main__":
    asyncio.run(send(*sys.argv[1:]))
