"""The state of an idempotent producer (Kafka: TransactionManager.java; KIP-98, KIP-360).

Each batch has the producer's id and epoch, and the sequence number of its first record. A broker
takes only the next sequence number of a partition. So a batch that is sent twice is stored once,
and a gap is an error. This class assigns the numbers and decides what an error means.

A gap comes from a batch that the producer gave up, or that the broker lost. Then the producer
raises its epoch by itself, and the sequence numbers of the partition begin at 0 again (KIP-360).
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from kafka_edu.clients.producer.producer_batch import ProducerBatch
from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.record.record_batch import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    increment_sequence,
)
from kafka_edu.trace.events.producer import ProducerEpochBumped, ProducerStateChanged
from kafka_edu.trace.tracer import Tracer

MAX_EPOCH: Final = 2**15 - 1


class State(StrEnum):
    """The state of the producer's id."""

    UNINITIALIZED = "UNINITIALIZED"
    INITIALIZING = "INITIALIZING"
    READY = "READY"
    FATAL_ERROR = "FATAL_ERROR"


#: state → the states that may come before it.
VALID_PREVIOUS_STATES: Final[Mapping[State, frozenset[State]]] = {
    State.UNINITIALIZED: frozenset({State.READY, State.INITIALIZING}),
    State.INITIALIZING: frozenset({State.UNINITIALIZED}),
    State.READY: frozenset({State.INITIALIZING, State.READY}),
    State.FATAL_ERROR: frozenset(State),
}

#: Errors after which the producer can send nothing more.
FATAL: Final = frozenset(
    {
        Errors.CLUSTER_AUTHORIZATION_FAILED,
        Errors.PRODUCER_FENCED,
        Errors.UNSUPPORTED_VERSION,
    }
)


class ProducerIdAndEpoch(NamedTuple):
    """A producer's id and epoch. Both are -1 if there is none."""

    producer_id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


class _Partition:
    """The sequence numbers of one partition."""

    def __init__(self, identity: ProducerIdAndEpoch) -> None:
        self.identity = identity
        self.next_sequence = 0
        self.last_acked_sequence = -1
        self.last_acked_offset = -1
        self.in_flight: list[ProducerBatch] = []
        """Batches with a sequence number and without an outcome, by sequence number."""
        self.acked_leader = (-1, -1)
        """The leader, and its epoch, that acknowledged the last batch."""


class TransactionManager:
    """Assigns sequence numbers, and decides about retries. The sender owns it.

    Transactions are not there yet, so the states are those of an idempotent producer.
    """

    def __init__(self, client_id: str, trace: Tracer | None = None) -> None:
        self._client_id = client_id
        self._trace = trace
        self.state = State.UNINITIALIZED
        self.identity = ProducerIdAndEpoch()
        self.error: KafkaException | None = None
        """The error that ended the producer, in the state FATAL_ERROR."""
        self._partitions: dict[TopicPartition, _Partition] = {}
        self._unresolved: dict[TopicPartition, int] = {}
        """Partition → the sequence number after a batch of which nobody knows whether it is
        stored.
        """
        self._to_rewrite: dict[TopicPartition, None] = {}
        """The partitions whose sequence numbers begin at 0 with the next epoch."""

    def _enter(self, state: State, reason: str) -> None:
        """Change the state. Raises ValueError for a change that the table does not have."""
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ValueError(f"an idempotent producer cannot go from {self.state} to {state}")
        before, self.state = self.state, state
        if self._trace:
            self._trace(
                ProducerStateChanged(
                    client=self._client_id,
                    before=before,
                    after=state,
                    producer_id=self.identity.producer_id,
                    epoch=self.identity.epoch,
                    reason=reason,
                )
            )

    def needs_producer_id(self) -> bool:
        """Return whether an InitProducerId request must be sent now."""
        return self.state is State.UNINITIALIZED

    @property
    def needs_id(self) -> bool:
        """Whether no batch can be sent before InitProducerId is answered."""
        return self.state in (State.UNINITIALIZED, State.INITIALIZING)

    def init_sent(self) -> None:
        """Note that an InitProducerId request is in flight."""
        self._enter(State.INITIALIZING, "InitProducerId was sent")

    def init_failed(self, error: Errors) -> None:
        """Note that InitProducerId was refused or not answered. A retriable error starts again."""
        if error in FATAL or not error.retriable:
            self.fail(KafkaException(error))
        else:
            self._enter(State.UNINITIALIZED, f"InitProducerId failed with {error.name}")

    def init_done(self, producer_id: int, epoch: int) -> None:
        """Take the producer id and epoch of an answer."""
        self.identity = ProducerIdAndEpoch(producer_id, epoch)
        self._enter(State.READY, "InitProducerId was answered")
        self._rewrite()

    def fail(self, error: KafkaException) -> None:
        """End the producer: every batch that waits fails with this error."""
        if self.state is not State.FATAL_ERROR:
            self.error = error
            self._enter(State.FATAL_ERROR, str(error))

    def _partition(self, tp: TopicPartition) -> _Partition:
        partition = self._partitions.get(tp)
        if partition is None:
            partition = self._partitions[tp] = _Partition(self.identity)
        return partition

    def may_drain(self, batch: ProducerBatch, leader: tuple[int, int]) -> bool:
        """Return whether a batch, the first of its queue, may be sent to this leader now. O(1).

        A batch that is sent again must be the oldest without an answer. A new batch must wait until
        no batch of an older epoch is in flight, and until no sequence is unresolved.

        Here our producer is stricter than Kafka's. A new leader gets one batch alone, until it has
        acknowledged one. A broker that does not know the producer takes any sequence number.
        If it refused batch 1 and then took batch 2, their order would be
        lost. And a broker remembers only five batches of a producer, so there may not be more in
        flight to two leaders.
        """
        if self.state is not State.READY:
            return False
        partition = self._partition(batch.tp)
        in_flight = partition.in_flight
        if batch.has_sequence:
            return not in_flight or in_flight[0] is batch
        if batch.tp in self._unresolved:
            return False
        if in_flight and partition.identity != self.identity:
            return False
        return not in_flight or partition.acked_leader == leader

    def assign(self, batch: ProducerBatch) -> None:
        """Give a batch that may be drained the next sequence number, unless it has one. O(1)."""
        if batch.has_sequence:
            return
        partition = self._partition(batch.tp)
        if partition.identity != self.identity:
            self._start_at_zero(batch.tp, partition)
        batch.set_producer_state(*self.identity, partition.next_sequence)
        partition.next_sequence = increment_sequence(partition.next_sequence, batch.count)
        partition.in_flight.append(batch)

    def _start_at_zero(self, tp: TopicPartition, partition: _Partition) -> None:
        """Number the batches in flight, and those that follow, from 0, in the current epoch."""
        sequence = 0
        for batch in partition.in_flight:
            batch.set_producer_state(*self.identity, sequence, reset=True)
            sequence = increment_sequence(sequence, batch.count)
        partition.identity = self.identity
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
        """Put the parts of a batch in its place."""
        partition = self._partition(batch.tp)
        at = next((i for i, each in enumerate(partition.in_flight) if each is batch), -1)
        if at >= 0:
            partition.in_flight[at : at + 1] = parts

    def failed(self, batch: ProducerBatch, error: KafkaException, exhausted: bool) -> None:
        """Note that a batch is given up.

        `exhausted` says that its retries or its time ended, so it may be stored all the same.
        """
        if error.error in FATAL:
            self.fail(error)
        if not batch.has_sequence:
            return
        self._remove(self._partition(batch.tp), batch)
        if self.state is not State.FATAL_ERROR and not exhausted:
            self._to_rewrite[batch.tp] = None

    def mark_unresolved(self, batch: ProducerBatch) -> None:
        """Note that nobody knows whether a batch that expired is stored.

        No new batch of its partition is sent until the batches in flight have their answers.
        """
        if batch.has_sequence:
            after = increment_sequence(batch.last_sequence, 1)
            self._unresolved[batch.tp] = max(self._unresolved.get(batch.tp, after), after)

    def resolve(self) -> None:
        """Look at partitions with an unresolved sequence that have nothing in flight any more.

        If the last acknowledged batch is the last one that got a number, all is well. Otherwise
        there is a gap, and the epoch is raised.
        """
        for tp in list(self._unresolved):
            partition = self._partition(tp)
            if partition.in_flight:
                continue
            if not self._is_next(partition, partition.next_sequence):
                self._to_rewrite[tp] = None
            del self._unresolved[tp]

    @staticmethod
    def _is_next(partition: _Partition, sequence: int) -> bool:
        last = partition.last_acked_sequence
        return sequence == (0 if last in (-1, MAX_SEQUENCE) else last + 1)

    def bump_epoch_if_needed(self) -> None:
        """Raise the epoch if a partition needs it. After the last epoch, ask for a new id."""
        if not self._to_rewrite or self.state is not State.READY:
            return
        if self.identity.epoch >= MAX_EPOCH:
            self.identity = ProducerIdAndEpoch()
            self._enter(State.UNINITIALIZED, "the epochs of the producer id are used up")
            return
        self.identity = self.identity._replace(epoch=self.identity.epoch + 1)
        if self._trace:
            self._trace(
                ProducerEpochBumped(
                    client=self._client_id,
                    producer_id=self.identity.producer_id,
                    epoch=self.identity.epoch,
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
        begin at 0 in a new epoch, and the batch is sent again.

        OUT_OF_ORDER_SEQUENCE_NUMBER: if a batch before this one has no answer yet, sending it again
        in order is enough. Otherwise there is a gap, so the epoch is raised.
        """
        partition = self._partition(batch.tp)
        if error is Errors.UNKNOWN_PRODUCER_ID:
            if log_start_offset >= 0 and not batch.sequence_reset:
                self._to_rewrite[batch.tp] = None
            return True
        if error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
            unresolved = self._unresolved.get(batch.tp)
            is_next = self._is_next(partition, batch.base_sequence)
            if unresolved is None and (batch.sequence_reset or not is_next):
                return True
            if unresolved is None or unresolved == batch.base_sequence:
                self._to_rewrite[batch.tp] = None
            return True
        return error.retriable

    def in_flight(self, tp: TopicPartition) -> list[ProducerBatch]:
        """Return the batches of a partition with a sequence number and without an outcome."""
        partition = self._partitions.get(tp)
        return [] if partition is None else partition.in_flight
