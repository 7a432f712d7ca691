"""Hidden tests of exercise 08-4: only `kafka-edu lab grade 08-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import World, check


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one cluster goes through a thousand random events"""
    World(learner).run(Random(f"long/{seed}"), 1_000)


def test_many_groups(learner: Learner, seed: int) -> None:
    """three hundred groups, each of which asks twice"""
    random = Random(f"many/{seed}")
    made = learner.make()
    groups = [f"group-{random.randrange(10**6)}" for _ in range(300)]
    for _ in range(2):
        leaders = [random.randrange(-1, 4) for _ in range(50)]
        for group in groups:
            check(made, group, leaders, [0, 1, 3])


def test_long_names(learner: Learner) -> None:
    """names of groups whose hash is negative"""
    made = learner.make()
    for name in ("polygenelubricants", "a" * 200, "zzzzzz", "Z" * 31):
        check(made, name, list(range(50)), list(range(50)))
