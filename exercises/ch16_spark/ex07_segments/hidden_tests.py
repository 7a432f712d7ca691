"""Hidden tests of exercise 16-7: only `kafka-edu lab grade 16-7` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..segments_made import Batch, random_batches, written
from .public_tests import Checked


def test_large(learner: Learner, seed: int) -> None:
    """many batches, a dense index and a sparse one"""
    batches = list(random_batches(Random(seed), 150))
    for interval in (1, 3_000):
        one = Checked(learner, written(batches, 77_000_000_000, interval=interval, active=True))
        one.codecs()
        one.longest_walk()
        for offset in one.offsets()[::17]:
            one.start(offset)
            one.find(offset)


def test_two_segments(learner: Learner) -> None:
    """two Segment objects do not share their data"""
    one = Checked(learner, written([Batch(2), Batch(3)] * 5, 0))
    other = Checked(learner, written([Batch(4, codec=1)] * 9, 500, active=True))
    for _ in range(2):
        for each in (one, other):
            each.batches()
            each.codecs()
            each.find(each.made.rows[-1].first)


def test_cut_anywhere(learner: Learner, seed: int) -> None:
    """the last batch is cut at any place: in its records, in its head, or before its first byte"""
    random = Random(f"cut/{seed}")
    for _ in range(25):
        batches = [Batch(random.randint(1, 4)) for _ in range(random.randint(1, 6))]
        missing = random.randint(1, 68)
        one = Checked(learner, written([*batches, Batch(1)], 2**40, cut=missing))
        one.batches()
        one.codecs()
        one.longest_walk()
