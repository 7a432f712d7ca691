"""Exercise 18-4: the starter's answers depend on the order of its sets; the solution's never do."""

import runpy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from exercises.ch18_two_clocks.ex04_hash_order.material import LEAST, make, play, runs
from exercises.ch18_two_clocks.ex04_hash_order.starter import Placer
from exercises.ch18_two_clocks.placing_world import Name, RightPlacer, answer, random_calls
from exercises.runner.manifest import find_exercise

Right: Callable[[], Any] = runpy.run_path(str(find_exercise("18-4").solution))["Placer"]


@pytest.mark.parametrize("seed", range(10))
def test_the_solution_follows_the_rule_with_each_hash_seed(seed: int) -> None:
    calls = random_calls(Random(seed), 40, 20)
    rule = RightPlacer()
    wanted = [answer(rule, call) for call in calls]
    for hash_seed in range(4):
        assert play(Right(), calls, hash_seed) == wanted


def test_with_the_starter_most_runs_part() -> None:
    parted = 0
    for seed in range(20):
        calls = random_calls(Random(seed), 30, 14)
        parted += play(Placer(), calls, 1) != play(Placer(), calls, 2)
    assert parted > 15


def test_a_set_of_names_has_one_order_for_each_seed() -> None:
    """The names behave like other strings. But with one seed, their order in a set is the same on
    every machine.
    """

    def order(hash_seed: int) -> list[str]:
        return [*{Name(f"broker-{number}", hash_seed) for number in range(1, 9)}]

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2))
    assert order(1)[0] in {Name(order(1)[0], 1)}


@pytest.mark.parametrize("seed", range(10))
def test_each_learner_gets_runs_that_part_once_for_a_reason(seed: int) -> None:
    made = runs(seed)
    assert LEAST <= made.call < made.calls
    assert made.brokers >= 1
    lines = make(seed)["events.txt"].splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith(f"{made.call:>3}  "))
    assert lines[at + 1].replace("A:", "") != lines[at + 2].replace("B:", "")
    before = [line[10:] for line in lines[:at] if line.startswith("       ")]
    assert before[0::2] == before[1::2], "before it, both runs have the same answers"
