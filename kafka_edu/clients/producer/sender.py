"""Sends the batches of the accumulator, and handles the answers (Kafka: Sender.java).

`run` finds the brokers for which a batch is ready, takes the batches out of the accumulator, and
sends one request to each broker. `_on_response` handles the answers later. A batch ends in one of
three ways: it is acknowledged, it is put back to be sent again, or it fails.
"""

import logging
from collections.abc import Callable, Iterable
from typing import Final

from kafka_edu.clients.client_connections import ClientConnections
from kafka_edu.clients.client_errors import (
    BrokerException,
    ClientException,
    ProducerClosedException,
    TimeoutException,
    TransactionAbortedException,
    UnsupportedVersionException,
)
from kafka_edu.clients.metadata import NEVER, NO_LEADER, Metadata
from kafka_edu.clients.producer.producer_batch import Outcome, ProducerBatch
from kafka_edu.clients.producer.producer_config import ProducerConfig
from kafka_edu.clients.producer.producer_state import State
from kafka_edu.clients.producer.record_accumulator import PartitionQueue, RecordAccumulator
from kafka_edu.clients.producer.transaction_manager import TransactionManager
from kafka_edu.clients.producer.transactions import Transactions
from kafka_edu.common.config_def import MAX_INT
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from kafka_edu.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kafka_edu.protocol.messages.registry import REGISTRY
from kafka_edu.protocol.schema import Message
from kafka_edu.record.compression import CompressionType
from kafka_edu.record.record_batch import NO_TIMESTAMP
from kafka_edu.trace.events.producer import BatchAcknowledged, BatchFailed, BatchRetried
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

#: Errors that show that the client's metadata is out of date (Kafka: InvalidMetadataException).
STALE_METADATA: Final = frozenset(
    {
        Errors.UNKNOWN_TOPIC_OR_PARTITION,
        Errors.LEADER_NOT_AVAILABLE,
        Errors.NOT_LEADER_OR_FOLLOWER,
        Errors.REPLICA_NOT_AVAILABLE,
        Errors.NETWORK_EXCEPTION,
        Errors.KAFKA_STORAGE_ERROR,
        Errors.LISTENER_NOT_FOUND,
        Errors.FENCED_LEADER_EPOCH,
        Errors.UNKNOWN_LEADER_EPOCH,
    }
)
_FIRST_BATCH_FORMAT: Final = 3
"""The first version of Produce with v2 batches."""
_FIRST_ZSTD: Final = 7


class Sender:
    """Moves batches from the accumulator to the brokers. The producer's event loop owns it."""

    def __init__(
        self,
        config: ProducerConfig,
        metadata: Metadata,
        accumulator: RecordAccumulator,
        connections: ClientConnections,
        transaction_manager: TransactionManager | None,
        transactions: Transactions | None,
        trace: Tracer | None = None,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._accumulator = accumulator
        self._connections = connections
        self._txn = transaction_manager
        self._transactions = transactions
        self._trace = trace
        self._in_flight: dict[ProducerBatch, None] = {}
        """The batches in requests without an answer, including those that have expired."""
        self._guarantee_order = config.max_in_flight == 1 and not config.idempotent
        self._init_again_ms = -NEVER
        self._next_ready_ms = NEVER
        """The time at which another batch becomes ready, according to the last `run`."""
        self.acked = self.failed = self.retried = 0
        """The numbers of acknowledged records, failed records, and batches that were put back."""

    def run(self, now: float) -> bool:
        """Send each request that can be sent now, and fail the batches whose time is over.

        Return whether a request was sent. If so, call `run` again, because more may be ready.
        """
        connections = self._connections
        connections.poll(now)
        self._next_ready_ms = NEVER
        txn = self._txn
        if txn is not None:
            txn.resolve()
            txn.bump_epoch_if_needed()
            if txn.producer.is_fatal:
                self._fail_all(_of_broker(txn.producer.error))
                if self._transactions is not None:
                    self._transactions.run(now, False)
                return False
            if (
                not txn.is_transactional
                and self._accumulator.queued
                and txn.needs_producer_id()
                and now >= self._init_again_ms
            ):
                self._init_producer_id(now)
                if txn.producer.is_fatal:  # the brokers do not support idempotent producers
                    self._fail_all(_of_broker(txn.producer.error))
                    return False
        self._expire(now)
        if self._transactions is not None:
            self._run_transactions(self._transactions, now)
        if not self._accumulator.queued:
            return False
        ready = self._accumulator.ready(self._metadata, now)
        self._next_ready_ms = now + ready.next_ms
        for topic in ready.unknown_topics:
            self._metadata.use(topic, now)
            self._metadata.request_update()
        if ready.unknown_topics:
            connections.poll(now)
        sent = False
        for node, queues in ready.queues.items():
            if not connections.ready(node, now):
                continue
            drained = self._accumulator.drain(
                node, queues, self._config.max_request_size, self._may_drain, self._assign, now
            )
            if drained:
                self._send(node, drained, now)
                sent = True
        return sent

    def _run_transactions(self, transactions: Transactions, now: float) -> None:
        """Send the requests of the transaction. If it is being aborted, its batches are not sent.

        EndTxn is sent only after each request with batches has its answer, even if the batches have
        expired. Otherwise a broker could append such a batch after the transaction's end.
        """
        assert self._txn is not None
        producer = self._txn.producer
        self._accumulator.completing = producer.is_ending
        if producer.state in (State.ABORTING_TRANSACTION, State.ABORTABLE_ERROR):
            error = producer.error
            for batch in self._accumulator.take_unsent():
                reason = TransactionAbortedException() if error is None else _of_broker(error)
                self._give_up(batch, reason)
        transactions.run(now, bool(self._accumulator.incomplete or self._in_flight))

    def _leader(self, batch: ProducerBatch) -> tuple[int, int]:
        """Return the leader of the batch's partition, and its epoch."""
        info = self._metadata.topics.get(batch.tp.topic)
        if info is None or batch.tp.partition >= len(info):
            return NO_LEADER, -1
        partition = info.partitions[batch.tp.partition]
        return partition.leader, partition.leader_epoch

    def _in_order(self, batch: ProducerBatch) -> bool:
        """Return whether a batch may be sent now without changing the order of its partition.

        Samples of the producer's state call this method too, so it must change nothing.
        """
        return self._txn is None or self._txn.may_drain(batch, self._leader(batch))

    def _may_drain(self, batch: ProducerBatch) -> bool:
        return self._in_order(batch)

    def _assign(self, batch: ProducerBatch) -> None:
        if self._txn is not None:
            self._txn.assign(batch)

    @property
    def in_flight(self) -> Iterable[ProducerBatch]:
        """The batches in requests without an answer, including those that have expired."""
        return self._in_flight

    def wait_of(self, queue: PartitionQueue, now: float) -> tuple[str, float]:
        """Return why the first batch of a queue is not sent now. If it waits for a time, also
        return how many ms are left. `PartitionBuffer.wait` lists the reasons.
        """
        batch = queue.batches[0]
        if queue.muted:
            return "order", 0
        left = self._accumulator.wait_ms(queue, now)
        if left > 0:
            return ("backoff" if batch.attempts else "linger"), left
        leader, _ = self._leader(batch)
        if leader == NO_LEADER:
            return "no leader", 0
        held = self._connections.held_back_by(leader, now)
        if held:
            return held, 0
        if self._txn is not None and self._txn.needs_id:
            return "producer id", 0
        if self._txn is not None and self._txn.waits_for_transaction(batch.tp):
            return "transaction", 0
        return ("ready" if self._in_order(batch) else "order"), 0

    def next_run_ms(self, now: float) -> float:
        """Return the number of ms until `run` must be called next. NEVER if nothing waits.

        This method does not ask the accumulator, because the last `run` has stored the
        accumulator's answer. Code that adds a batch later wakes the sender.
        """
        due = self._connections.next_poll_ms(now)
        if self._transactions is not None:
            due = min(due, self._transactions.next_run_ms(now))
        if self._accumulator.queued:
            due = min(due, max(self._next_ready_ms - now, 0))
            if self._init_again_ms > now:
                due = min(due, self._init_again_ms - now)
        for batch in self._accumulator.incomplete:  # the oldest one expires first
            due = min(due, max(batch.created_ms + self._config.delivery_timeout_ms - now, 0))
            break
        return due

    def _init_producer_id(self, now: float) -> None:
        assert self._txn is not None
        node = self._connections.least_loaded(now)
        if node is None:
            return
        newest = REGISTRY[ApiKey.INIT_PRODUCER_ID].max_version
        version = self._connections.version(node, ApiKey.INIT_PRODUCER_ID, newest)
        if version < 0:
            self._txn.fail(
                UnsupportedVersionException(
                    "The broker has no idempotent producers.",
                    "Set enable.idempotence to false, or use a broker from 0.11 on.",
                )
            )
            return
        self._txn.init_sent()
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=MAX_INT)
        self._connections.send(node, request, version, now, self._on_producer_id)

    def _on_producer_id(self, answer: Message | None, now: float) -> None:
        assert self._txn is not None
        if not isinstance(answer, InitProducerIdResponse):
            self._init_again_ms = now + self._config.retry_backoff_ms
            self._txn.init_failed(Errors.NETWORK_EXCEPTION)
        elif (error := Errors.of(answer.error_code)) is not Errors.NONE:
            self._init_again_ms = now + self._config.retry_backoff_ms
            self._txn.init_failed(error)
        else:
            self._txn.init_done(answer.producer_id, answer.producer_epoch)

    def _send(self, node: int, batches: list[ProducerBatch], now: float) -> None:
        version = self._connections.version(
            node, ApiKey.PRODUCE, REGISTRY[ApiKey.PRODUCE].max_version
        )
        least = (
            _FIRST_ZSTD if self._config.compression is CompressionType.ZSTD else _FIRST_BATCH_FORMAT
        )
        if version < least:
            error = UnsupportedVersionException(
                f"Broker {node} does not know version {least} of Produce.",
                "Use a newer broker, or another compression.type.",
            )
            for batch in batches:
                self._fail(batch, error, exhausted=False, now=now)
            return
        by_topic: dict[str, list[PartitionProduceData]] = {}
        leader_epochs: dict[ProducerBatch, tuple[int, int]] = {}
        for batch in batches:
            leader_epochs[batch] = self._leader(batch)
            self._in_flight[batch] = None
            if self._guarantee_order:
                self._accumulator.mute(batch.tp, True)
            by_topic.setdefault(batch.tp.topic, []).append(
                PartitionProduceData(index=batch.tp.partition, records=batch.data)
            )
        request = ProduceRequest(
            transactional_id=self._config.transactional_id,
            acks=self._config.acks,
            timeout_ms=self._config.request_timeout_ms,
            topic_data=[
                TopicProduceData(name=topic, partition_data=data)
                for topic, data in by_topic.items()
            ],
        )
        on_response: Callable[[Message | None, float], None] | None = None
        if self._config.acks:

            def on_response(answer: Message | None, at: float) -> None:
                self._on_response(leader_epochs, answer, at)

        if self._trace and self._trace.hops:
            with self._trace.because(batches[0].cause):
                event = self._connections.send(node, request, version, now, on_response)
            for batch in batches:
                batch.cause = event
        else:
            self._connections.send(node, request, version, now, on_response)
        if not self._config.acks:
            for batch in batches:
                self._leave_flight(batch)
                self._complete(batch, -1, NO_TIMESTAMP, (NO_LEADER, -1), now)

    def _leave_flight(self, batch: ProducerBatch) -> None:
        self._in_flight.pop(batch, None)
        if self._guarantee_order:
            self._accumulator.mute(batch.tp, False)

    def _on_response(
        self, sent: dict[ProducerBatch, tuple[int, int]], answer: Message | None, now: float
    ) -> None:
        """Handle the answer for every batch of a request. No answer means that the connection was
        lost.
        """
        found: dict[tuple[str, int], PartitionProduceResponse] = {}
        if isinstance(answer, ProduceResponse):
            for topic in answer.responses:
                for each in topic.partition_responses:
                    found[topic.name, each.index] = each
        for batch, leader in sent.items():
            self._leave_flight(batch)
            result = found.get(batch.tp)
            if batch.done:
                continue
            if result is None:
                error, message = Errors.NETWORK_EXCEPTION, self._connections.last_failure
                self._on_error(batch, error, message, -1, now)
            elif result.error_code in (0, Errors.DUPLICATE_SEQUENCE_NUMBER):
                base = result.base_offset if result.error_code == 0 else -1
                self._complete(batch, base, result.log_append_time_ms, leader, now)
            else:
                self._on_error(
                    batch,
                    Errors.of(result.error_code),
                    result.error_message or "",
                    result.log_start_offset,
                    now,
                )

    def _on_error(
        self, batch: ProducerBatch, error: Errors, message: str, log_start_offset: int, now: float
    ) -> None:
        if error in STALE_METADATA:
            self._metadata.request_update()
        if error is Errors.MESSAGE_TOO_LARGE and batch.count > 1:
            parts = self._accumulator.split(batch, now)
            if self._txn is not None:
                self._txn.split(batch, parts)
            return
        in_time = now - batch.created_ms < self._config.delivery_timeout_ms
        again = in_time and batch.attempts < self._config.retries
        if again and self._may_retry(batch, error, log_start_offset):
            if self._trace:
                with self._trace.because(batch.cause):
                    batch.cause = self._trace(
                        BatchRetried(
                            client=self._config.client_id,
                            topic=batch.tp.topic,
                            partition=batch.tp.partition,
                            batch=batch.number,
                            attempts=batch.attempts + 1,
                            error=error.name,
                        )
                    )
            self.retried += 1
            batch.last_error = error
            self._accumulator.reenqueue(batch, now)
            return
        if not again and self._txn is not None:
            self._txn.mark_unresolved(batch)
        self._fail(batch, BrokerException(error, message), exhausted=not again, now=now)

    def _may_retry(self, batch: ProducerBatch, error: Errors, log_start_offset: int) -> bool:
        if self._txn is not None:
            return self._txn.can_retry(batch, error, log_start_offset)
        return error.retriable

    def _complete(
        self,
        batch: ProducerBatch,
        base_offset: int,
        log_append_time: int,
        leader: tuple[int, int],
        now: float,
    ) -> None:
        if self._txn is not None:
            self._txn.completed(batch, base_offset, leader)
        if self._trace and self._trace.hops:
            with self._trace.because(self._trace.cause or batch.cause):
                batch.cause = self._trace(
                    BatchAcknowledged(
                        client=self._config.client_id,
                        topic=batch.tp.topic,
                        partition=batch.tp.partition,
                        batch=batch.number,
                        records=batch.count,
                        base_offset=base_offset,
                        took_ms=int(now - batch.created_ms),
                    )
                )
        self.acked += batch.count
        self._end(batch, Outcome(base_offset, log_append_time, None))

    def _fail(
        self, batch: ProducerBatch, error: KafkaException, *, exhausted: bool, now: float
    ) -> None:
        if self._txn is not None:
            self._txn.failed(batch, error, exhausted)
        self._give_up(batch, error)

    def _give_up(self, batch: ProducerBatch, error: KafkaException) -> None:
        """End a batch with an error."""
        if self._trace:
            with self._trace.because(batch.cause):
                batch.cause = self._trace(
                    BatchFailed(
                        client=self._config.client_id,
                        topic=batch.tp.topic,
                        partition=batch.tp.partition,
                        batch=batch.number,
                        records=batch.count,
                        error=str(error),
                    )
                )
        self.failed += batch.count
        self._end(batch, Outcome(-1, NO_TIMESTAMP, error))

    def _end(self, batch: ProducerBatch, outcome: Outcome) -> None:
        self._accumulator.release(batch)
        batch.finish(outcome, _log_bug)

    def _expire(self, now: float) -> None:
        """Fail the batches whose delivery.timeout.ms is over, whether queued or in flight."""
        limit = self._config.delivery_timeout_ms
        oldest = next(iter(self._accumulator.incomplete), None)
        if oldest is None or now - oldest.created_ms < limit:
            return
        late = self._accumulator.expired(limit, now)
        late += [b for b in self._in_flight if not b.done and now - b.created_ms >= limit]
        for batch in late:
            if self._txn is not None:
                self._txn.mark_unresolved(batch)
            reason, advice = self._reason_of_delay(batch)
            error = TimeoutException(
                f"Expiring {batch.count} record(s) for {batch.tp}: {now - batch.created_ms:.0f} ms"
                f" has passed since batch creation.{reason}",
                advice,
            )
            self._fail(batch, error, exhausted=True, now=now)

    def _reason_of_delay(self, batch: ProducerBatch) -> tuple[str, str | None]:
        """Return why a batch was not stored in time, and what to do."""
        of_topic = self._metadata.errors.get(batch.tp.topic, Errors.NONE)
        if of_topic is Errors.UNKNOWN_TOPIC_OR_PARTITION:
            return " The brokers do not know the topic any more.", "Check that the topic exists."
        if batch.last_error not in (Errors.NONE, Errors.NETWORK_EXCEPTION):
            return f" The last answer was {batch.last_error.name}.", None
        failure = self._connections.last_failure
        return (f" The last connection ended because: {failure}." if failure else ""), None

    def _fail_all(self, error: ClientException) -> None:
        """Fail all batches, because the producer can send nothing more."""
        for batch in [*self._in_flight, *self._accumulator.take_all()]:
            if not batch.done:
                self._fail(batch, error, exhausted=True, now=batch.drained_ms)

    def abort(self, now: float) -> None:
        """Fail all batches without an answer, because the producer closes."""
        self._fail_all(
            ProducerClosedException(
                "The producer was closed before the record was acknowledged.",
                "Give close() more time, or call flush() first.",
            )
        )
        self._connections.close_all("the producer was closed", now)
        if self._transactions is not None:
            self._transactions.close(now)


def _of_broker(error: KafkaException | None) -> ClientException:
    assert error is not None
    return error if isinstance(error, ClientException) else BrokerException(error.error)


def _log_bug(error: Exception) -> None:
    log.error("A record's callback failed. The producer continues.", exc_info=error)
