"""The sequence numbers of a producer (Kafka: TransactionManager.java; KIP-98, KIP-360).

Each batch has the producer's id and epoch, and the sequence number of its first record. A broker
accepts only the next sequence number of a partition. So a batch that is sent twice is stored only
once, and a gap is an error. This class assigns the numbers and decides what an error means.

A gap appears if the producer gave up a batch, or if the broker lost a batch. Then an idempotent
producer raises its epoch by itself, and the sequence numbers of the partition begin at 0 again
(KIP-360). A transactional producer must abort its transaction. Then its coordinator raises the
epoch, and all sequence numbers begin at 0. The class `Transactions` handles the program's calls and
the requests to the coordinator.
"""

from collections import deque
from collections.abc import Iterable
from typing import Final

from kafka_edu.clients.client_errors import BrokerException, ProducerFencedException
from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.clients.producer.producer_config import MAX_IN_FLIGHT_IDEMPOTENT
from kafka_edu.clients.producer.producer_state import ProducerIdAndEpoch, ProducerState, State
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.record_batch import (
    MAX_SEQUENCE,
    decrement_sequence,
    increment_sequence,
)
from kafka_edu.trace.events.producer import PartitionsAddedToTransaction, ProducerEpochBumped
from kafka_edu.trace.tracer import Tracer

MAX_EPOCH: Final = 2**15 - 1


#: Errors after which the producer can send nothing more.
FATAL: Final = frozenset(
    {
        Errors.CLUSTER_AUTHORIZATION_FAILED,
        Errors.PRODUCER_FENCED,
        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Errors.UNSUPPORTED_VERSION,
    }
)


class _Partition:
    """The sequence numbers of one partition."""

    def __init__(self, identity: ProducerIdAndEpoch) -> None:
        self.identity = identity
        self.next_sequence = 0
        self.last_acked_sequence = -1
        self.last_acked_offset = -1
        self.in_flight: list[ProducerBatch] = []
        """Batches with a sequence number and without an outcome, by sequence number."""
        self.newest: deque[int] = deque(maxlen=MAX_IN_FLIGHT_IDEMPOTENT - 1)
        """The numbers of the batches that got a sequence number last. A broker that has stored them
        still remembers them when it has stored one more.
        """
        self.acked_leader = (-1, -1)
        """The leader that acknowledged the last batch, and its epoch."""


class TransactionManager:
    """Assigns sequence numbers, and decides whether to send a batch again. The sender owns it."""

    def __init__(
        self, client_id: str, trace: Tracer | None = None, transactional_id: str | None = None
    ) -> None:
        self._client_id = client_id
        self._trace = trace
        self.transactional_id = transactional_id
        """None if the producer is only idempotent."""
        self.producer = ProducerState(client_id, trace)
        self._in_transaction: set[TopicPartition] = set()
        """The partitions that the coordinator has added to the transaction. Only their batches may
        be sent.
        """
        self.can_bump_epoch = True
        """Whether the coordinator can raise the epoch. This needs Kafka 2.5 or newer."""
        self.epoch_bump_required = False
        """Whether a transactional producer's epoch must be raised after the abort."""
        self._init_in_flight = False
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._unresolved: dict[TopicPartition, int] = {}
        """Partition → the sequence number after a batch that may or may not be stored."""
        self._to_rewrite: dict[TopicPartition, None] = {}
        """The partitions whose sequence numbers begin at 0 with the next epoch."""

    @property
    def is_transactional(self) -> bool:
        return self.transactional_id is not None

    def needs_producer_id(self) -> bool:
        """Return whether an idempotent producer must send InitProducerId now."""
        state = self.producer.state
        return state is State.UNINITIALIZED or (
            state is State.INITIALIZING and not self._init_in_flight
        )

    @property
    def needs_id(self) -> bool:
        """Whether all batches must wait for the answer to InitProducerId."""
        return self.producer.state in (State.UNINITIALIZED, State.INITIALIZING)

    def waits_for_transaction(self, tp: TopicPartition) -> bool:
        """Return whether the coordinator must add a partition before its batches can be sent."""
        return self.is_transactional and tp not in self._in_transaction

    def init_sent(self) -> None:
        """Record that an InitProducerId request is in flight."""
        self._init_in_flight = True
        if self.producer.state is not State.INITIALIZING:
            self.producer.enter(State.INITIALIZING, "InitProducerId is sent")

    def init_failed(self, error: Errors) -> None:
        """Record that InitProducerId was refused or not answered. After a retriable error, it is
        sent again.
        """
        self._init_in_flight = False
        if error in FATAL or not error.retriable:
            self.fail(KafkaException(error))

    def init_done(self, producer_id: int, epoch: int) -> None:
        """Store the producer id and epoch of an answer."""
        self._init_in_flight = False
        self.producer.identity = ProducerIdAndEpoch(producer_id, epoch)
        self.producer.enter(State.READY, "InitProducerId was answered")
        if self.is_transactional:  # nothing is in flight between transactions
            self._partitions.clear()
            self._unresolved.clear()
        self._rewrite()

    def fail(self, error: KafkaException) -> None:
        """End the producer. Every waiting batch fails with this error."""
        if not self.producer.is_fatal:
            self.producer.enter(State.FATAL_ERROR, str(error), error)

    def fenced(self) -> None:
        """End a transactional producer, because a newer producer uses its transactional id."""
        self.fail(ProducerFencedException(self.transactional_id or ""))

    def abortable(self, error: KafkaException, *, bump_epoch: bool = False) -> None:
        """Put the transaction into the state in which it must be aborted. `bump_epoch` says that
        the next transaction is safe only with a new epoch. In this case, if the coordinator cannot
        raise the epoch, the producer ends.
        """
        if self.producer.is_fatal:
            return
        if bump_epoch and not self.can_bump_epoch:
            self.fail(error)
            return
        self.epoch_bump_required = self.epoch_bump_required or bump_epoch
        if self.producer.state is not State.ABORTING_TRANSACTION:
            self.producer.enter(State.ABORTABLE_ERROR, str(error), error)

    def may_be_added(self, tp: TopicPartition) -> bool:
        """Return whether a partition is not in the transaction yet. O(1)."""
        return tp not in self._in_transaction

    @property
    def has_partitions(self) -> bool:
        """Return whether the transaction has a partition."""
        return bool(self._in_transaction)

    def partitions_added(self, partitions: Iterable[TopicPartition]) -> None:
        """Record that the coordinator has added partitions to the transaction."""
        added = tuple(partitions)
        self._in_transaction.update(added)
        if self._trace:
            self._trace(
                PartitionsAddedToTransaction(
                    client=self._client_id,
                    transactional_id=self.transactional_id or "",
                    partitions=tuple(map(str, added)),
                )
            )

    def transaction_ended(self, reason: str) -> None:
        """Record that the transaction is committed or aborted. Raise the epoch if needed.

        A batch may have expired a moment ago, so first check whether it has left a gap.
        """
        self.resolve()
        if self.producer.is_fatal:
            return
        self._in_transaction.clear()
        if self.epoch_bump_required:
            self.epoch_bump_required = False
            self.producer.enter(State.INITIALIZING, f"{reason}; the epoch must be raised")
        else:
            self.producer.enter(State.READY, reason)

    def _partition(self, tp: TopicPartition) -> _Partition:
        partition = self._partitions.get(tp)
        if partition is None:
            partition = self._partitions[tp] = _Partition(self.producer.identity)
        return partition

    def may_drain(self, batch: ProducerBatch, leader: tuple[int, int]) -> bool:
        """Return whether a batch, the first of its queue, may be sent to this leader now. O(1).

        A batch that is sent again must be the oldest batch without an answer. A new batch must wait
        until no batch of an older epoch is in flight, and until no sequence is unresolved.

        Here our producer is stricter than Kafka's. A new leader gets only one batch at first. The
        next batch waits until the leader has acknowledged one. The reason: a broker that does not
        know the producer accepts any sequence number. If it refused batch 1 and then accepted batch
        2, their order would be lost. Also, a broker remembers only five batches of a producer. So
        the oldest batch without an answer must be one of the last five. Its answer may be lost with
        the old leader, while the new leader has stored the batch and acknowledges later ones. If
        the new leader forgets it, the batch can only fail after delivery.timeout.ms, as in Kafka.
        """
        if self.is_transactional:
            if self.producer.is_fatal or batch.tp not in self._in_transaction:
                return False
        elif self.producer.state is not State.READY:
            return False
        partition = self._partition(batch.tp)
        in_flight = partition.in_flight
        if batch.has_sequence:
            return not in_flight or in_flight[0] is batch
        if batch.tp in self._unresolved:
            return False
        if not in_flight:
            return True
        return (
            partition.identity == self.producer.identity
            and partition.acked_leader == leader
            and in_flight[0].number in partition.newest
        )

    def assign(self, batch: ProducerBatch) -> None:
        """Give a batch the next sequence number, unless it has one. `may_drain` must have allowed
        it. O(1).
        """
        if batch.has_sequence:
            return
        partition = self._partition(batch.tp)
        if partition.identity != self.producer.identity:
            self._start_at_zero(batch.tp, partition)
        batch.transactional = self.is_transactional
        batch.set_producer_state(*self.producer.identity, partition.next_sequence)
        partition.next_sequence = increment_sequence(partition.next_sequence, batch.count)
        partition.in_flight.append(batch)
        partition.newest.append(batch.number)

    def _start_at_zero(self, tp: TopicPartition, partition: _Partition) -> None:
        """Number the batches in flight and all later batches from 0, in the current epoch."""
        sequence = 0
        for batch in partition.in_flight:
            batch.set_producer_state(*self.producer.identity, sequence, reset=True)
            sequence = increment_sequence(sequence, batch.count)
        partition.identity = self.producer.identity
        partition.next_sequence = sequence
        partition.last_acked_sequence = -1
        self._unresolved.pop(tp, None)

    def completed(self, batch: ProducerBatch, base_offset: int, leader: tuple[int, int]) -> None:
        """Note that a batch is stored."""
        partition = self._partition(batch.tp)
        if (batch.producer_id, batch.producer_epoch) == partition.identity:
            partition.last_acked_sequence = max(partition.last_acked_sequence, batch.last_sequence)
        if base_offset >= 0:
            partition.last_acked_offset = max(
                partition.last_acked_offset, base_offset + batch.count - 1
            )
        partition.acked_leader = leader
        self._remove(partition, batch)

    @staticmethod
    def _remove(partition: _Partition, batch: ProducerBatch) -> None:
        partition.in_flight = [each for each in partition.in_flight if each is not batch]

    def split(self, batch: ProducerBatch, parts: list[ProducerBatch]) -> None:
        """Replace a batch with its parts in the list of batches in flight."""
        partition = self._partition(batch.tp)
        at = next((i for i, each in enumerate(partition.in_flight) if each is batch), -1)
        if at >= 0:
            partition.in_flight[at : at + 1] = parts

    def failed(self, batch: ProducerBatch, error: KafkaException, exhausted: bool) -> None:
        """Record that a batch has failed.

        `exhausted` says that the batch has no retries or no time left. Such a batch may be stored
        nevertheless.
        """
        if error.error in FATAL:
            self.fail(error)
        elif self.is_transactional:
            self.abortable(error)
            self.epoch_bump_required = self.epoch_bump_required or self.can_bump_epoch
        if not batch.has_sequence:
            return
        partition = self._partition(batch.tp)
        self._remove(partition, batch)
        if self.producer.is_fatal or exhausted:
            return
        if not self.is_transactional:
            self._to_rewrite[batch.tp] = None
        elif error.error is Errors.UNKNOWN_PRODUCER_ID:
            self._start_at_zero(batch.tp, partition)
        else:
            self._close_gap(partition, batch)

    @staticmethod
    def _close_gap(partition: _Partition, refused: ProducerBatch) -> None:
        """Close the gap that a refused batch leaves, because it is not stored: lower the sequence
        numbers of the batches after it.

        Kafka: adjustSequencesDueToFailedBatch. An old coordinator does not raise the epoch, so the
        numbers continue in the next transaction.
        """
        count = refused.count
        partition.next_sequence = decrement_sequence(partition.next_sequence, count)
        for batch in partition.in_flight:
            if batch.base_sequence > refused.base_sequence:
                batch.set_producer_state(
                    batch.producer_id,
                    batch.producer_epoch,
                    decrement_sequence(batch.base_sequence, count),
                    reset=True,
                )

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        """Record that a batch has expired and may or may not be stored.

        No new batch of its partition is sent until the batches in flight have their answers.
        """
        if batch.has_sequence:
            after = increment_sequence(batch.last_sequence, 1)
            self._unresolved[batch.tp] = max(self._unresolved.get(batch.tp, after), after)

    def resolve(self) -> None:
        """Check the partitions that have an unresolved sequence and nothing in flight.

        If the last batch with a number is acknowledged, nothing is missing. Otherwise there is a
        gap, and the epoch must be raised.
        """
        for tp in list(self._unresolved):
            partition = self._partition(tp)
            if partition.in_flight:
                continue
            if not self._is_next(partition, partition.next_sequence):
                if self.is_transactional:
                    self._lost(tp)
                else:
                    self._to_rewrite[tp] = None
            del self._unresolved[tp]

    def _lost(self, tp: TopicPartition) -> None:
        """Abort the transaction, because it is unknown whether its last records are stored."""
        what = f"records of {tp} have no acknowledgement and cannot be sent again."
        self.abortable(
            BrokerException(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                what if self.can_bump_epoch else f"{what} The broker cannot raise the epoch.",
                "Abort the transaction." if self.can_bump_epoch else "Create a new producer.",
            ),
            bump_epoch=True,
        )

    @staticmethod
    def _is_next(partition: _Partition, sequence: int) -> bool:
        last = partition.last_acked_sequence
        return sequence == (0 if last in (-1, MAX_SEQUENCE) else last + 1)

    def bump_epoch_if_needed(self) -> None:
        """Raise the epoch of an idempotent producer if a partition needs it. If the epochs are used
        up, request a new id.
        """
        if not self._to_rewrite or self.producer.state is not State.READY:
            return
        if self.producer.identity.epoch >= MAX_EPOCH:
            self.producer.identity = ProducerIdAndEpoch()
            self.producer.enter(State.UNINITIALIZED, "the epochs of the producer id are used up")
            return
        identity = self.producer.identity
        self.producer.identity = identity = identity._replace(epoch=identity.epoch + 1)
        if self._trace:
            self._trace(
                ProducerEpochBumped(
                    client=self._client_id,
                    producer_id=identity.producer_id,
                    epoch=identity.epoch,
                    partitions=tuple(str(tp) for tp in self._to_rewrite),
                )
            )
        self._rewrite()

    def _rewrite(self) -> None:
        for tp in self._to_rewrite:
            self._start_at_zero(tp, self._partition(tp))
        self._to_rewrite.clear()

    def can_retry(self, batch: ProducerBatch, error: Errors, log_start_offset: int) -> bool:
        """Return whether a refused batch may be sent again. Kafka: canRetry, with KIP-360.

        UNKNOWN_PRODUCER_ID: the broker has lost the state of this producer. The sequence numbers
        begin at 0 in a new epoch, and the batch is sent again. In a transaction, it is sent again
        only if retention has removed the records before it. In this case the sequence numbers begin
        at 0 in the same epoch.

        OUT_OF_ORDER_SEQUENCE_NUMBER: if a batch before this one has no answer yet, it is enough to
        send this batch again, in order. Otherwise there is a gap, so the epoch is raised, or the
        transaction must be aborted.
        """
        partition = self._partition(batch.tp)
        if error is Errors.UNKNOWN_PRODUCER_ID:
            if log_start_offset < 0 or batch.sequence_reset:
                return True
            if not self.is_transactional:
                self._to_rewrite[batch.tp] = None
                return True
            if partition.last_acked_offset < log_start_offset:
                self._start_at_zero(batch.tp, partition)
                return True
        elif error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
            unresolved = self._unresolved.get(batch.tp)
            is_next = self._is_next(partition, batch.base_sequence)
            if unresolved is None and (batch.sequence_reset or not is_next):
                return True
            if not self.is_transactional:
                if unresolved is None or unresolved == batch.base_sequence:
                    self._to_rewrite[batch.tp] = None
                return True
        return error.retriable

    def in_flight(self, tp: TopicPartition) -> list[ProducerBatch]:
        """Return the batches of a partition with a sequence number and without an outcome."""
        partition = self._partitions.get(tp)
        return [] if partition is None else partition.in_flight
