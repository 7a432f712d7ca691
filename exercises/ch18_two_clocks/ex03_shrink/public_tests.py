"""Public tests of exercise 18-3. `kafka-edu lab check 18-3` runs them. The learner's class runs in
another process, and the fixture `learner` sends each call to it.
"""

from collections.abc import Iterable
from random import Random

from kafka_edu.learner.learner import Learner

from ..shrink_rules import Fails, allowed_runs, shrink


def needs(*sets: Iterable[int]) -> Fails:
    """Return the rule of a run that fails if it has all acts of one of these sets."""
    needed = [frozenset(one) for one in sets]
    return lambda kept: any(one <= set(kept) for one in needed)


def check(learner: Learner, acts: int, fails: Fails, *, look: bool = False) -> tuple[int, ...]:
    """Let the learner's class shrink a run, and return the acts that are left."""
    return shrink(learner, acts, fails, allowed_runs(acts, fails), look=look).acts


def test_example(learner: Learner) -> None:
    """the example of README.md: acts 2 and 5 of eight"""
    assert check(learner, 8, needs([2, 5])) == (2, 5)


def test_one_act(learner: Learner) -> None:
    """one act of sixteen is enough"""
    for act in (0, 7, 15):
        check(learner, 16, needs([act]))


def test_neighbours(learner: Learner) -> None:
    """four neighbours are needed"""
    check(learner, 16, needs(range(6, 10)))


def test_far_apart(learner: Learner) -> None:
    """the first and the last act are needed"""
    check(learner, 16, needs([0, 15]))


def test_all(learner: Learner) -> None:
    """no act can be left out"""
    check(learner, 7, needs(range(7)))


def test_none(learner: Learner) -> None:
    """the run fails without any act"""
    check(learner, 9, needs([]))


def test_single(learner: Learner) -> None:
    """a run of one act"""
    check(learner, 1, needs([0]))
    check(learner, 1, needs([]))


def test_two_ways(learner: Learner) -> None:
    """two sets of acts are enough, each by itself"""
    check(learner, 12, needs([1, 2, 9], [4, 6]))


def test_an_act_that_heals(learner: Learner) -> None:
    """act 8 heals what act 3 breaks, unless act 10 is there too"""
    check(learner, 12, lambda kept: 3 in kept and (8 not in kept or 10 in kept))


def test_few_runs(learner: Learner) -> None:
    """one act of two hundred: one run for each act would be too many"""
    check(learner, 200, needs([141]))


def test_runs(learner: Learner, seed: int) -> None:
    """twenty random runs"""
    random = Random(f"shrink/{seed}")
    for _ in range(20):
        acts = random.randint(2, 24)
        check(learner, acts, needs(random.sample(range(acts), random.randint(1, min(acts, 4)))))
