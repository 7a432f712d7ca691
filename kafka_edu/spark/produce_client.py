"""A blocking Kafka producer for Spark's workers: metadata, producer ids, coordinators, records.

The next record batch of a partition is sent only after all in-sync replicas have acknowledged the
batch before it (acks=all). Every producer is idempotent. If an answer is lost, the batch is sent
again with the same sequence number, and the broker keeps only one copy (KIP-98).

The module needs only the standard library, numpy and pyarrow. `slot_transaction` adds transactions
to it.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, TypeVar

import numpy as np

from kafka_edu.common.arrays import Int64s
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.protocol.schema import Message
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.spark.brokers import MOVED, Address, Brokers, Refused, reason_of
from kafka_edu.spark.record_encoder import Producer, Rows, batches_of, encode_batch
from kafka_edu.spark.sink_options import ProducerOptions
from kafka_edu.spark.source_errors import ClusterError, SinkDataError

R = TypeVar("R", bound=Message)

GROUP, TRANSACTION = 0, 1
_ALL: Final = -1
_MAX_SEQUENCE: Final = 2**31
#: How often the metadata of a missing topic are requested. All brokers need a moment to learn of a
#: new topic.
TOPIC_ROUNDS: Final = 4
_PASSING: Final = MOVED | {
    Errors.CONCURRENT_TRANSACTIONS,  # the last transaction is not yet complete
    Errors.COORDINATOR_NOT_AVAILABLE,
    Errors.NOT_COORDINATOR,
}


class Layout(NamedTuple):
    """The partitions of the topic to which the sink writes."""

    partition_count: int
    available: Int64s
    """The numbers of the partitions that have a leader."""


def is_passing(error: Errors) -> bool:
    """Return whether the same request may succeed if it is sent again a little later."""
    return error.retriable or error in _PASSING


class ProduceClient:
    """A client for the brokers of one cluster, for use in one thread. At the end of its `with`
    block, all connections are closed.

    Its methods raise ClusterError if their time is over, and Refused if a broker refuses for a
    lasting reason.
    """

    def __init__(self, options: ProducerOptions) -> None:
        self.options = options
        self.brokers = Brokers(options, None, options.retry_backoff_ms)
        self._layouts: dict[str, Layout] = {}
        self._coordinators: dict[tuple[int, str], Address] = {}

    def __enter__(self) -> "ProduceClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.brokers.close()

    def pause(self) -> None:
        time.sleep(self.options.retry_backoff_ms / 1000)

    def layout(self, topic: str) -> Layout:
        """Return the partitions of a topic. Raises ClusterError if the topic does not exist."""
        for turn in range(TOPIC_ROUNDS):
            if topic in self._layouts:
                break
            if turn:
                self.pause()
            for one in self.brokers.metadata([topic]).topics:
                error = Errors.of(one.error_code)
                if error in (Errors.TOPIC_AUTHORIZATION_FAILED, Errors.INVALID_TOPIC_EXCEPTION):
                    raise ClusterError(f"topic {topic}: {error.name}. {error.message}")
                if one.partitions:
                    led = [p.partition_index for p in one.partitions if p.leader_id >= 0]
                    self._layouts[topic] = Layout(
                        len(one.partitions), np.array(sorted(led), np.int64)
                    )
        if topic not in self._layouts:
            raise ClusterError(
                f"topic {topic} does not exist on {self.brokers.servers}: create it, or correct the"
                " option or the column that names it"
            )
        return self._layouts[topic]

    def ask_coordinator(
        self,
        role: tuple[int, str],
        request: Message,
        kind: type[R],
        errors_of: Callable[[R], Iterable[int]],
    ) -> R:
        """Send a request to a coordinator and return its answer. The request is repeated until it
        succeeds.

        `role` is the kind of coordinator (GROUP or TRANSACTION) and the name of the group or
        transactional id. `errors_of` returns all error codes in an answer. Raises Refused for the
        first error that is not passing, and ClusterError after kafka.max.block.ms.
        """
        deadline = time.monotonic() + self.options.api_timeout_ms / 1000
        while True:
            try:
                address = self._coordinator(role)
                answer = self.brokers.ask_at(address, request, kind)
                errors = [Errors.of(code) for code in errors_of(answer) if code]
                if not errors:
                    return answer
                for error in errors:
                    if not is_passing(error) and error is not Errors.OPERATION_NOT_ATTEMPTED:
                        raise Refused(error, role[1])
                reason = f"{errors[0].name}. {errors[0].message}"
            except (OSError, ProtocolError) as broken:
                reason = reason_of(broken)
            self._coordinators.pop(role, None)
            if time.monotonic() > deadline:
                raise ClusterError(
                    f"the coordinator of {role[1]} did not agree within"
                    f" {self.options.api_timeout_ms} ms (kafka.max.block.ms): {reason}"
                )
            self.pause()

    def _coordinator(self, role: tuple[int, str]) -> Address:
        if role not in self._coordinators:
            answer = self.brokers.ask_any(
                FindCoordinatorRequest(key=role[1], key_type=role[0]), FindCoordinatorResponse
            )
            error = Errors.of(answer.error_code)
            if error is not Errors.NONE:
                if is_passing(error):
                    raise ConnectionError(f"{error.name}. {error.message}")
                raise Refused(error, role[1])
            self._coordinators[role] = answer.host, answer.port
        return self._coordinators[role]

    def new_producer(self) -> Producer:
        """Return a new idempotent producer that does not use transactions."""
        deadline = time.monotonic() + self.options.api_timeout_ms / 1000
        while True:
            answer = self.brokers.ask_any(
                InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=2**31 - 1),
                InitProducerIdResponse,
            )
            error = Errors.of(answer.error_code)
            if error is Errors.NONE:
                return Producer(answer.producer_id, answer.producer_epoch)
            if not is_passing(error) or time.monotonic() > deadline:
                raise ClusterError(f"no producer id: {error.name}. {error.message}")
            self.pause()


class _Waiting(NamedTuple):
    """A record batch that was sent or will be sent, and is not acknowledged yet."""

    rows: Rows
    encoded: bytes


class RecordWriter:
    """Writes the records of one producer. Within each partition, the order of the records is kept.

    Its methods raise SinkDataError for a record that is too large, ClusterError after
    kafka.delivery.timeout.ms, and Refused for any other error of a broker.
    """

    def __init__(
        self, client: ProduceClient, producer: Producer, transactional_id: str | None = None
    ) -> None:
        self._client = client
        self._producer = producer
        self._transactional_id = transactional_id
        self._sequences: dict[TopicPartition, int] = {}
        self._queues: dict[TopicPartition, deque[Rows]] = {}
        self._sent: dict[TopicPartition, _Waiting] = {}

    def append(self, tp: TopicPartition, rows: Rows) -> None:
        """Queue rows for a partition. The caller must call `flush` before too many rows are
        queued.
        """
        options = self._client.options
        if (largest := int(rows.sizes().max(initial=0))) > options.max_request_size:
            raise SinkDataError(
                f"a row of about {largest} bytes for {tp} is larger than kafka.max.request.size"
                f" ({options.max_request_size}): raise it and the topic's max.message.bytes, or"
                " leave the row out"
            )
        self._queues.setdefault(tp, deque()).extend(batches_of(rows, options.batch_size))

    def flush(self) -> None:
        """Send all queued rows, and wait until they are acknowledged."""
        patience = self._client.options.delivery_timeout_ms / 1000
        progress = time.monotonic()
        while any(self._queues.values()):
            acknowledged, reason = self._round()
            if acknowledged:
                progress = time.monotonic()
            if reason:
                if time.monotonic() - progress > patience:
                    raise ClusterError(
                        f"{min(tp for tp, queue in self._queues.items() if queue)} took no records"
                        f" for {self._client.options.delivery_timeout_ms} ms"
                        f" (kafka.delivery.timeout.ms): {reason}"
                    )
                self._client.pause()
                topics = sorted({tp.topic for tp, queue in self._queues.items() if queue})
                self._client.brokers.metadata(topics)

    def _round(self) -> tuple[int, str]:
        """Send one batch to each partition. Return the number of acknowledged batches, and a text
        that says what failed.
        """
        brokers = self._client.brokers
        by_leader: dict[Address, list[TopicPartition]] = {}
        done, reason = 0, ""
        for tp, queue in self._queues.items():
            address = brokers.nodes.get(brokers.leaders.get(tp, -1))
            if queue and address is None:
                reason = f"{tp} has no leader"
            elif queue and address is not None:
                by_leader.setdefault(address, []).append(tp)
        waiting = []
        for address, partitions in by_leader.items():
            try:
                brokers.connection(address).send(self._request(partitions))
                waiting.append(address)
            except OSError as broken:
                brokers.drop(address)
                reason = reason_of(broken)
        try:
            while waiting:
                address = waiting[0]
                try:
                    answer = brokers.connection(address).receive(ProduceResponse)
                    waiting.pop(0)
                except (OSError, ProtocolError) as broken:
                    waiting.pop(0)
                    brokers.drop(address)
                    reason = reason_of(broken)
                    continue
                for topic in answer.responses:
                    for one in topic.partition_responses:
                        tp = TopicPartition(topic.name, one.index)
                        error = Errors.of(one.error_code)
                        if self._take(tp, error):
                            done += 1
                        elif error is not Errors.MESSAGE_TOO_LARGE:
                            reason = f"{tp}: {error.name}. {error.message}"
        finally:
            for address in waiting:  # their answers must not be read as later ones
                brokers.drop(address)
        return done, reason

    def _request(self, partitions: list[TopicPartition]) -> ProduceRequest:
        options = self._client.options
        topics: dict[str, list[PartitionProduceData]] = {}
        for tp in partitions:
            if tp not in self._sent:
                rows = self._queues[tp][0]
                encoded = encode_batch(
                    rows,
                    timestamp_ms=time.time_ns() // 1_000_000,
                    codec=options.codec,
                    producer=self._producer,
                    sequence=self._sequences.get(tp, 0),
                )
                self._sent[tp] = _Waiting(rows, encoded)
            topics.setdefault(tp.topic, []).append(
                PartitionProduceData(index=tp.partition, records=self._sent[tp].encoded)
            )
        return ProduceRequest(
            transactional_id=self._transactional_id,
            acks=_ALL,
            timeout_ms=options.request_timeout_ms,
            topic_data=[TopicProduceData(name=name, partition_data=of) for name, of in
                        topics.items()],
        )  # fmt: skip

    def _take(self, tp: TopicPartition, error: Errors) -> bool:
        """Handle the answer for one partition. Return whether its batch is written."""
        rows = self._sent[tp].rows
        if error in (Errors.NONE, Errors.DUPLICATE_SEQUENCE_NUMBER):
            del self._sent[tp]
            self._queues[tp].popleft()
            self._sequences[tp] = (self._sequences.get(tp, 0) + len(rows)) % _MAX_SEQUENCE
            return True
        if error is Errors.MESSAGE_TOO_LARGE:
            if len(rows) == 1:
                raise SinkDataError(
                    f"a row of about {int(rows.sizes()[0])} bytes is larger than {tp} takes: raise"
                    " the topic's max.message.bytes, or leave the row out"
                )
            del self._sent[tp]
            self._queues[tp].popleft()
            half = len(rows) // 2
            self._queues[tp].extendleft([rows.slice(half, len(rows) - half), rows.slice(0, half)])
            return False
        if is_passing(error):
            return False
        raise Refused(error, str(tp))
