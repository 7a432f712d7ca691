"""Our consumer on Apache Kafka 2.0.1 and 2.8.2 and on our brokers, alone and in groups with
confluent-kafka's consumer.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Final

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import running_cluster
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.interop

OURS: Final = "ours"
BROKERS: Final = ("2.0.1", "2.8.2", OURS)
SHARED_BY: Final = ("roundrobin", "cooperative-sticky")
"""Assignors of a group with a foreign member. Its topic and its group have the same name."""
PARTITIONS: Final = 6
RECORDS: Final = 300
HEADERS: Final[list[tuple[str, str | bytes | None]]] = [("name", b"value"), ("nothing", None)]
FIRST_MS: Final = 1_700_000_000_000
PROPERTIES: Final = {
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
}


@contextlib.contextmanager
def cluster(brokers: str) -> Iterator[str]:
    """Yield the bootstrap servers of one broker."""
    if brokers == OURS:
        with running_cluster("own-consumer", brokers=1, props=PROPERTIES) as ours:
            yield ours.bootstrap_servers
        return
    lines = [f"{key}={value}" for key, value in {**PROPERTIES, **OF_A_SMALL_HEAP}.items()]
    with apache_kafka(apache_kafka_jars(brokers), 1, lines, java=SMALL) as kafka:
        yield kafka.bootstrap


def create(servers: str, *topics: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    made = admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in topics])
    for future in made.values():
        future.result(PATIENCE_S)


def produce(servers: str, topic: str, codec: str, first: int, count: int) -> None:
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": servers, "compression.type": codec, "linger.ms": 5, "log_level": 0}
    )
    for number in range(first, first + count):
        producer.produce(
            topic,
            f"{number}",
            f"key {number}",
            number % PARTITIONS,
            timestamp=FIRST_MS + number,
            headers=HEADERS,
        )
    assert producer.flush(PATIENCE_S) == 0


async def read(consumer: Consumer, count: int) -> list[ConsumerRecord]:
    found: list[ConsumerRecord] = []
    while len(found) < count:
        polled = await consumer.poll(PATIENCE_S * 1_000)
        assert polled, f"only {len(found)} of {count} records came"
        found += polled
    return found


async def reads_every_codec(servers: str, codecs: list[str]) -> None:
    settings = {
        "bootstrap.servers": servers,
        "group.id": "codecs",
        "auto.offset.reset": "earliest",
        "value.deserializer": lambda value: int(value),
        "partition.assignment.strategy": "sticky",
    }
    total = RECORDS * len(codecs)
    async with Consumer(settings) as consumer:
        consumer.subscribe(["codecs"])
        records = await read(consumer, total)
        assert sorted(record.value for record in records if isinstance(record.value, int)) == list(
            range(total)
        )
        for record in records:
            assert isinstance(record.value, int)
            assert record.key == f"key {record.value}".encode()
            assert record.timestamp == FIRST_MS + record.value
            assert list(record.headers) == HEADERS
        tps = consumer.assignment()
        assert tps == [TopicPartition("codecs", number) for number in range(PARTITIONS)]
        end = total // PARTITIONS
        assert await consumer.end_offsets(tps) == dict.fromkeys(tps, end)
        times = await consumer.offsets_for_times({tps[1]: FIRST_MS + 2})
        assert times[tps[1]] is not None
        consumer.seek_to_time(FIRST_MS + 2, [tps[1]])
        assert await consumer.position(tps[1]) == 1
        await read(consumer, end - 1)
        await consumer.commit()
        committed = await consumer.committed(tps)
        assert {tp: each.offset for tp, each in committed.items()} == dict.fromkeys(tps, end)
    async with Consumer(settings) as consumer:
        consumer.subscribe(["codecs"])
        while not consumer.assignment():
            await consumer.poll(100)
        assert [await consumer.position(tp) for tp in tps] == [end] * PARTITIONS


@pytest.mark.parametrize("brokers", BROKERS)
def test_it_reads_what_others_wrote_and_shares_a_group_with_them(brokers: str) -> None:
    with cluster(brokers) as servers:
        create(servers, "codecs", *SHARED_BY, "transactions")
        codecs = ["none", "gzip", "snappy", "lz4"] + ["zstd"] * (brokers != "2.0.1")
        for place, codec in enumerate(codecs):
            produce(servers, "codecs", codec, place * RECORDS, RECORDS)
        asyncio.run(reads_every_codec(servers, codecs))
        for assignor in SHARED_BY:
            shares_a_group(servers, assignor)
        reads_transactions(servers)


class Foreign:
    """A confluent-kafka consumer in a thread. It polls until it is stopped."""

    def __init__(self, servers: str, assignor: str) -> None:
        self.consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": servers,
                "group.id": assignor,
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": assignor,
                "log_level": 0,
            }
        )
        self._topic = assignor
        self.values: list[int] = []
        self.assigned = 0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Foreign":
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join(PATIENCE_S)

    def _run(self) -> None:
        self.consumer.subscribe([self._topic])
        while not self._stopping.is_set():
            message = self.consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.values.append(int(message.value() or b"-1"))
            self.assigned = len(self.consumer.assignment())
        self.consumer.close()


def shares_a_group(servers: str, assignor: str) -> None:
    """Two consumers of ours and one of confluent-kafka share a topic's partitions. After
    confluent-kafka's consumer has left, our two consumers share all of them.
    """
    values: dict[str, list[int]] = {"a": [], "b": []}

    async def members() -> None:
        settings = {
            "bootstrap.servers": servers,
            "group.id": assignor,
            "auto.offset.reset": "earliest",
            "heartbeat.interval.ms": 200,
            "partition.assignment.strategy": assignor,
            "value.deserializer": lambda value: int(value),
        }
        async with (
            Consumer(settings | {"client.id": "a"}) as a,
            Consumer(settings | {"client.id": "b"}) as b,
        ):
            a.subscribe([assignor])
            b.subscribe([assignor])

            async def poll_until(condition: Callable[[], bool]) -> None:
                async with asyncio.timeout(PATIENCE_S):
                    while not condition():
                        for name, each in (("a", a), ("b", b)):
                            for record in await each.poll(50):
                                assert isinstance(record.value, int)
                                values[name].append(record.value)

            def shares() -> tuple[int, int]:
                return len(a.assignment()), len(b.assignment())

            with Foreign(servers, assignor) as foreign:
                await poll_until(lambda: shares() == (2, 2) and foreign.assigned == 2)
                await asyncio.to_thread(produce, servers, assignor, "none", 0, 60)
                await poll_until(
                    lambda: len(values["a"]) + len(values["b"]) + len(foreign.values) == 60
                )
                each = [sorted(values["a"]), sorted(values["b"]), sorted(foreign.values)]
                assert [len(part) for part in each] == [20, 20, 20]
                assert sorted(each[0] + each[1] + each[2]) == list(range(60))
                stopping = asyncio.create_task(asyncio.to_thread(foreign.__exit__))
                await poll_until(lambda: shares() == (3, 3) and stopping.done())
            await asyncio.to_thread(produce, servers, assignor, "none", 60, 60)
            await poll_until(lambda: len(values["a"]) + len(values["b"]) == 40 + 60)

    asyncio.run(members())
    assert len([value for part in values.values() for value in part if value >= 60]) == 60


def reads_transactions(servers: str) -> None:
    """read_committed skips an aborted transaction, and read_uncommitted does not."""
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": servers, "transactional.id": "x", "log_level": 0}
    )
    producer.init_transactions(PATIENCE_S)
    for number, end in enumerate(
        (producer.commit_transaction, producer.abort_transaction, producer.commit_transaction)
    ):
        producer.begin_transaction()
        for place in range(3):
            producer.produce("transactions", f"{number}-{place}", partition=0)
        assert producer.flush(PATIENCE_S) == 0
        end(PATIENCE_S)

    async def values(isolation: str, count: int) -> list[object]:
        async with Consumer(
            {"bootstrap.servers": servers, "isolation.level": isolation}
        ) as consumer:
            tp = TopicPartition("transactions", 0)
            consumer.assign([tp])
            consumer.seek_to_beginning()
            records = await read(consumer, count)
            assert await consumer.position(tp) == (await consumer.end_offsets([tp]))[tp]
            return [record.value for record in records]

    written = [[f"{n}-{place}".encode() for place in range(3)] for n in range(3)]
    committed = asyncio.run(values("read_committed", 6))
    assert committed == written[0] + written[2]
    assert asyncio.run(values("read_uncommitted", 9)) == written[0] + written[1] + written[2]
