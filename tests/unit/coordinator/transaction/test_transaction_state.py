"""The states of a transaction."""

from kafka_edu.coordinator.transaction.transaction_state import (
    STATUS,
    VALID_PREVIOUS_STATES,
    TransactionState,
)


def test_every_state_has_a_number_and_ways_into_it() -> None:
    assert set(STATUS) == set(VALID_PREVIOUS_STATES) == set(TransactionState)
    assert sorted(STATUS.values()) == list(range(8))
