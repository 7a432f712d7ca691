"""Learners' parts of chapter 06: their answers are carried out. Where a part fails, our own code
answers.
"""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from exercises.runner.manifest import find_exercise
from kafka_edu.common.errors import Errors
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.controller import active_controller
from kafka_edu.controller.shutdown_rule import Concerned, ShutdownRule
from kafka_edu.controller.shutdown_steps import BEGIN, ShutdownSteps
from kafka_edu.learner import learner_recovery, learner_shutdown_rule, learner_shutdown_steps
from kafka_edu.learner.learner_shutdown_steps import Steps
from kafka_edu.learner.seams import FAILURES_ALLOWED, SEAMS, LearnerError
from kafka_edu.log import log, log_loader
from kafka_edu.log.recovery_rule import RecoveryRule
from kafka_edu.server import controlled_shutdown

from .conftest import Load

Made = tuple[Any, list[LearnerError]]
Make = Callable[[str, str], Made]
ADAPT: dict[str, Callable[..., Any]] = {
    "06-1": learner_shutdown_steps.adapt,
    "06-2": learner_shutdown_rule.adapt,
    "06-3": learner_recovery.adapt,
}
ROW = Concerned(TopicPartition("web", 0), (2, 0), 2, False)


@pytest.fixture
def make(load: Load) -> Make:
    def go(exercise: str, text: str) -> Made:
        code, errors = load(exercise, text)
        return ADAPT[exercise](code), errors

    return go


def right(exercise: str) -> str:
    return find_exercise(exercise).solution.read_text(encoding="utf-8")


def answering(name: str, answer: str, *methods: str) -> str:
    """A class that gives one answer to everything."""
    lines = [f"    def {method}(self, *_):\n        return {answer}\n" for method in methods]
    return f"class {name}:\n    def __init__(self, *_):\n        pass\n" + "".join(lines)


def test_the_seams_are_where_the_broker_looks() -> None:
    for exercise, module, ours in (
        ("06-1", controlled_shutdown, ShutdownSteps),
        ("06-2", active_controller, ShutdownRule),
        ("06-3", log_loader, RecoveryRule),
    ):
        seam = SEAMS[exercise]
        assert seam.module == module.__name__
        assert vars(module)[seam.name] is ours
    assert SEAMS["06-3"].also_in == (log.__name__,)
    assert log.RecoveryRule is RecoveryRule


# 06-1


def steps(make: Make, text: str, retries: int = 3) -> tuple[Steps, list[LearnerError]]:
    made, errors = make("06-1", text)
    return made(retries, 500), errors


def test_the_reference_asks_as_ours_does(make: Make) -> None:
    made, errors = make("06-1", right("06-1"))
    theirs, ours = made(2, 500), ShutdownSteps(2, 500)
    for came in (
        BEGIN,
        ("controller", 1),
        ("connected",),
        ("answer", "NONE", ["web-0"]),
        ("waited",),
        ("controller", 0),
        ("failed",),
    ):
        assert theirs.next(came) == ours.next(came)
    assert errors == []


def test_a_broker_may_stop_too_early(make: Make) -> None:
    theirs, errors = steps(make, answering("Shutdown", '("stop", True)', "next"))
    assert theirs.next(BEGIN) == ("stop", True)
    assert errors == []


@pytest.mark.parametrize(
    "answer",
    ["None", "('go',)", "('find', 1)", "('connect',)", "('stop', 1)", "('wait', -1)", "'find'"],
)
def test_no_operation_is_an_error_and_our_steps_begin(make: Make, answer: str) -> None:
    theirs, errors = steps(make, answering("Shutdown", answer, "next"))
    assert theirs.next(BEGIN) == ("find",)
    assert theirs.next(("controller", 0)) == ("connect", 0)
    [error] = errors
    assert error.exercise == "06-1"
    assert "answered" in error.message


def test_a_wait_that_is_too_long_is_an_error(make: Make) -> None:
    theirs, errors = steps(make, answering("Shutdown", '("wait", 60_001)', "next"))
    assert theirs.next(BEGIN) == ("find",)
    assert "it waits 0 to 60,000 ms" in errors[0].message


def test_steps_without_end_end(make: Make) -> None:
    theirs, errors = steps(make, answering("Shutdown", '("wait", 0)', "next"), retries=2)
    came = BEGIN
    for _ in range(16):
        assert theirs.next(came) == ("wait", 0)
        came = ("waited",)
    assert theirs.next(came) == ("find",)
    assert "after 16 operations it still does not stop" in errors[0].message


# 06-2


def test_the_reference_sorts_as_ours_does(make: Make) -> None:
    made, errors = make("06-2", right("06-2"))
    theirs, ours, random = made(), ShutdownRule(), Random(6)
    rows = []
    for number in range(450):  # more than one call takes
        replicas = tuple(random.sample(range(4), random.randint(1, 3)))
        leader = random.choice((*replicas, -1, None))
        rows.append(Concerned(TopicPartition("t", number), replicas, leader, random.random() < 0.2))
    for broker in range(4):
        assert theirs.sort(broker, rows) == ours.sort(broker, rows)
        assert theirs.remaining(broker, rows) == ours.remaining(broker, rows)
    for asked in (-1, 3, 5):
        for live in (None, 4):
            assert theirs.refusal(asked, live) is ours.refusal(asked, live)
    assert errors == []


def test_what_is_forgotten_stays(make: Make) -> None:
    text = answering("ControlledShutdown", "([], [])", "sort") + (
        "    def remaining(self, *_):\n        return []\n"
    )
    made, errors = make("06-2", text)
    theirs = made()
    assert theirs.sort(2, [ROW]) == ([], [])
    assert theirs.remaining(2, [ROW]) == []
    assert errors == []


@pytest.mark.parametrize("answer", ["None", "[['web-1'], []]", "[['web-0', 'web-0'], []]", "[1]"])
def test_a_name_that_was_not_asked_is_an_error_and_ours_sorts(make: Make, answer: str) -> None:
    made, errors = make("06-2", answering("ControlledShutdown", answer, "sort", "refusal"))
    theirs = made()
    assert theirs.sort(2, [ROW]) == ShutdownRule().sort(2, [ROW])
    assert theirs.refusal(-1, None) is Errors.BROKER_NOT_AVAILABLE
    assert [error.exercise for error in errors] == ["06-2", "06-2"]


# 06-3


def test_the_reference_recovers_as_ours_does(make: Make) -> None:
    made, errors = make("06-3", right("06-3"))
    theirs, ours, random = made(), RecoveryRule(), Random(6)
    assert made() is theirs
    for _ in range(100):
        bases = sorted(random.sample(range(90), random.randint(1, 6)))
        point, end, clean = random.randint(0, 99), 100, random.random() < 0.3
        assert theirs.to_read(bases, point, clean) == ours.to_read(bases, point, clean)
        asked = (point, bases[0], end, clean)
        assert theirs.at_start(*asked) == ours.at_start(*asked)
        assert theirs.after_flush(point, 50, end) == ours.after_flush(point, 50, end)
        assert theirs.after_truncation(point, 50) == ours.after_truncation(point, 50)
        assert theirs.after_deletion(point, 50) == ours.after_deletion(point, 50)
    assert errors == []


def test_a_point_in_the_log_is_taken_and_one_outside_is_an_error(make: Make) -> None:
    made, errors = make("06-3", answering("Recovery", "7", "after_flush", "after_truncation"))
    assert made().after_flush(3, 20, 30) == 7
    assert errors == []
    assert made().after_truncation(3, 5) == 3
    assert "expected an offset from 0 to 5" in errors[0].message


def test_a_segment_that_is_not_there_is_an_error(make: Make) -> None:
    made, errors = make("06-3", answering("Recovery", "[5]", "to_read"))
    assert made().to_read([0, 10], 4, False) == [0, 10]
    assert "expected base offsets of [0, 10]" in errors[0].message


@pytest.mark.parametrize("exercise", ADAPT)
def test_after_three_failures_ours_stays(make: Make, exercise: str) -> None:
    methods = ("next", "sort", "remaining", "to_read")
    name = {"06-1": "Shutdown", "06-2": "ControlledShutdown", "06-3": "Recovery"}[exercise]
    made, errors = make(exercise, answering(name, "1 / 0", *methods))
    for _ in range(FAILURES_ALLOWED + 2):
        if exercise == "06-1":
            assert made(1, 1).next(BEGIN) == ("find",)
        elif exercise == "06-2":
            assert made().remaining(2, [ROW]) == [ROW.partition]
        else:
            assert made().to_read([0], 0, False) == [0]
    assert len(errors) == FAILURES_ALLOWED
    assert "ZeroDivisionError" in errors[0].message
