"""Exercise 13-6: the starter gives two members one partition; the solution never does."""

import runpy
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from exercises.ch13_consumer_groups.ex06_two_readers.material import LEAST, make, run
from exercises.ch13_consumer_groups.ex06_two_readers.starter import Handover
from exercises.ch13_consumer_groups.handover_world import HandoverWorld, Row, happen, right
from exercises.runner.manifest import find_exercise

Right: Callable[[], Any] = runpy.run_path(str(find_exercise("13-6").solution))["Handover"]
NAMES = "abcd"


def lived(handover: Any, seed: int) -> HandoverWorld:
    random = Random(seed)
    world = HandoverWorld(handover, random.randint(1, 9))
    for _ in range(12):
        happen(world, random, NAMES)
    return world


@pytest.mark.parametrize("seed", range(25))
def test_with_the_solution_each_partition_has_one_reader(seed: int) -> None:
    world = lived(Right(), seed)
    assert world.shared == []
    read = sorted(one for reads in world.reads.values() for one in reads)
    assert read == list(range(len(read))), "and none is left without one"
    assert world.generation > 12


def test_the_rule_is_that_of_the_solution() -> None:
    rows = [Row("a", (0, 1, 2), (0, 1)), Row("b", (3,), (2, 3)), Row("c", (), (4,))]
    assert right(rows) == Right().assign(rows) == {"a": [0, 1], "b": [3], "c": [4]}


def test_with_the_starter_two_members_read_one() -> None:
    assert sum(bool(lived(Handover(), seed).shared) for seed in range(25)) > 10


@pytest.mark.parametrize("seed", range(20))
def test_each_run_has_one_first_generation_with_two_readers(seed: int) -> None:
    made = run(seed)
    assert LEAST <= made.generation <= made.generations
    text = make(seed)["events.txt"]
    at = next(n for n, one in enumerate(made.events) if f"generation {made.generation}:" in one)
    has, gets = made.events[at], made.events[at + 1]
    numbers = [one.strip(",;") for one in f"{has} {gets}".split()]
    assert numbers.count(str(made.partition)) >= 2
    assert "missed the answer" in text
