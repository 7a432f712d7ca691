"""States of a transaction, as its coordinator sees them (Kafka: TransactionState in
TransactionMetadata.scala; KIP-98).

    Empty ──→ Ongoing ──→ PrepareCommit ──→ CompleteCommit ──┐
      ↑          │                                           ├──→ Ongoing, or Empty when the producer initialises again
      │          ├──→ PrepareAbort ──→ CompleteAbort ────────┘
      │          └──→ PrepareEpochFence ──→ PrepareAbort             Empty, CompleteCommit, CompleteAbort ──→ Dead, when the id expires

The point of no return is the record of PrepareCommit or PrepareAbort in `__transaction_state`: once
it is replicated, the transaction ends that way, whoever the coordinator is. Before it, whatever
happens ends in an abort. Between Prepare and Complete the markers are written into the partitions;
a coordinator that dies there leaves a record that tells the next one to write them again. A marker
written twice does no harm.

PrepareEpochFence exists only in memory, between the decision to fence a producer (it initialised
again, or its time is up) and the record of PrepareAbort with the raised epoch.
"""  # noqa: E501

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class TransactionState(StrEnum):
    EMPTY = "Empty"
    """The producer has an id, and no transaction."""
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    """It will be committed; markers are being written."""
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    """All markers are written."""
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    """The transactional id has expired; its record is about to become a tombstone."""
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"


#: state → the states it may be entered from. What is not here is an error.
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

#: No transaction is open: the id may initialise, begin, or expire.
NOTHING_OPEN: Final = frozenset(
    {TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT}
)

#: The end is decided, and markers are being written.
PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})

#: state → its number in the records of `__transaction_state`.
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
