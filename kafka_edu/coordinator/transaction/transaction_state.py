"""The states of a transaction, as its coordinator sees them.

(Kafka: TransactionState in TransactionMetadata.scala; KIP-98.)

    Empty ──→ Ongoing ──→ PrepareCommit ──→ CompleteCommit ──┐
      ↑          │                                           ├──→ Ongoing, or Empty when
      │          ├──→ PrepareAbort ──→ CompleteAbort ────────┘    the producer initialises again
      │          └──→ PrepareEpochFence ──→ PrepareAbort
    Empty, CompleteCommit, CompleteAbort ──→ Dead, when the id expires

The decision is the record of PrepareCommit or PrepareAbort in `__transaction_state`. Once this
record is replicated, the transaction must end in that way, whichever broker is the coordinator.
Before that, any failure ends in an abort. Between Prepare and Complete, the markers are written
into the partitions. If the coordinator dies in that time, the next coordinator reads the record and
writes the markers again. A marker that is written twice does no harm.

PrepareEpochFence exists only in memory. It lasts from the decision to fence a producer until the
record of PrepareAbort with the raised epoch is written. A producer is fenced when it initialises
again or its transaction times out.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class TransactionState(StrEnum):
    EMPTY = "Empty"
    """The producer has an id, but has not begun a transaction."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """The transaction will be committed, and its markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    """The transaction is committed, and all its markers are written."""
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The transactional id has expired, and a tombstone for it is being written."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


#: New state → the old states from which it may be entered. Any other transition is an error.
VALID_PREVIOUS_STATES: Final[Mapping[TransactionState, frozenset[TransactionState]]] = {
    TransactionState.EMPTY: frozenset(
        {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
    ),
    TransactionState.ONGOING: frozenset(
        {
            TransactionState.ONGOING,
            TransactionState.EMPTY,
            TransactionState.COMPLETE_COMMIT,
            TransactionState.COMPLETE_ABORT,
        }
    ),
    TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
    TransactionState.PREPARE_ABORT: frozenset(
        {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE}
    ),
    TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
    TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
    TransactionState.DEAD: frozenset(
        {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
    ),
    TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
}

#: States without an open transaction. In them a producer may initialise or begin a transaction, and
#: the id may expire.
NOTHING_OPEN: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)

#: States in which commit or abort is decided, and the markers are being written.
PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

#: State → the number that stands for it in the records of `__transaction_state`.
STATUS: Final[Mapping[TransactionState, int]] = {
    TransactionState.EMPTY: 0,
    TransactionState.ONGOING: 1,
    TransactionState.PREPARE_COMMIT: 2,
    TransactionState.PREPARE_ABORT: 3,
    TransactionState.COMPLETE_COMMIT: 4,
    TransactionState.COMPLETE_ABORT: 5,
    TransactionState.DEAD: 6,
    TransactionState.PREPARE_EPOCH_FENCE: 7,
}

STATE_OF_STATUS: Final[Mapping[int, TransactionState]] = {
    status: state for state, status in STATUS.items()
}
