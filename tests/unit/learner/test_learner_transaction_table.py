"""A learner's TransactionTable: its answers are carried out. Where it fails, our own code
answers.
"""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.errors import Errors
from kafka_edu.coordinator.transaction import transaction_coordinator, transaction_table
from kafka_edu.coordinator.transaction.transaction_state import TransactionState
from kafka_edu.coordinator.transaction.transaction_table import Decision, TransactionRequest
from kafka_edu.learner.learner_transaction_table import adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerCode, LearnerError

from .conftest import Load

Decide = Callable[[TransactionState, TransactionRequest], Decision]
Made = tuple[Decide, list[LearnerError], LearnerCode]
Make = Callable[[str], Made]
RIGHT = find_exercise("15-3").solution.read_text(encoding="utf-8")
PAIRS = [
    (state, request)
    for state in transaction_table.TRANSACTION_TABLE
    for request in TransactionRequest
]
DONE, ONGOING = TransactionState.COMPLETE_COMMIT, TransactionState.ONGOING
COMMIT, ABORT = TransactionRequest.COMMIT, TransactionRequest.ABORT


@pytest.fixture
def make(load: Load) -> Make:
    def go(text: str) -> Made:
        code, errors = load("15-3", text)
        return adapt(code), errors, code

    return go


def table(answer: str) -> str:
    """A class that always gives this answer."""
    return f"class TransactionTable:\n    def next(self, state, event):\n        return {answer}\n"


def test_the_seam_is_where_the_coordinator_looks() -> None:
    assert SEAMS["15-3"].module == transaction_coordinator.__name__
    assert vars(transaction_coordinator)[SEAMS["15-3"].name] is transaction_table.decide


def test_the_reference_decides_as_ours_does_and_each_pair_is_asked_once(make: Make) -> None:
    decide, errors, code = make(RIGHT)
    for _ in range(2):
        for state, request in PAIRS:
            assert decide(state, request) is transaction_table.decide(state, request)
    assert errors == []
    assert code.calls == 2 * len(PAIRS), "an object and a question for each pair"


def test_a_wrong_but_possible_answer_is_carried_out(make: Make) -> None:
    decide, errors, _ = make(table("state"))
    assert decide(DONE, ABORT) is DONE
    decide, more, _ = make(table("'CONCURRENT_TRANSACTIONS'"))
    assert decide(DONE, ABORT) is Errors.CONCURRENT_TRANSACTIONS
    assert errors == more == []


@pytest.mark.parametrize("answer", ["None", "7", "'Empty'", "'PrepareAbort'", "'NONE'", "['x']"])
def test_what_cannot_be_next_is_an_error_and_ours_decides(make: Make, answer: str) -> None:
    decide, errors, _ = make(table(answer))
    assert decide(ONGOING, COMMIT) is TransactionState.PREPARE_COMMIT
    assert decide(DONE, ABORT) is Errors.INVALID_TXN_STATE
    assert "next('Ongoing', 'commit') answered" in errors[0].message
    assert "expected 'PrepareCommit'" in errors[0].message
    assert "expected one of CONCURRENT_TRANSACTIONS, INVALID_TXN_STATE" in errors[1].message


@pytest.mark.parametrize("answer", ["'INVALID_TXN_STATE'", "1 / 0"])
def test_a_table_that_refuses_everything_is_named_and_ours_takes_over(
    make: Make, answer: str
) -> None:
    decide, errors, code = make(table(answer))
    for _ in range(FAILURES_ALLOWED + 2):
        assert decide(ONGOING, COMMIT) is TransactionState.PREPARE_COMMIT
    assert len(errors) == FAILURES_ALLOWED
    assert code.retired


def test_an_endless_table_ends_and_ours_decides(make: Make) -> None:
    decide, errors, _ = make(table("state").replace("return", "while True: pass\n        return"))
    assert decide(ONGOING, COMMIT) is TransactionState.PREPARE_COMMIT
    assert len(errors) == 1
