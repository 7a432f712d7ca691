"""The client contract with kafka-python 3, unmodified. For snappy, lz4 and zstd it needs libraries
from the dependency group dev.
"""

import time
from typing import ClassVar

import kafka
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.structs import OffsetAndMetadata

from tests.interop.client_contract import (
    FIRST_TIME,
    HEADERS,
    PATIENCE_S,
    ClientContract,
    Joined,
    Offsets,
    Read,
    Topics,
    key,
    known_by_all,
    value,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.interop


class KafkaPython:
    name = f"kafka-python {kafka.__version__}"
    lacks: ClassVar[dict[str, str]] = {}

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        producer = KafkaProducer(
            bootstrap_servers=servers,
            acks="all",
            linger_ms=20,
            compression_type=None if codec == "none" else codec,
        )
        sent = [
            producer.send(
                topic,
                value(i).encode(),
                key(i).encode(),
                timestamp_ms=FIRST_TIME + i,
                headers=HEADERS,
            )
            for i in range(count)
        ]
        for future in sent:
            future.get(PATIENCE_S)
        producer.close()

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        consumer = KafkaConsumer(
            bootstrap_servers=servers,
            enable_auto_commit=False,
            consumer_timeout_ms=PATIENCE_S * 1000,
        )
        consumer.assign(
            [
                TopicPartition(topic, partition)
                for partition in sorted(consumer.partitions_for_topic(topic))
            ]
        )
        consumer.seek_to_beginning()
        found = [
            Read(r.partition, r.offset, r.key.decode(), r.value.decode())
            for _, r in zip(range(count), consumer, strict=False)
        ]
        consumer.close()
        return found

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        values: set[str] = set()
        members: list[KafkaConsumer] = []

        def poll_until(sizes: list[int]) -> list[int]:
            deadline = time.monotonic() + PATIENCE_S
            while (found := [len(member.assignment()) for member in members]) != sizes or (
                len(values) < count and len(members) == 1
            ):
                assert time.monotonic() < deadline, f"{found}, {len(values)} values"
                for member in members:
                    for records in member.poll(100).values():
                        values.update(record.value.decode() for record in records)
            return found

        for sizes in ([4], [2, 2]):
            settings = {
                "auto_offset_reset": "earliest",
                "heartbeat_interval_ms": 200,
                "session_timeout_ms": 10_000,
            }
            members.append(
                KafkaConsumer(topic, bootstrap_servers=servers, group_id=group, **settings)
            )
            both = poll_until(sizes)
        members.pop(0).close()
        (after,) = poll_until([4])
        members[0].close()
        return Joined(4, both, after, sorted(values))

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        tp = TopicPartition(topic, 0)
        consumer = KafkaConsumer(
            bootstrap_servers=servers, group_id=group, enable_auto_commit=False
        )
        consumer.assign([tp])
        consumer.commit({tp: OffsetAndMetadata(4, "", -1)})
        found = Offsets(
            consumer.committed(tp),
            consumer.beginning_offsets([tp])[tp],
            consumer.end_offsets([tp])[tp],
            consumer.offsets_for_times({tp: FIRST_TIME + 3})[tp].offset,
        )
        consumer.close()
        return found

    def topics(self, servers: str, topic: str) -> Topics:
        admin = KafkaAdminClient(bootstrap_servers=servers)
        admin.create_topics(
            [
                NewTopic(
                    topic,
                    num_partitions=3,
                    replication_factor=2,
                    topic_configs={"retention.ms": "3600000"},
                )
            ]
        )
        known_by_all(servers, topic, 3)
        (described,) = admin.describe_topics([topic])
        configs = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        admin.delete_topics([topic])
        wait_for(lambda: topic not in admin.list_topics(), f"{topic} is still there")
        admin.close()
        return Topics(
            len(described["partitions"]), configs["topic"][topic]["retention.ms"]["value"], True
        )


class TestKafkaPython(ClientContract):
    client = KafkaPython()
