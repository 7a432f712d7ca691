"""Transactions on three brokers in virtual time.

The coordinator dies between the decision and the markers. The next coordinator writes the markers.
"""

import contextlib
import gc
import warnings

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
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
from kafka_edu.record.record_batch import build_batch
from kafka_edu.sim.sim_client import SimClient
from kafka_edu.sim.sim_cluster import SimCluster
from kafka_edu.trace.events.transaction import (
    LastStableOffsetMoved,
    TransactionMarkersSent,
    TransactionResumed,
    TransactionStateChanged,
)

PROPERTIES = {"transaction.state.log.num.partitions": "3", "replica.lag.time.max.ms": "5000"}
PARTITIONS = [TopicPartition("t", i) for i in range(3)]


class Client(SimClient):
    """Sends each transactional request by itself."""

    def __init__(self, cluster: SimCluster) -> None:
        super().__init__(cluster)
        self.cluster = cluster
        self.producer = (-1, -1)

    def ask(self, broker: int, request: Message, version: int) -> Message:
        async def body() -> Message:
            client = NetworkClient(self.cluster.network.transport(), "client")
            await client.connect("127.0.0.1", self.cluster.port(broker), 1000)
            try:
                return await client.send(request, version, 60_000)
            finally:
                client.close()

        return self.cluster.run_as(self.process, body())

    def send(self, broker: int, request: Message, version: int) -> None:
        """Send without waiting, because the receiver is about to die."""

        async def body() -> None:
            client = NetworkClient(self.cluster.network.transport(), "client")
            await client.connect("127.0.0.1", self.cluster.port(broker), 1000)
            with contextlib.suppress(OSError):
                await client.send(request, version, 60_000)

        self.cluster.loop.spawn(self.process, body())

    def coordinator(self) -> int:
        for _ in range(100):
            for broker in self.cluster.brokers.values():
                if broker.server is not None:
                    answer = self.ask(broker.id, FindCoordinatorRequest(key="a", key_type=1), 2)
                    if (
                        answer.error_code == 0
                        and self.cluster.brokers[answer.node_id].server is not None
                    ):
                        return answer.node_id
            self.cluster.advance(500)
        raise AssertionError("no coordinator")

    def retried(self, request: Message, version: int) -> Message:
        """Send to the coordinator, until it knows the transaction."""
        for _ in range(100):
            answer = self.ask(self.coordinator(), request, version)
            error = (
                answer.results[0].results[0].error_code
                if isinstance(answer, Message) and hasattr(answer, "results")
                else answer.error_code
            )
            if Errors.of(error) not in (
                Errors.NOT_COORDINATOR,
                Errors.COORDINATOR_LOAD_IN_PROGRESS,
                Errors.COORDINATOR_NOT_AVAILABLE,
                Errors.CONCURRENT_TRANSACTIONS,
            ):
                assert error == 0, Errors.of(error)
                return answer
            self.cluster.advance(200)
        raise AssertionError("never answered")

    def init(self) -> None:
        answer = self.retried(
            InitProducerIdRequest(transactional_id="a", transaction_timeout_ms=60_000), 4
        )
        self.producer = answer.producer_id, answer.producer_epoch

    def begin(self) -> None:
        topic = AddPartitionsToTxnTopic(name="t", partitions=[tp.partition for tp in PARTITIONS])
        producer_id, epoch = self.producer
        self.retried(
            AddPartitionsToTxnRequest(
                transactional_id="a", producer_id=producer_id, producer_epoch=epoch, topics=[topic]
            ),
            2,
        )
        for tp in PARTITIONS:
            batch = build_batch(
                [Record(0, self.cluster.time.milliseconds(), None, b"v")],
                producer_id=producer_id,
                producer_epoch=epoch,
                base_sequence=0,
                is_transactional=True,
            )
            data = TopicProduceData(
                name="t", partition_data=[PartitionProduceData(index=tp.partition, records=batch)]
            )
            request = ProduceRequest(
                transactional_id="a", acks=-1, timeout_ms=10_000, topic_data=[data]
            )
            answer = self.ask(self.cluster.run_as(self.process, self.leader_of(tp)), request, 7)
            assert answer.responses[0].partition_responses[0].error_code == 0

    def stable(self, tp: TopicPartition) -> tuple[int, int, int | None]:
        """Return (last stable offset, high watermark, aborted transactions) as a read_committed
        reader gets them.
        """
        wanted = FetchTopic(
            topic="t",
            partitions=[
                FetchPartition(partition=tp.partition, fetch_offset=0, partition_max_bytes=1 << 20)
            ],
        )
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, min_bytes=0, isolation_level=1, topics=[wanted]
        )
        answer = (
            self.ask(self.cluster.run_as(self.process, self.leader_of(tp)), request, 11)
            .responses[0]
            .partition_responses[0]
        )
        return (
            answer.last_stable_offset,
            answer.high_watermark,
            len(answer.aborted_transactions or ()),
        )


def started(seed: int) -> tuple[SimCluster, Client]:
    cluster = SimCluster(seed, (1, 2, 3), PROPERTIES)
    cluster.start_all()
    client = Client(cluster)
    assert cluster.run_as(client.process, client.create_topic("t", 3, 3)) is Errors.NONE
    cluster.advance(1000)
    client.init()
    client.begin()
    cluster.advance(1000)
    assert [client.stable(tp) for tp in PARTITIONS] == [(0, 1, 0)] * 3
    return cluster, client


@pytest.mark.parametrize("commit", [True, False])
def test_a_coordinator_killed_before_the_markers_is_replaced_by_one_that_writes_them(
    commit: bool,
) -> None:
    cluster, client = started(5)
    old = client.coordinator()
    producer_id, epoch = client.producer
    request = EndTxnRequest(
        transactional_id="a", producer_id=producer_id, producer_epoch=epoch, committed=commit
    )
    client.send(old, request, 2)
    while not any(
        e.event.after.startswith("Prepare") for e in cluster.facts(TransactionStateChanged)
    ):
        assert cluster.loop.step()
    cluster.kill(
        old
    )  # in the very step in which the decision was replicated: no marker has left this broker
    assert not any(e.event.broker != old for e in cluster.facts(TransactionMarkersSent))
    cluster.advance(30_000)
    assert cluster.brokers[old].server is None
    new = client.coordinator()
    assert new != old
    resumed = [e for e in cluster.facts(TransactionResumed) if e.broker == new]
    assert [(e.event.transactional_id, e.event.state) for e in resumed] == [
        ("a", "PrepareCommit" if commit else "PrepareAbort")
    ]
    assert [client.stable(tp) for tp in PARTITIONS] == [(2, 2, 0 if commit else 1)] * 3
    states = [e.event.after for e in cluster.facts(TransactionStateChanged)]
    assert states[-1] == ("CompleteCommit" if commit else "CompleteAbort")
    assert any(e.broker == new for e in cluster.facts(TransactionMarkersSent))
    client.retried(request, 2)
    assert cluster.facts(LastStableOffsetMoved)
    cluster.close()
    del cluster, client, resumed
    with (
        warnings.catch_warnings()
    ):  # a task that the dead broker had created in its last step never ran
        warnings.simplefilter("ignore", RuntimeWarning)
        gc.collect()


def test_the_same_seed_gives_the_same_transaction() -> None:
    def run() -> bytes:
        cluster, client = started(9)
        producer_id, epoch = client.producer
        client.retried(
            EndTxnRequest(
                transactional_id="a", producer_id=producer_id, producer_epoch=epoch, committed=True
            ),
            2,
        )
        cluster.advance(2000)
        assert [client.stable(tp) for tp in PARTITIONS] == [(2, 2, 0)] * 3
        try:
            return cluster.events_bytes()
        finally:
            cluster.close()

    assert run() == run()


def test_an_overdue_transaction_is_aborted_and_its_producer_fenced() -> None:
    cluster, client = started(11)
    cluster.advance(130_000)
    assert [client.stable(tp) for tp in PARTITIONS] == [(2, 2, 1)] * 3
    producer_id, epoch = client.producer
    request = EndTxnRequest(
        transactional_id="a", producer_id=producer_id, producer_epoch=epoch, committed=True
    )
    assert client.ask(client.coordinator(), request, 2).error_code == Errors.PRODUCER_FENCED
    assert client.ask(client.coordinator(), request, 1).error_code == Errors.INVALID_PRODUCER_EPOCH
    cluster.close()
