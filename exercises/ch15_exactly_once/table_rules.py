"""Compute the right answers of exercise 15-3 with the coordinator's own table."""

from collections.abc import Mapping
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction.transaction_state import NOTHING_OPEN, TransactionState
from kafka_edu.coordinator.transaction.transaction_table import (
    TRANSACTION_TABLE,
    TransactionRequest,
    decide,
)

S = TransactionState
STATES: Final = tuple(map(str, TransactionState))
REQUESTS: Final = tuple(map(str, TransactionRequest))
CHANGES: Final[Mapping[str, Mapping[TransactionState, TransactionState]]] = {
    "timeout": {S.ONGOING: S.PREPARE_EPOCH_FENCE},
    "fenced": {S.PREPARE_EPOCH_FENCE: S.PREPARE_ABORT},
    "written": {S.PREPARE_COMMIT: S.COMPLETE_COMMIT, S.PREPARE_ABORT: S.COMPLETE_ABORT},
    "unused": dict.fromkeys(NOTHING_OPEN, S.DEAD),
}
"""The events that are not requests, with the change that each makes."""
EVENTS: Final = (*REQUESTS, *CHANGES)


def right(state: str, event: str) -> str | None:
    """Return the right answer for this state and event."""
    before = TransactionState(state)
    if event in CHANGES:
        after = CHANGES[event].get(before)
        return None if after is None else str(after)
    if before not in TRANSACTION_TABLE:
        return Errors.CONCURRENT_TRANSACTIONS.name
    decision = decide(before, TransactionRequest(event))
    return decision.name if isinstance(decision, Errors) else str(decision)
