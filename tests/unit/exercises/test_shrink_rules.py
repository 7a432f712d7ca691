"""Exercise 18-3: which answers of a shrinker count as wrong, and a run that is really shrunk."""

import runpy
from typing import Any

import pytest

from exercises.ch18_two_clocks import live_shrink, shrink_rules
from exercises.ch18_two_clocks.ex03_shrink.public_tests import needs
from exercises.ch18_two_clocks.planted_run import play, scenario
from exercises.ch18_two_clocks.shrink_rules import allowed_runs, runs_of_ours
from exercises.runner.manifest import find_exercise
from exercises.runner.mismatch import Mismatch

EXERCISE = find_exercise("18-3")
Right: Any = runpy.run_path(str(EXERCISE.solution))["Shrinker"]


class Scripted:
    """A shrinker that gives the answers of a list. The test also names its shortest run."""

    def __init__(self, answers: list[object], shortest: object) -> None:
        self.answers = answers
        self.shortest = shortest

    def make(self, *_: object) -> "Scripted":
        return self

    def call(self, method: str, *_: object) -> object:
        match method:
            case "next":
                return self.answers.pop(0)
            case "shortest":
                return self.shortest
        return None


class InProcess:
    """The reference solution, asked without a process of its own."""

    def make(self, acts: int) -> "InProcess":
        self.made = Right(acts)
        return self

    def call(self, method: str, *arguments: object) -> object:
        answer = vars(Right)[method](self.made, *arguments)
        return tuple(answer) if isinstance(answer, list) else answer


def shrink(learner: Any, acts: int, *needed: int, most: int = 99) -> shrink_rules.Shrunk:
    return shrink_rules.shrink(learner, acts, needs(needed), most)


@pytest.mark.parametrize(
    ("answers", "shortest", "why"),
    [
        (["0"], (), "that is its form"),
        ([(0, 0)], (), "an act twice"),
        ([(0, 4)], (), "the acts are 0 to 3"),
        ([(3, 2, 1, 0)], (), "was played before"),
        ([(1, 2), (2, 1)], (), "was played before"),
        ([None], (1, 2, 3), "not seen to fail"),
        ([(1, 2), None], (0, 1, 2, 3), "a shorter run has failed"),
        ([(1, 2), None], None, "it is a list of acts"),
        ([(1, 2), None], (1, 2), "without act 2 it fails too"),
    ],
)
def test_a_wrong_answer_is_named(answers: list[object], shortest: object, why: str) -> None:
    with pytest.raises(Mismatch, match=why):
        shrink(Scripted(answers, shortest), 4, 1)


def test_too_many_runs_end_the_search() -> None:
    with pytest.raises(Mismatch, match="leave out large parts first"):
        shrink(Scripted([(1,), (1, 2), (1, 3)], (1,)), 4, 1, most=2)


def test_the_reference_needs_no_more_runs_than_ours() -> None:
    for needed in ([], [3], [0, 19], [4, 5, 6], list(range(20))):
        fails = needs(needed)
        ours = runs_of_ours(20, fails)
        assert shrink(InProcess(), 20, *needed) == ours
        assert ours.acts == tuple(needed)
        assert allowed_runs(20, fails) == 2 * ours.runs + 8
    assert allowed_runs(200, needs([141])) < 100, "one by one is not allowed"


@pytest.mark.labs
def test_the_reference_shrinks_a_run_with_a_planted_bug() -> None:
    steps = list(live_shrink.check_live(EXERCISE, EXERCISE.solution, lambda _: None, 30.0))
    assert [step.passed for step in steps] == [True] * 3
    assert "kill 1" in steps[1].seen


def test_without_the_bug_the_same_run_holds() -> None:
    run = scenario(live_shrink.SEED)
    assert play(run, run.acts).holds
