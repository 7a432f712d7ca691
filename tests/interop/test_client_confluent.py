"""The client contract with confluent-kafka (librdkafka), unmodified."""

import time
from typing import Any, ClassVar

import confluent_kafka
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

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
    rd,
    read_all,
    value,
)
from tests.waiting import wait_for

pytestmark = pytest.mark.interop


class Confluent:
    name = f"confluent-kafka {confluent_kafka.__version__} (librdkafka)"
    lacks: ClassVar[dict[str, str]] = {}

    def produce(self, servers: str, topic: str, count: int, codec: str) -> None:
        errors: list[object] = []
        producer = Producer(rd(servers, acks="all", linger_ms=20, compression_type=codec))
        for i in range(count):
            producer.produce(
                topic,
                value(i),
                key(i),
                timestamp=FIRST_TIME + i,
                headers=HEADERS,
                on_delivery=lambda error, _: errors.append(error),
            )
        assert producer.flush(PATIENCE_S) == 0
        assert errors == [None] * count

    def consume(self, servers: str, topic: str, count: int) -> list[Read]:
        return [
            Read(m.partition(), m.offset(), m.key().decode(), m.value().decode())
            for m in read_all(servers, topic, 3, count)
        ]

    def join(self, servers: str, topic: str, group: str, count: int) -> Joined:
        values: set[str] = set()
        members: list[Any] = []

        def poll_until(sizes: list[int]) -> list[int]:
            deadline = time.monotonic() + PATIENCE_S
            while (found := [len(member.assignment()) for member in members]) != sizes or (
                len(values) < count and len(members) == 1
            ):
                assert time.monotonic() < deadline, f"{found}, {len(values)} values"
                for member in members:
                    values.update(message.value().decode() for message in member.consume(100, 0.1))
            return found

        for sizes in ([4], [2, 2]):
            members.append(
                Consumer(
                    rd(
                        servers,
                        group_id=group,
                        auto_offset_reset="earliest",
                        session_timeout_ms=10_000,
                    )
                )
            )
            members[-1].subscribe([topic])
            poll_until(sizes)
        both = [len(member.assignment()) for member in members]
        members.pop(0).close()
        (after,) = poll_until([4])
        members[0].close()
        return Joined(4, both, after, sorted(values))

    def offsets(self, servers: str, topic: str, group: str) -> Offsets:
        consumer = Consumer(rd(servers, group_id=group, enable_auto_commit=False))
        consumer.commit(offsets=[TopicPartition(topic, 0, 4)], asynchronous=False)
        committed = consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)[0].offset
        begin, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), PATIENCE_S)
        at_time = consumer.offsets_for_times(
            [TopicPartition(topic, 0, FIRST_TIME + 3)], PATIENCE_S
        )[0].offset
        consumer.close()
        return Offsets(committed, begin, end, at_time)

    def topics(self, servers: str, topic: str) -> Topics:
        admin = AdminClient(rd(servers))
        admin.create_topics([NewTopic(topic, 3, 2, config={"retention.ms": "3600000"})])[
            topic
        ].result(PATIENCE_S)
        known_by_all(servers, topic, 3)
        partitions = len(admin.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions)
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        retention = (
            admin.describe_configs([resource])[resource].result(PATIENCE_S)["retention.ms"].value
        )
        admin.delete_topics([topic])[topic].result(PATIENCE_S)
        wait_for(
            lambda: topic not in admin.list_topics(timeout=PATIENCE_S).topics,
            f"{topic} is still there",
        )
        return Topics(partitions, retention, True)


class TestConfluent(ClientContract):
    client = Confluent()
