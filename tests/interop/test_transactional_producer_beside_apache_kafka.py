"""Our transactional producer on Apache Kafka 2.0.1 and 2.8.2 and on our brokers.

A program reads, processes and writes records while the transaction coordinator is killed. The
result is checked with confluent-kafka's consumer and read_committed. Zombie producers, ours and
confluent-kafka's, are fenced.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient

from benchmarks.apache_kafka import SMALL, apache_kafka
from kafka_edu.clients.client_errors import (
    ClientException,
    ProducerFencedException,
    UnsupportedVersionException,
)
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.supervisor.cluster import running_cluster
from tests.conformance.broker_processes import OF_A_SMALL_HEAP
from tests.drawn import drawn
from tests.interop.client_contract import create_topic, rd, read_to_end
from tests.interop.external_programs import apache_kafka_jars
from tests.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.interop

OURS: Final = "ours"
BROKERS: Final = ("2.0.1", "2.8.2", OURS)
PARTITIONS: Final = 3
RECORDS: Final = 150
A_TRANSACTION: Final = 10
"""The most records in one transaction."""
PROPERTIES: Final = {
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
    "zookeeper.session.timeout.ms": "6000",
}
CLIENT: Final = {"request.timeout.ms": 10_000, "retry.backoff.ms": 100}


class Brokers:
    """The addresses of three brokers, and a function that kills a broker with SIGKILL."""

    def __init__(self, servers: str, kill: Callable[[int], None]) -> None:
        self.servers = servers
        self.kill = kill

    def coordinator(self) -> int:
        """Return the broker that coordinates all transactions."""
        admin = AdminClient(rd(self.servers))

        def leader() -> int:
            topic = admin.list_topics("__transaction_state", timeout=PATIENCE_S).topics[
                "__transaction_state"
            ]
            return topic.partitions[0].leader + 1 if 0 in topic.partitions else 0

        return wait_for(leader, "the transactions have a coordinator") - 1


@contextlib.contextmanager
def three(brokers: str) -> Iterator[Brokers]:
    if brokers == OURS:
        with running_cluster("own-transactions", brokers=3, props=PROPERTIES) as ours:
            yield Brokers(ours.bootstrap_servers, ours.kill)
        return
    lines = [f"{key}={value}" for key, value in {**PROPERTIES, **OF_A_SMALL_HEAP}.items()]
    with apache_kafka(apache_kafka_jars(brokers), 3, lines, java=SMALL) as kafka:
        yield Brokers(kafka.bootstrap, kafka.kill)


class Run:
    """One run that reads, processes and writes all records. If a producer fails, the run continues
    with a new producer.
    """

    def __init__(self, brokers: Brokers, whole_membership: bool) -> None:
        self._brokers = brokers
        self._whole_membership = whole_membership
        self.killed = -1
        self.committed = 0
        self.aborted = 0
        self.given_up: list[str] = []

    def _settings(self, more: Mapping[str, object]) -> dict[str, object]:
        return {"bootstrap.servers": self._brokers.servers} | CLIENT | dict(more)

    async def feed(self) -> None:
        async with Producer(self._settings({"enable.idempotence": True})) as producer:
            futures = [
                await producer.send("in", f"{number}", partition=number % PARTITIONS)
                for number in range(RECORDS)
            ]
            for future in futures:
                await future

    async def whole(self) -> None:
        await self.feed()
        while not await self._with_one_producer():
            pass

    async def _with_one_producer(self) -> bool:
        reading = {
            "group.id": "rpw",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "max.poll.records": A_TRANSACTION,
        }
        async with (
            Consumer(self._settings(reading)) as consumer,
            Producer(self._settings({"transactional.id": "rpw"})) as producer,
        ):
            try:
                await producer.init_transactions()
                consumer.subscribe(["in"])
                return await self._transactions(consumer, producer)
            except ClientException as error:
                self.given_up.append(str(error))
                return False

    async def _transactions(self, consumer: Consumer, producer: Producer) -> bool:
        tps = [TopicPartition("in", partition) for partition in range(PARTITIONS)]
        while True:
            done = await consumer.committed(tps)
            if sum(each.offset for each in done.values()) == RECORDS:
                return True
            records = await consumer.poll(1_000)
            if not records:
                continue
            ends = {
                TopicPartition("in", each.partition): OffsetAndMetadata(each.offset + 1)
                for each in records
            }
            group = consumer.group_metadata()
            producer.begin_transaction()
            for record in records:
                assert isinstance(record.value, bytes)
                await producer.send("out", record.value, partition=record.partition)
            await producer.send_offsets_to_transaction(
                ends, group if self._whole_membership else group.group_id
            )
            if self.aborted == 0 and self.committed == 2:
                await producer.flush()
                await producer.abort_transaction()
                self.aborted += 1
                for record in reversed(records):  # they are read again
                    consumer.seek(TopicPartition("in", record.partition), record.offset)
                continue
            if self.killed < 0 and self.committed == 4:
                self.killed = await asyncio.to_thread(self._brokers.coordinator)
                await asyncio.to_thread(self._brokers.kill, self.killed)
            await producer.commit_transaction()
            self.committed += 1


def in_order(values: list[str], partition: int) -> list[int]:
    return [int(value) for value in values if int(value) % PARTITIONS == partition]


async def ours_is_fenced(servers: str) -> str:
    """Return the error of our producer, which a producer of confluent-kafka has fenced."""
    async with Producer({"bootstrap.servers": servers, "transactional.id": "zombie"}) as producer:
        await producer.init_transactions()
        producer.begin_transaction()
        await (await producer.send("zombies", "of ours"))
        newer = confluent_kafka.Producer(rd(servers, transactional_id="zombie"))
        await asyncio.to_thread(newer.init_transactions, PATIENCE_S)
        with pytest.raises(ProducerFencedException) as fenced:
            await producer.commit_transaction()
        return str(fenced.value)


async def confluent_is_fenced(servers: str) -> confluent_kafka.KafkaError:
    """Return the error of confluent-kafka's producer, which ours has fenced."""
    zombie = confluent_kafka.Producer(rd(servers, transactional_id="zombie"))
    await asyncio.to_thread(zombie.init_transactions, PATIENCE_S)
    zombie.begin_transaction()
    zombie.produce("zombies", "of confluent-kafka")
    await asyncio.to_thread(zombie.flush, PATIENCE_S)
    async with Producer({"bootstrap.servers": servers, "transactional.id": "zombie"}) as producer:
        await producer.init_transactions()
        with pytest.raises(confluent_kafka.KafkaException) as fenced:
            await asyncio.to_thread(zombie.commit_transaction, PATIENCE_S)
        async with producer.transaction():
            await producer.send("zombies", "of the newest")
    error = fenced.value.args[0]
    assert isinstance(error, confluent_kafka.KafkaError)
    return error


async def membership_is_refused(servers: str) -> None:
    """A broker before Kafka 2.5 cannot get the consumer's group membership together with the
    offsets of a transaction. So the call is refused.
    """
    settings = {"bootstrap.servers": servers, "group.id": "old", "auto.offset.reset": "earliest"}
    async with (
        Consumer(settings) as consumer,
        Producer({"bootstrap.servers": servers, "transactional.id": "old"}) as producer,
    ):
        consumer.subscribe(["in"])
        while not await consumer.poll(1_000):
            pass
        await producer.init_transactions()
        producer.begin_transaction()
        with pytest.raises(UnsupportedVersionException, match="only the group's name"):
            await producer.send_offsets_to_transaction(
                {TopicPartition("in", 0): OffsetAndMetadata(1)}, consumer.group_metadata()
            )


@pytest.mark.rotated
@pytest.mark.parametrize("version", drawn(BROKERS, 2))
def test_read_process_write_survives_the_coordinators_death(version: str) -> None:
    with three(version) as brokers:
        for topic in ("in", "out", "zombies"):
            create_topic(brokers.servers, topic, PARTITIONS)
        run = Run(brokers, whole_membership=version != "2.0.1")
        asyncio.run(run.whole())
        assert run.killed >= 0
        assert run.aborted == 1
        read = read_to_end(brokers.servers, "out", "read_committed", PARTITIONS, RECORDS)
        for partition in range(PARTITIONS):
            assert in_order(read, partition) == list(range(partition, RECORDS, PARTITIONS))
        assert len(read) == RECORDS
        # The aborted records are in the log, but read_committed does not show them.
        assert len(read_to_end(brokers.servers, "out", "read_uncommitted", PARTITIONS)) > RECORDS
        assert asyncio.run(ours_is_fenced(brokers.servers)).startswith("PRODUCER_FENCED: ")
        error = asyncio.run(confluent_is_fenced(brokers.servers))
        assert error.code() == confluent_kafka.KafkaError._FENCED
        assert read_to_end(brokers.servers, "zombies", "read_committed", PARTITIONS, 1) == [
            "of the newest"
        ]
        if version == "2.0.1":
            asyncio.run(membership_is_refused(brokers.servers))
