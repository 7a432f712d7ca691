"""The states of a transaction, as its coordinator sees them.

(Kafka: TransactionState in TransactionMetadata.scala; KIP-98.)

    Empty ──→ Ongoing ──→ PrepareCommit ──→ CompleteCommit ──┐
      ↑          │                                           ├──→ Ongoing, or Empty when
      │          ├──→ PrepareAbort ──→ CompleteAbort ────────┘    the producer initialises again
      │          └──→ PrepareEpochFence ──→ PrepareAbort
    Empty, CompleteCommit, CompleteAbort ──→ Dead, when the id expires

The point of no return is the record of PrepareCommit or PrepareAbort in `__transaction_state`. Once
it is replicated, the transaction ends in that way, whichever broker is the coordinator. Before it,
any failure ends in an abort. Between Prepare and Complete, the markers are written into the
partitions. If the coordinator dies there, the record tells the next coordinator to write them
again. A marker that is written twice does no harm.

PrepareEpochFence exists only in memory. It lasts from the decision to fence a producer until the
record of PrepareAbort with the raised epoch. A producer is fenced when it initialises again or its
transaction times out.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class TransactionState(StrEnum):
    EMPTY = "Empty"
    """The producer has an id, and no transaction."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """The transaction will be committed; markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    """All markers are written."""
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The transactional id has expired; its record is about to become a tombstone."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


#: State → the states from which it may be entered. Any other transition is an error.
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

#: States without an open transaction: the id may initialise, begin, or expire.
NOTHING_OPEN: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)

#: States in which the end is decided and markers are being written.
PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

#: State → its number in the records of `__transaction_state`.
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
