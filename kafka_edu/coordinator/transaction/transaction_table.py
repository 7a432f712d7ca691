"""The coordinator's decision about a producer's request, for each state of its transaction.

(Kafka: TransactionCoordinator.scala, where the decisions are spread over its handlers.) The table's
entry for a state and a kind of request is the next state, or the error in the response. If the
entry for a commit or an abort is the current state, the transaction has already ended in this way.
The producer then gets a success, because the response to its first request may have been lost.

`transaction_state` has the table of the states themselves. While a change of state is being
written, no request is decided: it gets CONCURRENT_TRANSACTIONS.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction.transaction_state import TransactionState


class TransactionRequest(StrEnum):
    """A producer's request."""

    INIT = "init"
    """InitProducerId: a process begins with this transactional id."""
    ADD = "add"
    """AddPartitionsToTxn and AddOffsetsToTxn."""
    COMMIT = "commit"
    """EndTxn that commits."""
    ABORT = "abort"
    """EndTxn that aborts."""


Decision = TransactionState | Errors
_WRITES_MARKERS: Final = dict.fromkeys(TransactionRequest, Errors.CONCURRENT_TRANSACTIONS)
_NOTHING_OPEN: Final[Mapping[TransactionRequest, Decision]] = {
    TransactionRequest.INIT: TransactionState.EMPTY,
    TransactionRequest.ADD: TransactionState.ONGOING,
    TransactionRequest.COMMIT: Errors.INVALID_TXN_STATE,
    TransactionRequest.ABORT: Errors.INVALID_TXN_STATE,
}
TRANSACTION_TABLE: Final[Mapping[TransactionState, Mapping[TransactionRequest, Decision]]] = {
    TransactionState.EMPTY: _NOTHING_OPEN,
    TransactionState.ONGOING: {
        TransactionRequest.INIT: TransactionState.PREPARE_EPOCH_FENCE,
        TransactionRequest.ADD: TransactionState.ONGOING,
        TransactionRequest.COMMIT: TransactionState.PREPARE_COMMIT,
        TransactionRequest.ABORT: TransactionState.PREPARE_ABORT,
    },
    TransactionState.PREPARE_COMMIT: {
        **_WRITES_MARKERS,
        TransactionRequest.ABORT: Errors.INVALID_TXN_STATE,
    },
    TransactionState.PREPARE_ABORT: {
        **_WRITES_MARKERS,
        TransactionRequest.COMMIT: Errors.INVALID_TXN_STATE,
    },
    TransactionState.COMPLETE_COMMIT: {
        **_NOTHING_OPEN,
        TransactionRequest.COMMIT: TransactionState.COMPLETE_COMMIT,
    },
    TransactionState.COMPLETE_ABORT: {
        **_NOTHING_OPEN,
        TransactionRequest.ABORT: TransactionState.COMPLETE_ABORT,
    },
}
"""State → request → decision. In the two other states, a change is pending or the id is gone."""


def decide(state: TransactionState, request: TransactionRequest) -> Decision:
    """Return the next state, or the error in the response. O(1)."""
    return TRANSACTION_TABLE[state][request]
