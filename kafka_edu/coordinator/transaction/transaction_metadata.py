"""The state of one transactional id, as its coordinator knows it.

(Kafka: TransactionMetadata.scala; KIP-98, KIP-360.) A change takes two steps. First a method
`prepare_…` checks the change against the table of states, records it as pending, and returns the
next state. That state is written to the log. When it is replicated, `complete_transition_to` makes
it the current state. If the write failed, `clear_pending` forgets the change. While one change is
pending, any other change is refused (CONCURRENT_TRANSACTIONS). So log and memory always agree.

The producer's epoch fences old processes. If two processes use the same transactional id, the
process that initialised last has the higher epoch. Every broker that knows the higher epoch refuses
the older process. Each initialisation raises the epoch by 1. If a transaction is open at that time,
the epoch is raised once more, to fence the older process before the abort. Epochs are int16. When
the last epoch is used up, the transactional id gets a new producer id, and the epoch begins at 0
again. Epoch 32767 is reserved for fencing.

A producer may retry an initialisation whose response was lost, or continue after an error. Then its
request names the producer id and the epoch that it has (KIP-360):

    the current epoch    it continues, and its epoch is raised
    the epoch before     it retries, and gets the current epoch again
    any other epoch      another process has initialised since then: PRODUCER_FENCED
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kafka_edu.common.errors import Errors, KafkaException
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.transaction.transaction_state import (
    VALID_PREVIOUS_STATES,
    TransactionState,
)
from kafka_edu.record.record_batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP

MAX_EPOCH: Final = 0x7FFF


class IllegalTransition(Exception):
    """A change that the table of states forbids, or that differs from the prepared change.

    Only a bug in this program can raise this error.
    """


class TxnTransitMetadata(NamedTuple):
    """A prepared state of a transactional id, in the form that is written to the log."""

    producer_id: int
    last_producer_id: int
    producer_epoch: int
    last_producer_epoch: int
    txn_timeout_ms: int
    state: TransactionState
    topic_partitions: frozenset[TopicPartition]
    txn_start_timestamp: int
    """The wall time in ms when the transaction began; -1 without a transaction."""
    txn_last_update_timestamp: int


def is_epoch_exhausted(epoch: int) -> bool:
    """Return whether `epoch` is the highest that a producer can get, which is 32766."""
    return epoch >= MAX_EPOCH - 1


class TransactionMetadata:
    """The state of one transactional id; TransactionStateManager owns it.

    Only that class calls `complete_transition_to`.
    """

    def __init__(
        self, transactional_id: str, producer_id: int, txn_timeout_ms: int, now_ms: int
    ) -> None:
        """Create a transactional id that was never used.

        It has no epoch until its first initialisation is in the log.
        """
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.last_producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.last_producer_epoch = NO_PRODUCER_EPOCH
        self.txn_timeout_ms = txn_timeout_ms
        self.state = TransactionState.EMPTY
        self.topic_partitions: frozenset[TopicPartition] = frozenset()
        self.txn_start_timestamp = NO_TIMESTAMP
        self.txn_last_update_timestamp = now_ms
        self.pending_state: TransactionState | None = None
        """The state that is being written to the log; None if no change is pending."""
        self.has_failed_epoch_fence = False
        """Whether an epoch was raised for fencing, but could not be written to the log.

        The next fencing must then use this epoch, and not raise it again.
        """

    def take_over(self, loaded: TxnTransitMetadata) -> None:
        """Set all fields from a state that is in the log."""
        self.producer_id, self.last_producer_id = loaded.producer_id, loaded.last_producer_id
        self.producer_epoch, self.last_producer_epoch = (
            loaded.producer_epoch,
            loaded.last_producer_epoch,
        )
        self.txn_timeout_ms, self.state, self.topic_partitions = (
            loaded.txn_timeout_ms,
            loaded.state,
            loaded.topic_partitions,
        )
        self.txn_start_timestamp, self.txn_last_update_timestamp = (
            loaded.txn_start_timestamp,
            loaded.txn_last_update_timestamp,
        )

    @property
    def is_producer_epoch_exhausted(self) -> bool:
        return is_epoch_exhausted(self.producer_epoch)

    def prepare_increment_producer_epoch(
        self, txn_timeout_ms: int, expected_epoch: int | None, now_ms: int
    ) -> TxnTransitMetadata:
        """Prepare an initialisation with the next epoch. Raises PRODUCER_FENCED.

        `expected_epoch` is the epoch that the producer names, or None; see the module's docstring.
        """
        if self.is_producer_epoch_exhausted:
            raise IllegalTransition(
                f"{self.transactional_id}: the epochs of producer {self.producer_id} are used up"
            )
        if expected_epoch is None:
            epoch, last_epoch = self.producer_epoch + 1, NO_PRODUCER_EPOCH
        elif self.producer_epoch in (NO_PRODUCER_EPOCH, expected_epoch):
            epoch, last_epoch = self.producer_epoch + 1, self.producer_epoch
        elif expected_epoch == self.last_producer_epoch:
            epoch, last_epoch = self.producer_epoch, self.last_producer_epoch
        else:
            raise KafkaException(
                Errors.PRODUCER_FENCED,
                f"{self.transactional_id} has epoch {self.producer_epoch}, not {expected_epoch}",
            )
        return self._prepare(
            TransactionState.EMPTY,
            now_ms,
            epoch=epoch,
            last_epoch=last_epoch,
            timeout_ms=txn_timeout_ms,
            start=NO_TIMESTAMP,
            partitions=(),
        )

    def prepare_producer_id_rotation(
        self, producer_id: int, txn_timeout_ms: int, now_ms: int, record_last_epoch: bool
    ) -> TxnTransitMetadata:
        """Prepare an initialisation with a new producer id, because the old epochs are used up.

        `record_last_epoch` is True if the producer has named its epoch.
        """
        if self.pending_state is not None:
            raise IllegalTransition(
                f"{self.transactional_id}: a new producer id while {self.pending_state} is pending"
            )
        last_epoch = self.producer_epoch if record_last_epoch else NO_PRODUCER_EPOCH
        return self._prepare(
            TransactionState.EMPTY,
            now_ms,
            producer_id=producer_id,
            epoch=0,
            last_epoch=last_epoch,
            timeout_ms=txn_timeout_ms,
            start=NO_TIMESTAMP,
            partitions=(),
        )

    def prepare_fence_producer_epoch(self) -> TxnTransitMetadata:
        """Prepare to raise the epoch, before the open transaction is aborted.

        Brokers then refuse the producer that has the old epoch.
        """
        epoch = self.producer_epoch if self.has_failed_epoch_fence else self.producer_epoch + 1
        if epoch > MAX_EPOCH:
            raise IllegalTransition(
                f"{self.transactional_id} cannot be fenced: its epoch is {MAX_EPOCH}"
            )
        return self._prepare(
            TransactionState.PREPARE_EPOCH_FENCE,
            self.txn_last_update_timestamp,
            epoch=epoch,
            last_epoch=NO_PRODUCER_EPOCH,
        )

    def prepare_add_partitions(
        self, added: Iterable[TopicPartition], now_ms: int
    ) -> TxnTransitMetadata:
        """Prepare to add partitions; if no transaction is open, one begins now."""
        start = self.txn_start_timestamp if self.state is TransactionState.ONGOING else now_ms
        return self._prepare(
            TransactionState.ONGOING,
            now_ms,
            partitions=self.topic_partitions.union(added),
            start=start,
        )

    def prepare_abort_or_commit(self, state: TransactionState, now_ms: int) -> TxnTransitMetadata:
        """Prepare the decision: `state` is PrepareCommit or PrepareAbort."""
        return self._prepare(state, now_ms)

    def prepare_complete(self, now_ms: int) -> TxnTransitMetadata:
        """Prepare the final state, CompleteCommit or CompleteAbort, because all markers are
        written.
        """
        committed = self.state is TransactionState.PREPARE_COMMIT
        self.has_failed_epoch_fence = False  # the previous record already has the raised epoch
        return self._prepare(
            TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT,
            now_ms,
            partitions=(),
        )

    def prepare_dead(self) -> TxnTransitMetadata:
        """Prepare the removal of a transactional id that has expired."""
        return self._prepare(TransactionState.DEAD, self.txn_last_update_timestamp, partitions=())

    def begin_abort_of_fenced(self, epoch: int, now_ms: int) -> TxnTransitMetadata:
        """Replace the pending PrepareEpochFence by PrepareAbort with the raised epoch."""
        if self.pending_state is not TransactionState.PREPARE_EPOCH_FENCE:
            raise IllegalTransition(f"{self.transactional_id}: no fencing is pending")
        self.pending_state = None
        self.producer_epoch = epoch
        self.last_producer_epoch = NO_PRODUCER_EPOCH
        return self.prepare_abort_or_commit(TransactionState.PREPARE_ABORT, now_ms)

    def _prepare(
        self,
        state: TransactionState,
        now_ms: int,
        *,
        producer_id: int | None = None,
        epoch: int | None = None,
        last_epoch: int | None = None,
        timeout_ms: int | None = None,
        partitions: Iterable[TopicPartition] | None = None,
        start: int | None = None,
    ) -> TxnTransitMetadata:
        """Record a change as pending, and return the new state; values not given stay the same."""
        if self.pending_state is not None:
            raise IllegalTransition(
                f"{self.transactional_id}: {state} while {self.pending_state} is pending"
            )
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise IllegalTransition(f"{self.transactional_id}: from {self.state} to {state}")
        self.pending_state = state
        return TxnTransitMetadata(
            self.producer_id if producer_id is None else producer_id,
            self.last_producer_id if producer_id is None else self.producer_id,
            self.producer_epoch if epoch is None else epoch,
            self.last_producer_epoch if last_epoch is None else last_epoch,
            self.txn_timeout_ms if timeout_ms is None else timeout_ms,
            state,
            self.topic_partitions if partitions is None else frozenset(partitions),
            self.txn_start_timestamp if start is None else start,
            now_ms,
        )

    def complete_transition_to(self, transit: TxnTransitMetadata) -> None:
        """Set the current state to the prepared state `transit`, which is now in the log.

        Raises IllegalTransition if `transit` does not follow from the current state.
        """
        if transit.state is not self.pending_state or transit.state in (
            TransactionState.DEAD,
            TransactionState.PREPARE_EPOCH_FENCE,
        ):
            raise IllegalTransition(
                f"{self.transactional_id}: {transit.state} is complete, and {self.pending_state}"
                " was pending"
            )
        same_producer = (transit.producer_id, transit.producer_epoch) == (
            self.producer_id,
            self.producer_epoch,
        )
        match transit.state:
            case TransactionState.EMPTY:
                bumped = transit.producer_id == self.producer_id and transit.producer_epoch in (
                    self.producer_epoch,
                    self.producer_epoch + 1,
                )
                rotated = transit.producer_epoch == 0 and transit.producer_id != self.producer_id
                fits = (
                    (bumped or rotated)
                    and not transit.topic_partitions
                    and transit.txn_start_timestamp == NO_TIMESTAMP
                )
            case TransactionState.ONGOING:
                goes_on = (
                    self.state is not TransactionState.ONGOING
                    or self.txn_start_timestamp == transit.txn_start_timestamp
                )
                fits = (
                    same_producer and goes_on and self.topic_partitions <= transit.topic_partitions
                )
            case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT:
                fits = (
                    same_producer
                    and self.topic_partitions == transit.topic_partitions
                    and self.txn_start_timestamp == transit.txn_start_timestamp
                )
            case _:
                fits = same_producer and transit.txn_start_timestamp != NO_TIMESTAMP
        if not fits:
            raise IllegalTransition(f"{self.transactional_id}: {transit} does not follow {self}")
        self.take_over(transit)
        self.pending_state = None

    def clear_pending(self) -> None:
        """Forget the prepared change, because it was not written to the log."""
        self.pending_state = None

    def __repr__(self) -> str:
        return (
            f"<{self.transactional_id} {self.state}, producer {self.producer_id} epoch"
            f" {self.producer_epoch}>"
        )
