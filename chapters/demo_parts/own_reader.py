"""Read partitions to their end with our own consumer, with either isolation level."""

from collections.abc import Iterable, Mapping
from typing import Final

from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.common.topic_partition import TopicPartition

POLL_MS: Final = 1_000
UNCOMMITTED: Final = "read_uncommitted"
COMMITTED: Final = "read_committed"


def reader(servers: str, isolation: str = UNCOMMITTED) -> Consumer:
    """Return a consumer without a group."""
    return Consumer(
        {
            "bootstrap.servers": servers,
            "client.id": "reader",
            "isolation.level": isolation,
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
        }
    )


async def ends_of(
    servers: str, partitions: Iterable[TopicPartition], isolation: str = UNCOMMITTED
) -> dict[TopicPartition, int]:
    """Return partition → the offset up to which a consumer with this isolation may read now."""
    async with reader(servers, isolation) as consumer:
        return await consumer.end_offsets(partitions)


async def read_from(
    servers: str, start: Mapping[TopicPartition, int], isolation: str = UNCOMMITTED
) -> list[ConsumerRecord]:
    """Return the records from these offsets to the current end, in the order of arrival.

    The position also moves over markers and aborted records, which the consumer does not return.
    """
    records: list[ConsumerRecord] = []
    async with reader(servers, isolation) as consumer:
        consumer.assign(start)
        for tp, offset in start.items():
            consumer.seek(tp, offset)
        ends = await consumer.end_offsets(start)
        for tp, end in ends.items():
            while await consumer.position(tp) < end:
                records += await consumer.poll(POLL_MS)
    return [
        each for each in records if each.offset < ends[TopicPartition(each.topic, each.partition)]
    ]
