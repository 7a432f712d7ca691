"""The sink's client and its transactions with a scripted broker: replays and lost answers."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

pytest.importorskip("pyarrow", reason="PySpark is not installed: ./kafka-edu setup spark")

from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_edu.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record_batch import parse_header, read_records
from kafka_edu.spark.produce_client import ProduceClient, RecordWriter
from kafka_edu.spark.sink_options import parse_sink_options
from kafka_edu.spark.slot_transaction import BatchOfTask, SlotTransaction
from kafka_edu.spark.source_errors import ClusterError, SinkDataError
from tests.unit.spark.scripted_brokers import ScriptedBrokers

T: Final = TopicPartition("t", 0)
BATCH: Final = BatchOfTask("query", 4, "run-2", 1)
SERVED: Final = {
    ApiKey.METADATA: 9,
    ApiKey.PRODUCE: 8,
    ApiKey.INIT_PRODUCER_ID: 2,
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.OFFSET_FETCH: 7,
    ApiKey.ADD_PARTITIONS_TO_TXN: 1,
    ApiKey.ADD_OFFSETS_TO_TXN: 1,
    ApiKey.TXN_OFFSET_COMMIT: 2,
    ApiKey.END_TXN: 1,
}


class ScriptedCoordinator(ScriptedBrokers):
    """One broker that keeps a partition. For one slot it also keeps the transaction and the
    offset.
    """

    def __init__(self) -> None:
        self.log: list[tuple[int, list[bytes | None]]] = []
        """First sequence number and values of each record batch that was taken."""
        self.committed = (-1, "")
        self.pending: tuple[int, str] | None = None
        self.asked: list[str] = []
        self.script: dict[str, list[Errors]] = {}
        """Kind of request → the errors that it is answered with first."""
        self.exists = True
        super().__init__(1, SERVED)

    def answer(self, broker: int, request: Message) -> Message | None:
        kind = type(request).__name__.removesuffix("Request")
        self.asked.append(kind)
        errors = self.script.get(kind)
        error = errors.pop(0) if errors else Errors.NONE
        if error is Errors.NETWORK_EXCEPTION and not isinstance(request, ProduceRequest):
            return None
        match request:
            case MetadataRequest():
                one = MetadataResponsePartition(partition_index=0, leader_id=1)
                topic = MetadataResponseTopic(
                    error_code=0 if self.exists else Errors.UNKNOWN_TOPIC_OR_PARTITION,
                    name="t",
                    partitions=[one] if self.exists else [],
                )
                return MetadataResponse(brokers=self.nodes, topics=[topic])
            case FindCoordinatorRequest():
                return FindCoordinatorResponse(
                    error_code=error, node_id=1, host="127.0.0.1", port=self.ports[0]
                )
            case InitProducerIdRequest():
                self.pending = None
                return InitProducerIdResponse(error_code=error, producer_id=7, producer_epoch=3)
            case OffsetFetchRequest():
                number, stamp = self.committed
                found = OffsetFetchResponsePartition(
                    partition_index=0, committed_offset=number, metadata=stamp, error_code=0
                )
                topics = [OffsetFetchResponseTopic(name="t", partitions=[found])]
                return OffsetFetchResponse(topics=topics if number >= 0 else [], error_code=error)
            case AddPartitionsToTxnRequest():
                added = AddPartitionsToTxnPartitionResult(partition_index=0, error_code=error)
                return AddPartitionsToTxnResponse(
                    results=[AddPartitionsToTxnTopicResult(name="t", results=[added])]
                )
            case ProduceRequest():
                return self._produce(request, error)
            case AddOffsetsToTxnRequest():
                return AddOffsetsToTxnResponse(error_code=error)
            case TxnOffsetCommitRequest():
                partition = request.topics[0].partitions[0]
                self.pending = partition.committed_offset, partition.committed_metadata or ""
                done = TxnOffsetCommitResponsePartition(partition_index=0, error_code=error)
                return TxnOffsetCommitResponse(
                    topics=[TxnOffsetCommitResponseTopic(name="t", partitions=[done])]
                )
            case EndTxnRequest():
                if error is Errors.NONE and request.committed and self.pending:
                    self.committed = self.pending
                return EndTxnResponse(error_code=error)
        raise AssertionError(request)

    def _produce(self, request: ProduceRequest, error: Errors) -> ProduceResponse | None:
        part = request.topic_data[0].partition_data[0].records
        assert part is not None
        batch = bytes(part_bytes(part))
        sequence = parse_header(batch).base_sequence
        if error in (Errors.NONE, Errors.NETWORK_EXCEPTION):
            if self.log and sequence <= self.log[-1][0]:
                error = Errors.DUPLICATE_SEQUENCE_NUMBER
            else:
                self.log.append((sequence, [one.value for one in read_records(batch)]))
        if error is Errors.NETWORK_EXCEPTION:
            return None  # the records are written, and the answer is lost
        one = PartitionProduceResponse(index=0, error_code=error, base_offset=0)
        return ProduceResponse(
            responses=[TopicProduceResponse(name="t", partition_responses=[one])]
        )


@pytest.fixture
def cluster() -> Iterator[ScriptedCoordinator]:
    cluster = ScriptedCoordinator()
    yield cluster
    cluster.close()


def client(cluster: ScriptedCoordinator, **more: str) -> ProduceClient:
    given = {
        "kafka.bootstrap.servers": f"127.0.0.1:{cluster.ports[0]}",
        "kafka.retry.backoff.ms": "1",
        **{name.replace("__", "."): text for name, text in more.items()},
    }
    return ProduceClient(parse_sink_options(given, streaming=True).producer)


def rows(*values: bytes) -> Any:
    import pyarrow as pa

    from kafka_edu.spark.record_encoder import Rows

    return Rows(pa.array(values, pa.large_binary()), None, None)


def write(cluster: ScriptedCoordinator, batch: BatchOfTask = BATCH) -> bool:
    """Write one slot of one batch as a task does. Return whether it was committed already."""
    with client(cluster) as producer:
        producer.layout("t")
        slot = SlotTransaction(producer, "0-of-2", batch)
        if not slot.is_committed:
            slot.append(T, rows(b"a", b"b"))
            slot.flush([T])
            slot.commit()
        return slot.is_committed


def test_a_slot_commits_its_rows_with_the_number_of_the_batch(
    cluster: ScriptedCoordinator,
) -> None:
    assert not write(cluster)
    assert cluster.log == [(0, [b"a", b"b"])]
    assert cluster.committed == (5, "run-2/1")
    assert [kind for kind in cluster.asked if kind not in ("FindCoordinator", "Metadata")] == [
        "InitProducerId",
        "OffsetFetch",
        "AddPartitionsToTxn",
        "Produce",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "EndTxn",
    ]


def test_a_repeated_batch_is_skipped_and_the_next_one_is_not(
    cluster: ScriptedCoordinator,
) -> None:
    write(cluster)
    assert write(cluster, BATCH._replace(run_id="run-3", task=0)), "another run, another task"
    assert write(cluster), "the same task, tried again"
    assert len(cluster.log) == 1
    cluster.log.clear()
    assert not write(cluster, BATCH._replace(batch_id=5))
    assert cluster.committed == (6, "run-2/1")


def test_a_slot_in_two_tasks_of_one_run_is_an_error(cluster: ScriptedCoordinator) -> None:
    write(cluster)
    with pytest.raises(SinkDataError, match="slot 0-of-2 has rows in tasks 1 and 2 of batch 4"):
        write(cluster, BATCH._replace(task=2))


@pytest.mark.parametrize("kind", ["InitProducerId", "OffsetFetch", "AddPartitionsToTxn", "Produce",
                                  "AddOffsetsToTxn", "TxnOffsetCommit", "EndTxn"])  # fmt: skip
@pytest.mark.parametrize(
    "error", [Errors.NETWORK_EXCEPTION, Errors.NOT_ENOUGH_REPLICAS, Errors.CONCURRENT_TRANSACTIONS]
)
def test_what_passes_is_repeated_and_no_record_comes_twice(
    cluster: ScriptedCoordinator, kind: str, error: Errors
) -> None:
    cluster.script[kind] = [error, error]
    assert not write(cluster)
    assert cluster.log == [(0, [b"a", b"b"])]
    assert cluster.committed == (5, "run-2/1")


def test_a_task_that_was_fenced_says_why(cluster: ScriptedCoordinator) -> None:
    for kind in ("Produce", "EndTxn"):
        cluster.script[kind] = [Errors.INVALID_PRODUCER_EPOCH]
        with pytest.raises(ClusterError, match=r"slot 0-of-2 lost its transaction .*another task"):
            write(cluster)
    assert cluster.committed == (-1, "")


def test_a_batch_that_the_topic_does_not_take_is_halved(cluster: ScriptedCoordinator) -> None:
    cluster.script["Produce"] = [Errors.MESSAGE_TOO_LARGE]
    with client(cluster) as producer:
        producer.layout("t")
        writer = RecordWriter(producer, producer.new_producer())
        writer.append(T, rows(b"a", b"b", b"c"))
        writer.flush()
        assert cluster.log == [(0, [b"a"]), (1, [b"b", b"c"])]
        cluster.script["Produce"] = [Errors.MESSAGE_TOO_LARGE]
        writer.append(T, rows(b"d"))
        with pytest.raises(SinkDataError, match="larger than t-0 takes: raise"):
            writer.flush()


def test_what_stays_wrong_ends_with_one_line(cluster: ScriptedCoordinator) -> None:
    cluster.script["Produce"] = [Errors.NOT_ENOUGH_REPLICAS] * 1000
    with client(cluster, kafka__delivery__timeout__ms="20") as producer:
        producer.layout("t")
        writer = RecordWriter(producer, producer.new_producer())
        writer.append(T, rows(b"a"))
        with pytest.raises(ClusterError, match=r"t-0 took no records for 20 ms .*NOT_ENOUGH"):
            writer.flush()
        with pytest.raises(SinkDataError, match=r"larger than kafka.max.request.size \(1048576\)"):
            writer.append(T, rows(bytes(1 << 20)))
    cluster.exists = False
    with (
        client(cluster) as producer,
        pytest.raises(ClusterError, match=r"topic t does not exist on .*: create it"),
    ):
        producer.layout("t")
    cluster.exists = True
    cluster.script["FindCoordinator"] = [Errors.GROUP_AUTHORIZATION_FAILED]
    with pytest.raises(ClusterError, match=r"slot 0-of-2: .*GROUP_AUTHORIZATION_FAILED"):
        write(cluster)
