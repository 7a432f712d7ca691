"""Hidden tests of exercise 12-4: only `kafka-edu lab grade 12-4` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..callback_world import live
from .public_tests import batch_of, checked, world_of


def test_a_long_life(learner: Learner, seed: int) -> None:
    """one producer with twenty partitions, and six hundred records"""
    with checked(world_of(learner)) as world:
        limits = {f"web-{n}": 1 + n % 4 for n in range(20)}
        live(world, Random(f"long/{seed}"), limits, 600)


def test_two_producers(learner: Learner, seed: int) -> None:
    """two producers, whose batches have the same numbers, must not be mixed up"""
    random = Random(f"two/{seed}")
    with checked(world_of(learner)) as first, checked(world_of(learner)) as second:
        halves = [
            one.divide(batch_of(one, 6, [random.randrange(6)]), (3, 3)) for one in (first, second)
        ]
        for one, parts in zip((second, first), reversed(halves), strict=True):
            for part in one.divide(parts[1], (1, 2)):
                one.end(part)
            one.end(parts[0])


def test_divided_ten_times(learner: Learner) -> None:
    """a large batch is divided ten times, and one part is left at the end"""
    with checked(world_of(learner)) as world:
        part, size = batch_of(world, 40), 40
        for cut in (9, 7, 5, 4, 3, 3, 2, 2, 1, 1):
            front, part = world.divide(part, (cut, size - cut))
            size -= cut
            world.end(front)
        world.end(part)
