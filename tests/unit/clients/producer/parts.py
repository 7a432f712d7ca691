"""The core of a producer without sockets, and one or two simple brokers for which a test gives the
answers.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from kafka_edu.clients.client_connections import Close, Connect, Send
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.producer_config import parse_producer_config
from kafka_edu.clients.producer.producer_core import build_core
from kafka_edu.common.errors import Errors
from kafka_edu.common.transport import part_bytes
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import decode_request_header, encode_response
from kafka_edu.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from kafka_edu.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)
from kafka_edu.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from kafka_edu.protocol.messages.end_txn import EndTxnResponse
from kafka_edu.protocol.messages.find_coordinator import FindCoordinatorResponse
from kafka_edu.protocol.messages.init_producer_id import InitProducerIdResponse
from kafka_edu.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.record.record_batch import BatchHeader, check_crc, parse_header, read_records


@dataclass
class Request:
    """A request that the core has sent, not yet answered."""

    node: int
    key: ApiKey
    version: int
    correlation_id: int
    message: Message
    to_coordinator: bool = False
    """Whether it was sent on a connection to a coordinator."""


@dataclass
class Stored:
    """The records that a broker has stored for one partition, and the last batches of the producer
    that it remembers.
    """

    values: list[bytes] = field(default_factory=list)
    batches: list[tuple[int, int, int, int]] = field(default_factory=list)
    """The last five batches of the producer: epoch, first and last sequence, offset."""


class Core:
    """A producer's core and its brokers. `now` is the time, in ms."""

    def __init__(
        self,
        settings: Mapping[str, object] | None = None,
        *,
        partitions: int = 1,
        brokers: tuple[int, ...] = (1,),
        seed: int = 0,
    ) -> None:
        given = {"bootstrap.servers": "boot:9092", "client.id": "p"} | dict(settings or {})
        self.config = config = parse_producer_config(given, 1)
        core = build_core(config, random.Random(seed))
        self.parts = core
        self.metadata = core.metadata
        self.accumulator = core.accumulator
        self.pool = core.accumulator.pool
        self.connections = core.connections
        self.coordinators = core.coordinator_connections
        self.txn = core.transaction_manager
        self.transactions = core.transactions
        self.sender = core.sender
        self.now = 1_000.0
        self.brokers = brokers
        self.leaders = {p: (brokers[p % len(brokers)], 0) for p in range(partitions)}
        self.topic_error = Errors.NONE
        self.stored = {p: Stored() for p in range(partitions)}
        self.requests: list[Request] = []
        self.connected: set[int] = set()
        self.connects: list[Connect] = []
        self.refused: list[int] = []
        """The nodes whose connections the core has closed."""
        self.producer_ids = 0
        self.newest_produce = REGISTRY[ApiKey.PRODUCE].max_version
        """The newest version of Produce that the brokers know."""
        self.id_error = Errors.NONE
        """The error that InitProducerId is answered with."""
        self.auto = True
        """Whether everything but Produce is answered at once."""
        self.held: set[ApiKey] = set()
        """Requests that the test answers itself, besides Produce."""
        self.newest: dict[ApiKey, int] = {}
        """The newest version that the brokers know, if it is not the newest of all."""
        self.seen: list[ApiKey] = []
        """The requests to the coordinators, in their order."""

    def append(self, value: bytes, partition: int = 0, key: bytes | None = None) -> ProducerBatch:
        """Append a record to a batch, as `send` does when it does not have to wait for metadata or
        memory.
        """
        stamp = int(self.now)
        self.metadata.use("t", self.now)
        batch = self.accumulator.try_append("t", partition, stamp, key, value, ())
        if batch is None:
            size = max(self.config.batch_size, 200 + len(value))
            assert self.pool.allocate(size)
            batch = self.accumulator.append_to_new_batch(
                "t", partition, stamp, key, value, (), size, self.now
            )
        return batch

    def run(self) -> None:
        """Run the sender until nothing changes."""
        for _ in range(10):
            self.sender.run(self.now)
            if not self._perform():
                return

    def _perform(self) -> bool:
        effects = self.connections.take_effects()
        for effect in effects:
            match effect:
                case Connect(node=node):
                    self.connects.append(effect)
                    self.connected.add(node)
                    self.connections.connected(node, f"here:{node}", self.now)
                case Close(node=node):
                    self.connected.discard(node)
                    self.refused.append(node)
                    self.requests = [r for r in self.requests if r.node != node]
                case Send(node=node, parts=parts):
                    self._sent(node, b"".join(bytes(part_bytes(part)) for part in parts), False)
        return self._perform_to_coordinators() or bool(effects)

    def _perform_to_coordinators(self) -> bool:
        effects = self.coordinators.take_effects()
        for effect in effects:
            match effect:
                case Connect(node=node):
                    self.coordinators.connected(node, f"there:{node}", self.now)
                case Close(node=node):
                    self.requests = [r for r in self.requests if not r.to_coordinator]
                case Send(node=node, parts=parts):
                    self._sent(node, b"".join(bytes(part_bytes(part)) for part in parts), True)
        return bool(effects)

    def _sent(self, node: int, frame: bytes, to_coordinator: bool) -> None:
        header, at = decode_request_header(frame[4:])
        key = ApiKey(header.api_key)
        message = REGISTRY[key].request.decode(frame[4:], header.api_version, at)
        request = Request(
            node, key, header.api_version, header.correlation_id, message, to_coordinator
        )
        if to_coordinator and key is not ApiKey.API_VERSIONS:
            self.seen.append(key)
        if key is ApiKey.PRODUCE or key in self.held or not self.auto:
            self.requests.append(request)
        else:
            self.answer(request, self.usual_answer(request))

    def usual_answer(self, request: Request) -> Message:
        """Return a broker's usual answer to a request. The request is not a Produce request."""
        match request.key:
            case ApiKey.API_VERSIONS:
                return ApiVersionsResponse(
                    error_code=0,
                    api_keys=[
                        ApiVersion(
                            api_key=k,
                            min_version=p.min_version,
                            max_version=self.newest_produce
                            if k is ApiKey.PRODUCE
                            else self.newest.get(k, p.max_version),
                        )
                        for k, p in REGISTRY.items()
                    ],
                    throttle_time_ms=0,
                    supported_features=[],
                    finalized_features=[],
                )
            case ApiKey.METADATA:
                assert isinstance(request.message, MetadataRequest)
                return self.metadata_answer()
            case ApiKey.FIND_COORDINATOR:
                return FindCoordinatorResponse(
                    throttle_time_ms=0,
                    error_code=0,
                    node_id=self.brokers[-1],
                    host="coordinator",
                    port=9092,
                )
            case ApiKey.ADD_PARTITIONS_TO_TXN:
                return partitions_added(request)
            case ApiKey.ADD_OFFSETS_TO_TXN:
                return AddOffsetsToTxnResponse(throttle_time_ms=0, error_code=0)
            case ApiKey.TXN_OFFSET_COMMIT:
                return offsets_stored(request)
            case ApiKey.END_TXN:
                return EndTxnResponse(throttle_time_ms=0, error_code=0)
            case _:
                self.producer_ids += 1
                return InitProducerIdResponse(
                    throttle_time_ms=0,
                    error_code=int(self.id_error),
                    producer_id=100 + self.producer_ids,
                    producer_epoch=0,
                )

    def metadata_answer(self) -> MetadataResponse:
        partitions = [
            MetadataResponsePartition(
                error_code=0,
                partition_index=p,
                leader_id=leader,
                leader_epoch=epoch,
                replica_nodes=[],
                isr_nodes=[],
                offline_replicas=[],
            )
            for p, (leader, epoch) in self.leaders.items()
        ]
        return MetadataResponse(
            throttle_time_ms=0,
            brokers=[
                MetadataResponseBroker(node_id=b, host=f"b{b}", port=9092) for b in self.brokers
            ],
            topics=[
                MetadataResponseTopic(
                    error_code=int(self.topic_error),
                    name="t",
                    is_internal=False,
                    partitions=partitions if self.topic_error is Errors.NONE else [],
                )
            ],
        )

    def answer(self, request: Request, message: Message) -> None:
        """Answer a request, which must be the oldest unanswered request of its connection."""
        if request in self.requests:
            self.requests.remove(request)
        parts = encode_response(request.key, request.version, request.correlation_id, message)
        frame = b"".join(bytes(part_bytes(part)) for part in parts)
        connections = self.coordinators if request.to_coordinator else self.connections
        connections.received(request.node, frame[4:], self.now)

    def batches(self, request: Request) -> list[tuple[int, bytes, BatchHeader]]:
        """Return (partition, bytes, header) of each batch in a Produce request."""
        assert isinstance(request.message, ProduceRequest)
        found = []
        for topic in request.message.topic_data:
            for data in topic.partition_data:
                raw = bytes(part_bytes(data.records or b""))
                header = parse_header(raw)
                check_crc(raw, header)
                found.append((data.index, raw, header))
        return found

    def store(self, request: Request) -> ProduceResponse:
        """Append a request's batches as a leader does, and return its answer."""
        results = {p: self._append(p, request.node, raw, h) for p, raw, h in self.batches(request)}
        return produced(results)

    def _append(
        self, partition: int, node: int, raw: bytes, header: BatchHeader
    ) -> tuple[Errors, int]:
        stored = self.stored[partition]
        if self.leaders[partition][0] != node:
            return Errors.NOT_LEADER_OR_FOLLOWER, -1
        if header.producer_id >= 0:
            first, last, epoch = header.base_sequence, header.last_sequence, header.producer_epoch
            for known in stored.batches:
                if known[:3] == (epoch, first, last):
                    return Errors.NONE, known[3]
            if stored.batches:
                newest = stored.batches[-1]
                expected = newest[2] + 1 if newest[0] == epoch else 0
                if epoch < newest[0]:
                    return Errors.INVALID_PRODUCER_EPOCH, -1
                if first != expected:
                    return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER, -1
            stored.batches = [*stored.batches, (epoch, first, last, len(stored.values))][-5:]
        offset = len(stored.values)
        stored.values += [record.value or b"" for record in read_records(raw)]
        return Errors.NONE, offset

    def lose(self, node: int) -> None:
        """End a connection. Its requests get no answer."""
        self.connected.discard(node)
        self.requests = [r for r in self.requests if r.node != node]
        self.connections.disconnected(node, "cut by the test", self.now)

    def lose_coordinator(self) -> None:
        """End the connection to the coordinator. The requests on this connection get no answer."""
        self.requests = [r for r in self.requests if not r.to_coordinator]
        self.coordinators.disconnected(self.brokers[-1], "cut by the test", self.now)

    def advance(self, ms: float) -> None:
        self.now += ms
        self.run()


def partitions_added(request: Request, error: Errors = Errors.NONE) -> AddPartitionsToTxnResponse:
    """Return an answer to AddPartitionsToTxn: the same error for each partition."""
    assert isinstance(request.message, AddPartitionsToTxnRequest)
    return AddPartitionsToTxnResponse(
        throttle_time_ms=0,
        results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results=[
                    AddPartitionsToTxnPartitionResult(partition_index=p, error_code=int(error))
                    for p in topic.partitions
                ],
            )
            for topic in request.message.topics
        ],
    )


def offsets_stored(request: Request, error: Errors = Errors.NONE) -> TxnOffsetCommitResponse:
    """Return an answer to TxnOffsetCommit: the same error for each partition."""
    assert isinstance(request.message, TxnOffsetCommitRequest)
    return TxnOffsetCommitResponse(
        throttle_time_ms=0,
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=each.partition_index, error_code=int(error)
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.message.topics
        ],
    )


def produced(results: Mapping[int, tuple[Errors, int]]) -> ProduceResponse:
    """Return an answer to Produce with the error and the base offset of each partition."""
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name="t",
                partition_responses=[
                    PartitionProduceResponse(
                        index=p,
                        error_code=int(error),
                        base_offset=base,
                        log_start_offset=0,
                        record_errors=[],
                    )
                    for p, (error, base) in results.items()
                ],
            )
        ],
        throttle_time_ms=0,
    )
