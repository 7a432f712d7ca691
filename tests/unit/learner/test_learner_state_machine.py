"""A learner's tables of state changes: each change is asked for once, and the answer is obeyed."""

from collections.abc import Callable

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.controller import partition_state_machine, replica_state_machine
from kafka_edu.controller.partition_state_machine import PartitionState
from kafka_edu.controller.replica_state_machine import ReplicaState
from kafka_edu.learner.learner_state_machine import State, adapt
from kafka_edu.learner.seams import FAILURES_ALLOWED, LearnerCode, LearnerError

from .conftest import Load

RIGHT = find_exercise("04-1").solution.read_text(encoding="utf-8")
Served = tuple[Callable[[State, State], bool], LearnerCode, list[LearnerError]]


@pytest.fixture
def serve(load: Load) -> Callable[[str], Served]:
    def make(text: str) -> Served:
        code, errors = load("04-1", text)
        return adapt(code), code, errors

    return make


def test_the_right_tables_answer_as_ours(serve: Callable[[str], Served]) -> None:
    may_become, code, errors = serve(RIGHT)
    for before in PartitionState:
        for after in PartitionState:
            right = partition_state_machine.may_become(before, after)
            assert may_become(before, after) is right
    for one in ReplicaState:
        for other in ReplicaState:
            assert may_become(one, other) is replica_state_machine.may_become(one, other)
    assert errors == []
    asked = code.calls
    assert may_become(PartitionState.NEW, PartitionState.ONLINE)
    assert code.calls == asked, "a pair is asked for once"


def test_a_change_that_the_learner_lacks_is_refused(serve: Callable[[str], Served]) -> None:
    wrong = RIGHT.replace(
        '"Online": frozenset({"New", "Online", "Offline"})', '"Online": frozenset({"New"})', 1
    )
    assert wrong != RIGHT
    may_become, _, errors = serve(wrong)
    assert may_become(PartitionState.NEW, PartitionState.ONLINE)
    assert not may_become(PartitionState.OFFLINE, PartitionState.ONLINE)
    assert errors == []


def test_nonsense_is_the_learners_fault_and_ours_answers(serve: Callable[[str], Served]) -> None:
    may_become, code, errors = serve(RIGHT.replace("return changed, refused", "return 7"))
    for number in range(FAILURES_ALLOWED):
        assert may_become(PartitionState.NEW, PartitionState.ONLINE)
        assert len(errors) == number + 1
    assert "answered 7; expected (changed, refused)" in errors[0].message
    assert code.retired
    assert not may_become(PartitionState.ONLINE, PartitionState.NEW)
    assert len(errors) == FAILURES_ALLOWED
