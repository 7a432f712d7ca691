"""Transactions while brokers are killed, restarted and cut off, at random from a seed (spec X2).

Each transaction is committed completely or not at all.
"""

import asyncio
import gc
import random

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.network.network_client import NetworkClient
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from kafka_edu.protocol.messages.end_txn import EndTxnRequest
from kafka_edu.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorRequest
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdRequest
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record import Record
from kafka_edu.record.record_batch import build_batch, iter_headers, read_records
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.event import Envelope
from kafka_edu.trace.events.transaction import TransactionResumed, TransactionStateChanged

pytestmark = pytest.mark.faults  # too long for the fast suite

PROPERTIES = {
    "transaction.state.log.num.partitions": "3",
    "replica.lag.time.max.ms": "5000",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "5000",
}
PARTITIONS = [TopicPartition("t", i) for i in range(3)]
TRANSACTIONS = 40
#: The producer gives a transaction up and starts again under the next epoch.
GIVE_UP = {
    Errors.PRODUCER_FENCED,
    Errors.INVALID_PRODUCER_EPOCH,
    Errors.INVALID_TXN_STATE,
    Errors.INVALID_PRODUCER_ID_MAPPING,
}
ASK_AGAIN = {
    Errors.NOT_COORDINATOR,
    Errors.COORDINATOR_LOAD_IN_PROGRESS,
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.CONCURRENT_TRANSACTIONS,
    Errors.NOT_LEADER_OR_FOLLOWER,
    Errors.LEADER_NOT_AVAILABLE,
    Errors.UNKNOWN_TOPIC_OR_PARTITION,
    Errors.NOT_ENOUGH_REPLICAS,
    Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    Errors.REQUEST_TIMED_OUT,
}


class GivenUp(Exception):
    """This transaction must not be committed."""


class Producer(SimClient):
    """A transactional producer in virtual time that repeats each request until it knows the result.

    It acts like a real one, but step by step.
    """

    def __init__(self, cluster: SimCluster) -> None:
        super().__init__(cluster, "producer")
        self.cluster = cluster
        self.producer = (-1, -1)
        self.sequences: dict[TopicPartition, int] = {}
        self.committed: list[int] = []
        self.uncertain: list[int] = []
        """Transactions whose commit was requested, but never answered with NONE."""
        self.given_up: list[int] = []

    async def _ask(self, broker: int, request: Message, version: int) -> Message | None:
        try:
            client = await self._connect(broker)
        except (OSError, TimeoutError):
            return None
        try:
            return await client.send(request, version, 15_000)
        except (OSError, TimeoutError):
            return None
        finally:
            client.close()

    async def _coordinator(self) -> int:
        for broker in self.cluster.brokers:
            answer = await self._ask(broker, FindCoordinatorRequest(key="a", key_type=1), 2)
            if answer is not None and answer.error_code == 0:
                return answer.node_id
        return -1

    async def _until_known(self, request: Message, version: int) -> Errors:
        """Ask the coordinator until it answers NONE or an error that must not be retried."""
        while True:
            coordinator = await self._coordinator()
            answer = await self._ask(coordinator, request, version) if coordinator >= 0 else None
            if answer is not None:
                self.answer = answer
                error = Errors.of(
                    answer.results[0].results[0].error_code
                    if hasattr(answer, "results")
                    else answer.error_code
                )
                if error not in ASK_AGAIN:
                    return error
            await self.cluster.time.sleep(200)

    async def _init(self) -> None:
        error = await self._until_known(
            InitProducerIdRequest(transactional_id="a", transaction_timeout_ms=20_000), 4
        )
        assert error is Errors.NONE, error
        self.producer, self.sequences = (self.answer.producer_id, self.answer.producer_epoch), {}

    async def run(self) -> None:
        await self._init()
        for number in range(TRANSACTIONS):
            try:
                await self._transaction(number)
            except GivenUp:
                self.given_up.append(number)
                await self._init()
            await self.cluster.time.sleep(4_000)

    async def _transaction(self, number: int) -> None:
        producer_id, epoch = self.producer
        topic = AddPartitionsToTxnTopic(name="t", partitions=[tp.partition for tp in PARTITIONS])
        named = {"transactional_id": "a", "producer_id": producer_id, "producer_epoch": epoch}
        if (
            await self._until_known(AddPartitionsToTxnRequest(topics=[topic], **named), 2)
            is not Errors.NONE
        ):
            raise GivenUp
        for tp in PARTITIONS:
            await self._write(tp, number)
        commit = number % 4 != 3
        error = await self._until_known(EndTxnRequest(committed=commit, **named), 2)
        if not commit:
            self.given_up.append(number)
        elif error is Errors.NONE:
            self.committed.append(number)
        else:
            self.uncertain.append(number)
        if error is not Errors.NONE:
            await self._init()

    async def _write(self, tp: TopicPartition, number: int) -> None:
        producer_id, epoch = self.producer
        sequence = self.sequences.get(tp, 0)
        batch = build_batch(
            [Record(0, self.cluster.time.milliseconds(), None, b"%d" % number)],
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        data = TopicProduceData(
            name="t", partition_data=[PartitionProduceData(index=tp.partition, records=batch)]
        )
        request = ProduceRequest(
            transactional_id="a", acks=-1, timeout_ms=10_000, topic_data=[data]
        )
        while True:
            try:
                leader = await self.leader_of(tp)
            except (OSError, TimeoutError):
                leader = -1
            answer = await self._ask(leader, request, 7) if leader in self.cluster.brokers else None
            if answer is not None:
                error = Errors.of(answer.responses[0].partition_responses[0].error_code)
                if error in GIVE_UP:
                    raise GivenUp
                if error not in ASK_AGAIN:
                    assert error is Errors.NONE, error
                    self.sequences[tp] = sequence + 1
                    return
            await self.cluster.time.sleep(200)

    def read_committed(self, tp: TopicPartition) -> list[int]:
        """Return what a consumer with read_committed reads: no records of aborted transactions."""

        async def body() -> tuple[bytes, list[tuple[int, int]], int, int]:
            client = NetworkClient(self.cluster.network.transport(), "reader")
            await client.connect("127.0.0.1", self.cluster.port(await self.leader_of(tp)), 1000)
            wanted = FetchTopic(
                topic="t",
                partitions=[
                    FetchPartition(
                        partition=tp.partition, fetch_offset=0, partition_max_bytes=1 << 20
                    )
                ],
            )
            request = FetchRequest(
                replica_id=-1, max_wait_ms=0, min_bytes=0, isolation_level=1, topics=[wanted]
            )
            answer = (await client.send(request, 11, 10_000)).responses[0].partition_responses[0]
            client.close()
            assert answer.error_code == 0
            aborted = [(a.producer_id, a.first_offset) for a in answer.aborted_transactions]
            return (
                bytes(part_bytes(answer.record_set)),
                aborted,
                answer.last_stable_offset,
                answer.high_watermark,
            )

        data, aborted, stable, high_watermark = self.cluster.run_as(self.process, body())
        assert stable == high_watermark, "nothing is left open"
        values: list[int] = []
        waiting, aborting = sorted(aborted, key=lambda each: each[1]), set()
        for position, header in iter_headers(data):
            while waiting and waiting[0][1] <= header.last_offset:
                aborting.add(waiting.pop(0)[0])
            if header.is_control:
                aborting.discard(header.producer_id)
            elif header.producer_id not in aborting:
                values += [
                    int(record.value)
                    for record in read_records(data[position : position + header.size_in_bytes])
                ]
        return values


def step_until_decided(cluster: SimCluster, done: asyncio.Task[None]) -> int:
    """Run the cluster up to the step in which the end of a transaction is decided.

    Return the broker that decided it, or broker 1 if the task `done` ended first.
    """
    decided: list[int] = []

    def listen(envelope: Envelope) -> None:
        if isinstance(envelope.event, TransactionStateChanged) and envelope.event.after.startswith(
            "Prepare"
        ):
            decided.append(envelope.broker)

    cluster.sink.listeners.append(listen)
    while not decided and not done.done():
        cluster.loop.step()
    cluster.sink.listeners.remove(listen)
    return decided[0] if decided else 1


@pytest.mark.filterwarnings(
    "ignore:coroutine .* was never awaited"
)  # a task that a dead broker had created in its last step
@pytest.mark.parametrize("seed", [1, pytest.param(4, marks=pytest.mark.faults)])
def test_each_transaction_is_there_whole_or_not_at_all(seed: int) -> None:
    chance = random.Random(f"transaction faults {seed}")
    cluster = SimCluster(seed, (1, 2, 3), PROPERTIES)
    cluster.start_all()
    producer = Producer(cluster)
    assert cluster.run_as(producer.process, producer.create_topic("t", 3, 3)) is Errors.NONE
    cluster.advance(1000)
    done = cluster.loop.spawn(producer.process, producer.run())
    while not done.done():
        victim = chance.choice((1, 2, 3))
        act = chance.choice(("kill", "coordinator", "cut", "pause"))
        if act == "coordinator":
            victim = step_until_decided(cluster, done)
        else:
            cluster.advance(chance.randint(1_000, 9_000))
        if act in ("kill", "coordinator"):
            cluster.kill(victim)
            cluster.advance(chance.choice((500, 3_000, 12_000)))
            cluster.start(victim)
        elif act == "cut":
            other = chance.choice([b for b in cluster.brokers if b != victim])
            cluster.cut(victim, other)
            cluster.advance(chance.choice((500, 12_000)))
            cluster.mend(victim, other)
        else:
            cluster.pause(victim)
            cluster.advance(chance.choice((500, 3_000, 12_000)))
            cluster.resume(victim)
        cluster.advance(
            12_000
        )  # back in the ISR before the next kill, because two of three must have the acked records
    done.result()
    cluster.advance(60_000)
    seen = [producer.read_committed(tp) for tp in PARTITIONS]
    assert seen[0] == seen[1] == seen[2], "all partitions, or none"
    assert len(set(seen[0])) == len(seen[0]), "none twice"
    assert (
        set(producer.committed) <= set(seen[0]) <= set(producer.committed) | set(producer.uncertain)
    )
    assert not set(producer.given_up) & set(seen[0])
    assert len(producer.committed) > TRANSACTIONS // 3
    assert cluster.facts(TransactionResumed), "a coordinator died with a transaction decided"
    cluster.close()
    del cluster, producer, done
    gc.collect()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_brokers_that_are_stopped_in_good_order_cost_no_transaction() -> None:
    """A rolling restart stops the coordinator in the very step in which it has decided a
    transaction.

    Leaders and coordinators are moved first (spec G1).
    """
    cluster = SimCluster(2, (1, 2, 3), PROPERTIES)
    cluster.start_all()
    producer = Producer(cluster)
    assert cluster.run_as(producer.process, producer.create_topic("t", 3, 3)) is Errors.NONE
    cluster.advance(1000)
    done = cluster.loop.spawn(producer.process, producer.run())
    coordinators = []
    while not done.done():
        victim = step_until_decided(cluster, done)
        coordinators.append(victim)
        cluster.stop(victim)
        cluster.advance(1_000)
        cluster.start(victim)
        cluster.advance(12_000)
    done.result()
    cluster.advance(1_000)
    seen = [producer.read_committed(tp) for tp in PARTITIONS]
    expected = [number for number in range(TRANSACTIONS) if number % 4 != 3]
    assert seen == [expected] * 3
    assert (producer.committed, producer.uncertain) == (expected, [])
    assert len(coordinators) > 8
    assert len(set(coordinators)) > 1, "the transactions had more than one coordinator"
    cluster.close()
    del cluster, producer, done
    gc.collect()
