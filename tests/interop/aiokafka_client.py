"""Drive aiokafka, unmodified. The import needs the dependency group dev, so call
`external_programs.python_package` first.
"""

import asyncio
from typing import Any, ClassVar

import aiokafka
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from tests.interop.client_contract import (
    FIRST_TIME,
    HEADERS,
    PATIENCE_S,
    Joined,
    Offsets,
    Read,
    Topics,
    key,
    known_by_all,
    value,
)
from tests.waiting import LOOK_EVERY_S


class AioKafka:
    name = f"aiokafka {aiokafka.__version__}"
    lacks: ClassVar[dict[str, str]] = {}

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        async def body() -> None:
            settings = {
                "acks": "all",
                "linger_ms": 20,
                "compression_type": None if codec == "none" else codec,
            }
            async with aiokafka.AIOKafkaProducer(bootstrap_servers=servers, **settings) as producer:
                sent = [
                    await producer.send(
                        topic,
                        value(i).encode(),
                        key(i).encode(),
                        timestamp_ms=FIRST_TIME + i,
                        headers=HEADERS,
                    )
                    for i in range(count)
                ]
                await asyncio.wait_for(asyncio.gather(*sent), PATIENCE_S)

        asyncio.run(body())

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        async def body() -> list[Read]:
            consumer = aiokafka.AIOKafkaConsumer(
                bootstrap_servers=servers, enable_auto_commit=False
            )
            async with asyncio.timeout(PATIENCE_S), consumer:
                consumer.assign(
                    [aiokafka.TopicPartition(topic, partition) for partition in range(3)]
                )
                await consumer.seek_to_beginning()
                records = [await consumer.getone() for _ in range(count)]
            return [Read(r.partition, r.offset, r.key.decode(), r.value.decode()) for r in records]

        return asyncio.run(body())

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        values: set[str] = set()
        members: list[Any] = []

        async def poll_until(sizes: list[int]) -> list[int]:
            async with asyncio.timeout(PATIENCE_S):
                while (found := [len(member.assignment()) for member in members]) != sizes or (
                    len(values) < count and len(members) == 1
                ):
                    for member in members:
                        for records in (await member.getmany(timeout_ms=100)).values():
                            values.update(record.value.decode() for record in records)
            return found

        async def body() -> Joined:
            for sizes in ([4], [2, 2]):
                settings = {
                    "auto_offset_reset": "earliest",
                    "heartbeat_interval_ms": 200,
                    "session_timeout_ms": 10_000,
                }
                members.append(
                    aiokafka.AIOKafkaConsumer(
                        topic, bootstrap_servers=servers, group_id=group, **settings
                    )
                )
                starting = asyncio.create_task(
                    members[-1].start()
                )  # returns when it has joined: the first one must rejoin meanwhile
                if len(members) == 2:
                    while not starting.done():
                        values.update(
                            r.value.decode()
                            for records in (await members[0].getmany(timeout_ms=100)).values()
                            for r in records
                        )
                await starting
                both = await poll_until(sizes)
            await members.pop(0).stop()
            (after,) = await poll_until([4])
            await members[0].stop()
            return Joined(4, both, after, sorted(values))

        return asyncio.run(body())

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        async def body() -> Offsets:
            tp = aiokafka.TopicPartition(topic, 0)
            consumer = aiokafka.AIOKafkaConsumer(
                bootstrap_servers=servers, group_id=group, enable_auto_commit=False
            )
            async with asyncio.timeout(PATIENCE_S), consumer:
                consumer.assign([tp])
                await consumer.commit({tp: 4})
                return Offsets(
                    await consumer.committed(tp),
                    (await consumer.beginning_offsets([tp]))[tp],
                    (await consumer.end_offsets([tp]))[tp],
                    (await consumer.offsets_for_times({tp: FIRST_TIME + 3}))[tp].offset,
                )

        return asyncio.run(body())

    def topics(self, servers: str, topic: str) -> Topics:
        async def body() -> Topics:
            admin = AIOKafkaAdminClient(bootstrap_servers=servers)
            await admin.start()
            try:
                await admin.create_topics(
                    [NewTopic(topic, 3, 2, topic_configs={"retention.ms": "3600000"})]
                )

                await asyncio.to_thread(known_by_all, servers, topic, 3)
                (described,) = await admin.describe_topics([topic])
                (answer,) = await admin.describe_configs(
                    [ConfigResource(ConfigResourceType.TOPIC, topic)]
                )
                retention = next(
                    entry[1] for entry in answer.resources[0][4] if entry[0] == "retention.ms"
                )
                await admin.delete_topics([topic])
                async with asyncio.timeout(PATIENCE_S):
                    while topic in await admin.list_topics():
                        await asyncio.sleep(LOOK_EVERY_S)  # nothing notifies the test
                return Topics(len(described["partitions"]), retention, True)
            finally:
                await admin.close()

        return asyncio.run(body())
