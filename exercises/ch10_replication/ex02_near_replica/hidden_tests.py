"""Hidden tests of exercise 10-2: only `kafka-edu lab grade 10-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..selector_rules import Choice, Near
from .public_tests import choose, random_choice


def test_a_day_of_fetches(learner: Learner, seed: int) -> None:
    """one leader is asked three hundred times, while its followers fall behind and catch up"""
    random = Random(f"day/{seed}")
    made = learner.make()
    ends = {1: 0, 3: 0, 5: 0}
    racks = {1: "east", 3: "east", 5: "west"}
    leo = 0
    for turn in range(300):
        leo += random.randrange(4)
        for broker in ends:
            if random.random() < 0.5:
                ends[broker] = leo
        followers = tuple(
            Near(one, racks[one], ends[one], 0 if ends[one] == leo else 100 * (turn % 7))
            for one in ends
        )
        choose(made, Choice(random.choice(("east", "west", "north")), 2, "north", followers))


def test_many_followers(learner: Learner, seed: int) -> None:
    """thirty replicas in one rack, with very large offsets"""
    random = Random(f"many/{seed}")
    made = learner.make()
    for _ in range(20):
        base = random.randrange(1 << 45, 1 << 46)
        followers = tuple(
            Near(1_001 + n, "east", base + random.randrange(2), random.randrange(2))
            for n in random.sample(range(30), 30)
        )
        choose(made, Choice("east", 7, None, followers))


def test_two_partitions(learner: Learner, seed: int) -> None:
    """one object answers for many partitions in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    choices = [random_choice(random) for _ in range(8)]
    for turn in range(80):
        choose(made, choices[turn % len(choices)])
