"""The clients of a scenario: our own producers and consumers. Each client has a program that
records what the client sent and received.

Each client is a simulated process. It uses the same classes as a real program, over the simulated
network.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Final

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.sim.scenario.history import (
    Acked,
    Assigned,
    Commit,
    History,
    Known,
    Outcome,
    Read,
    SentRecord,
)
from kafka_edu.sim.scenario.language import ClientLine, process_names
from kafka_edu.sim.scenario.stored import NAME_HEADER, name_of
from kafka_edu.sim.seeded_random import SeededRandom
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.sim.sim_loop import SimProcess

POLL_MS: Final = 200
AGAIN_S: Final = 0.2
MOST_IN_TRANSACTION: Final = 6
ABORT_CHANCE: Final = 0.25
ASK_CHANCE: Final = 0.3
"""How often a member of a group asks for the committed offsets before it commits."""
TAKE_OVER_S: Final = (0.2, 2.0)
"""How long an instance with a shared transactional id waits before it fences the other one."""
_PRODUCER: Final[Mapping[str, object]] = {
    "retry.backoff.ms": 50,
    "request.timeout.ms": 2_000,
    "delivery.timeout.ms": 60_000,
    "max.block.ms": 10_000,
    "linger.ms": 5,
    "batch.size": 1_000,
}
_CONSUMER: Final[Mapping[str, object]] = {
    "retry.backoff.ms": 50,
    "request.timeout.ms": 3_000,
    "default.api.timeout.ms": 5_000,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    "fetch.max.wait.ms": 200,
}


class Surroundings:
    """What every client of one run uses."""

    def __init__(
        self, cluster: SimCluster, history: History, partitions: Mapping[str, int], seed: int
    ) -> None:
        self.cluster = cluster
        self.history = history
        self.partitions = partitions
        self.begun_ms = 0
        """The cluster's time when the run began. The history counts from here, as the acts do."""
        self._seed = seed
        self._made = 0

    def now_ms(self) -> int:
        return self.cluster.time.hi_res_clock_ms() - self.begun_ms

    def chance(self, name: str) -> SeededRandom:
        return SeededRandom(f"{self._seed}/{name}")

    def producer(self, name: str, settings: Mapping[str, object]) -> Producer:
        return Producer(
            {**_PRODUCER, **self._first(name), **settings},
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            chance=self._next_chance(name),
        )

    def consumer(self, name: str, settings: Mapping[str, object]) -> Consumer:
        return Consumer(
            {**_CONSUMER, **self._first(name), **settings},
            transport=self.cluster.network.transport(),
            time=self.cluster.time,
            chance=self._next_chance(name),
        )

    def tps(self, topic: str) -> list[TopicPartition]:
        return [TopicPartition(topic, number) for number in range(self.partitions[topic])]

    def _first(self, name: str) -> dict[str, object]:
        ports = map(self.cluster.port, self.cluster.brokers)
        return {
            "bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in ports),
            "client.id": name,
        }

    def _next_chance(self, name: str) -> SeededRandom:
        self._made += 1
        return self.chance(f"{name}/{self._made}")


class _Sends:
    """The records of one producer's program, with their numbers and their answers."""

    def __init__(self, around: Surroundings, name: str, line: ClientLine) -> None:
        self._around = around
        self._name = name
        self._tps = around.tps(line.topic)
        self._keys = line.keys
        self._deletes = line.deletes
        self._numbers: Counter[TopicPartition] = Counter()
        self._chance = around.chance(f"{name}/records")
        self.session = 0
        self.unanswered = 0

    async def send(self, producer: Producer, transaction: int = -1) -> None:
        """Send the next record. Raises what `Producer.send` raises."""
        key = f"k{self._key()}" if self._keys else ""
        # Records with the same key go to the same partition, as with Kafka's partitioner.
        place = int(key[1:]) if key else self._chance.randrange(len(self._tps))
        tp = self._tps[place % len(self._tps)]
        number = self._numbers[tp]
        self._numbers[tp] += 1
        name = f"{self._name}-{tp.partition}-{number}"
        history = self._around.history
        deletes = bool(self._deletes) and self._chance.randrange(100) < self._deletes
        history.sent[name] = SentRecord(
            name, self._name, tp, number, self.session, key, transaction, deletes
        )

        def on_delivery(metadata: RecordMetadata | None, error: KafkaException | None) -> None:
            self.unanswered -= 1
            if metadata is not None:
                history.acked[name] = Acked(metadata.offset, self._around.now_ms())
            else:
                history.failed[name] = str(error)

        self.unanswered += 1
        try:
            await producer.send(
                tp.topic,
                None if deletes else name.encode(),
                key.encode() if key else None,
                partition=tp.partition,
                headers=[(NAME_HEADER, name.encode())] if deletes else None,
                on_delivery=on_delivery,
            )
        except KafkaException as error:
            if name not in history.failed and name not in history.acked:
                on_delivery(None, error)
            raise

    def _key(self) -> int:
        """Draw a key. A few keys are frequent and most keys are rare, as in most topics."""
        chance = self._chance.random()
        return int(self._keys * chance * chance * chance)


class ScenarioClient(ABC):
    """One client: a simulated process, with a program that runs until `stop`."""

    def __init__(self, around: Surroundings, line: ClientLine, name: str = "") -> None:
        self.name = name or line.name
        self.process = SimProcess(self.name)
        self._around = around
        self._line = line
        self._stopping = False

    def stop(self) -> None:
        """Let the program end when nothing of it is unanswered."""
        self._stopping = True

    @abstractmethod
    async def run(self) -> None:
        """Work until `stop`, and then end in an orderly way."""


class ProducingClient(ScenarioClient):
    """Sends records at a steady rate. After a final error it begins again with a different id."""

    def __init__(self, around: Surroundings, line: ClientLine) -> None:
        super().__init__(around, line)
        self._sends = _Sends(around, line.name, line)

    async def run(self) -> None:
        settings: dict[str, object] = {
            "acks": self._line.acks,
            "enable.idempotence": self._line.idempotent,
        }
        pause_s = 1 / self._line.rate
        while not self._stopping:
            async with self._around.producer(self._line.name, settings) as producer:
                try:
                    while not self._stopping:
                        await self._sends.send(producer)
                        await asyncio.sleep(pause_s)
                    await producer.flush()
                except KafkaException as error:
                    self._around.history.new_sessions.append(f"{self._line.name}: {error}")
                    self._sends.session += 1
                    await asyncio.sleep(AGAIN_S)


class TransactingClient(ScenarioClient):
    """Sends small transactions one after the other, and aborts some of them on purpose.

    Several instances may have the same transactional id. An instance that was fenced takes over
    again a moment later.
    """

    def __init__(self, around: Surroundings, line: ClientLine, name: str) -> None:
        super().__init__(around, line, name)
        self._sends = _Sends(around, name, line)
        self._chance = around.chance(f"{name}/ends")

    async def run(self) -> None:
        settings: dict[str, object] = {
            "transactional.id": self._line.name,
            "transaction.timeout.ms": 3_000,
        }
        while not self._stopping:
            producer = self._around.producer(self.name, settings)
            try:
                async with producer:
                    await self._initialized(producer)
                    while not self._stopping:
                        await self._transaction(producer)
            except KafkaException as error:
                self._around.history.new_sessions.append(f"{self.name}: {error}")
                self._sends.session += 1
                shared = self._line.instances > 1
                await asyncio.sleep(self._chance.uniform(*TAKE_OVER_S) if shared else AGAIN_S)

    async def _initialized(self, producer: Producer) -> None:
        while True:
            try:
                return await producer.init_transactions()
            except KafkaException:
                if self._stopping:
                    raise
                await asyncio.sleep(AGAIN_S)

    async def _transaction(self, producer: Producer) -> None:
        history = self._around.history
        outcomes, number = history.transactions, len(history.transactions)
        outcomes.append(Outcome.OPEN)
        history.transaction_began_ms.append(self._around.now_ms())
        history.transaction_asked_ms.append(inf)
        producer.begin_transaction()
        outcomes[number] = Outcome.UNKNOWN  # until it is known
        try:
            for _ in range(self._chance.randint(1, MOST_IN_TRANSACTION)):
                await self._sends.send(producer, number)
                await asyncio.sleep(1 / self._line.rate)
            commits = self._chance.random() >= ABORT_CHANCE
            history.transaction_asked_ms[number] = self._around.now_ms()
            if commits:
                await producer.commit_transaction()
            else:
                await producer.abort_transaction()
            outcomes[number] = Outcome.COMMITTED if commits else Outcome.ABORTED
        except KafkaException:
            if history.transaction_asked_ms[number] == inf:
                history.transaction_asked_ms[number] = self._around.now_ms()
            await producer.abort_transaction()  # raises if the producer can no longer be used
            outcomes[number] = Outcome.ABORTED


class ReadingClient(ScenarioClient):
    """Reads all partitions of a topic from the beginning, without a group."""

    async def run(self) -> None:
        async with self._around.consumer(self._line.name, {}) as consumer:
            consumer.assign(self._around.tps(self._line.topic))
            while not self._stopping:
                await _poll(consumer, self._line.name, self._around)


class MemberClient(ScenarioClient):
    """One member of a consumer group. The member commits after each poll. Sometimes it requests the
    committed offsets before the commit.
    """

    def __init__(self, around: Surroundings, line: ClientLine, name: str) -> None:
        super().__init__(around, line, name)
        self._chance = around.chance(f"{name}/asks")

    async def run(self) -> None:
        settings = {
            "group.id": self._line.name,
            "session.timeout.ms": 3_000,
            "heartbeat.interval.ms": 500,
            "max.poll.interval.ms": 10_000,
        }
        async with self._around.consumer(self.name, settings) as consumer:
            consumer.subscribe([self._line.topic], on_assigned=self._note_assigned)
            while not self._stopping:
                read = await _poll(consumer, self.name, self._around)
                if read:
                    if self._chance.random() < ASK_CHANCE:
                        await self._ask(consumer, read)
                    await self._commit(consumer, read)

    def _note_assigned(self, partitions: tuple[TopicPartition, ...]) -> None:
        history, now_ms = self._around.history, self._around.now_ms()
        history.assigned += [Assigned(self._line.name, self.name, tp, now_ms) for tp in partitions]

    async def _ask(self, consumer: Consumer, tps: Iterable[TopicPartition]) -> None:
        asked_ms = self._around.now_ms()
        try:
            committed = await consumer.committed(tps)
        except ClientException:
            return  # A missing answer is no fault. The consumer will commit again.
        self._around.history.known += [
            Known(self._line.name, self.name, tp, offset.offset, asked_ms)
            for tp, offset in committed.items()
        ]

    async def _commit(self, consumer: Consumer, read: Mapping[TopicPartition, int]) -> None:
        began_ms = self._around.now_ms()
        offsets = {tp: OffsetAndMetadata(last + 1) for tp, last in read.items()}
        try:
            await consumer.commit(offsets)
        except ClientException:
            return  # The member has left the group, or no answer came. It continues to read.
        history, now_ms = self._around.history, self._around.now_ms()
        for tp, offset in offsets.items():
            history.commits.append(
                Commit(self._line.name, self.name, tp, offset.offset, began_ms, now_ms)
            )


async def _poll(consumer: Consumer, reader: str, around: Surroundings) -> dict[TopicPartition, int]:
    """Poll once, note the received records, and return the last offset of each partition."""
    last: dict[TopicPartition, int] = {}
    for record in await consumer.poll(POLL_MS):
        tp = TopicPartition(record.topic, record.partition)
        value = record.value if isinstance(record.value, bytes) else None
        name = name_of(value, record.headers)
        around.history.reads.append(Read(reader, tp, record.offset, name, around.now_ms()))
        last[tp] = record.offset
    return last


_MAKERS: Final[Mapping[str, Callable[[Surroundings, ClientLine], list[ScenarioClient]]]] = {
    "producer": lambda around, line: [ProducingClient(around, line)],
    "transactions": lambda around, line: [
        TransactingClient(around, line, name) for name in process_names(line)
    ],
    "consumer": lambda around, line: [ReadingClient(around, line)],
    "group": lambda around, line: [
        MemberClient(around, line, name) for name in process_names(line)
    ],
}


def make_clients(around: Surroundings, line: ClientLine) -> list[ScenarioClient]:
    """Return the clients of one line of a scenario."""
    return _MAKERS[line.kind](around, line)
