"""Exercise 15-3 in a live broker: a learner's TransactionTable decides about producers' requests.

The learner's code is called only once for each state and request, and its answer is kept. A wrong
answer is used if possible: the producer gets a wrong error, or a success for a commit although the
transaction was aborted. It is an error in the learner's code to refuse a valid request, to name a
state that cannot be next, or to give an answer that is neither a state nor an error. The shipped
table then decides.
"""

from collections.abc import Callable
from typing import Final

from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction import transaction_table
from kafka_edu.coordinator.transaction.transaction_state import TransactionState
from kafka_edu.coordinator.transaction.transaction_table import Decision, TransactionRequest
from kafka_edu.learner.seams import LearnerCode, LearnerError

REFUSALS: Final = {
    error.name: error for error in (Errors.CONCURRENT_TRANSACTIONS, Errors.INVALID_TXN_STATE)
}


def adapt(code: LearnerCode) -> Callable[[TransactionState, TransactionRequest], Decision]:
    """Return the function that replaces `decide` in a transaction coordinator."""
    known: dict[tuple[TransactionState, TransactionRequest], Decision] = {}

    def decide(state: TransactionState, request: TransactionRequest) -> Decision:
        ours = transaction_table.decide(state, request)
        if code.retired:
            return ours
        pair = state, request
        if pair not in known:
            try:
                known[pair] = _ask(code, state, request, ours)
            except LearnerError as error:
                code.failed(error)
                return ours
        return known[pair]

    return decide


def _ask(
    code: LearnerCode, state: TransactionState, request: TransactionRequest, ours: Decision
) -> Decision:
    """Return the learner's decision. Raises LearnerError if it cannot be used."""
    answer = code.ask(code.make(), "next", str(state), str(request))
    if isinstance(ours, Errors):
        if isinstance(answer, str) and answer in REFUSALS:
            return REFUSALS[answer]
        ends = request in (TransactionRequest.COMMIT, TransactionRequest.ABORT)
        if answer == state and ends:
            return state  # the producer gets a success, and nothing happens
    elif answer == ours:
        return ours
    expected = f"one of {', '.join(REFUSALS)}" if isinstance(ours, Errors) else repr(str(ours))
    raise code.blame(
        f"next({str(state)!r}, {str(request)!r}) answered {answer!r}; expected {expected}"
    )
