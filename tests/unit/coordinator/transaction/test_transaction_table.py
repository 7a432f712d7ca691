"""The table of decisions agrees with the table of states."""

import pytest

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction.transaction_state import (
    NOTHING_OPEN,
    PREPARED,
    VALID_PREVIOUS_STATES,
    TransactionState,
)
from kafka_edu.coordinator.transaction.transaction_table import (
    TRANSACTION_TABLE,
    TransactionRequest,
    decide,
)

PAIRS = [(state, request) for state in TRANSACTION_TABLE for request in TransactionRequest]


def test_each_state_in_which_a_request_may_come_has_a_row() -> None:
    never = {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}
    assert {*TRANSACTION_TABLE} == {*TransactionState} - never
    assert all({*row} == {*TransactionRequest} for row in TRANSACTION_TABLE.values())


@pytest.mark.parametrize(("state", "request_"), PAIRS)
def test_a_next_state_may_follow_or_is_the_present_one(
    state: TransactionState, request_: TransactionRequest
) -> None:
    decision = decide(state, request_)
    if isinstance(decision, TransactionState):
        again = decision is state and request_ in (
            TransactionRequest.COMMIT,
            TransactionRequest.ABORT,
        )
        assert again or state in VALID_PREVIOUS_STATES[decision]


def test_no_decision_is_made_twice() -> None:
    for state in PREPARED:
        assert all(isinstance(decide(state, one), Errors) for one in TransactionRequest)
    for state in NOTHING_OPEN:
        ends = {decide(state, one) for one in (TransactionRequest.COMMIT, TransactionRequest.ABORT)}
        assert ends <= {state, Errors.INVALID_TXN_STATE}
