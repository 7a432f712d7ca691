"""Hidden tests of exercise 13-2: only `kafka-edu lab grade 13-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..assignor_rules import Owner
from .public_tests import check, live, web


def test_long_lives(learner: Learner, seed: int) -> None:
    """groups of up to twenty members that live through forty rebalances"""
    random = Random(f"long/{seed}")
    for _ in range(4):
        live(learner, random, rebalances=40, most_members=20, most_partitions=90)


def test_a_large_group(learner: Learner) -> None:
    """a hundred members have a thousand partitions, and one member leaves"""
    members = [Owner(f"m{n}", web(*range(10 * n, 10 * n + 10)), 8) for n in range(99)]
    check(learner, {"web": 1_000}, members)
    check(learner, {"web": 990}, [*members, Owner("new")])


def test_a_rolling_restart(learner: Learner) -> None:
    """each member leaves and comes back under a different id: the others keep what they had"""
    group = {f"m{n}": web(*range(4 * n, 4 * n + 4)) for n in range(5)}
    for n in range(5):
        del group[f"m{n}"]
        for newcomer in ([], [Owner(f"again-{n}")]):
            old = [Owner(name, has, 2 * n + 1) for name, has in group.items()]
            given = check(learner, {"web": 20}, [*old, *newcomer])
            group = {name: tuple((topic, at) for topic, at in has) for name, has in given.items()}
