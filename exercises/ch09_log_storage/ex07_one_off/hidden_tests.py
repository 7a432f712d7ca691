"""Hidden tests of exercise 09-7: only `kafka-edu lab grade 09-7` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Log


def test_a_large_index(learner: Learner, seed: int) -> None:
    """a segment of five hundred batches, with look-ups all over it"""
    random = Random(f"large/{seed}")
    log = Log(learner, 150)
    log.write(500)
    log.look(*random.sample(range(log.world.end), 150))


def test_two_logs(learner: Learner, seed: int) -> None:
    """two logs at once, with different intervals, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = [Log(learner, 150), Log(learner, 333)]
    for _ in range(200):
        random.choice(both).go_on(random, 1)
    for one in both:
        one.look_everywhere()


def test_large_batches(learner: Learner) -> None:
    """each batch is larger than the interval, so all batches except the first get an entry"""
    log = Log(learner, 50)
    log.write(30)
    log.look_everywhere()
    far = Log(learner, 0)
    far.write(1)
    far.write(20, gap=100_000_000)
    far.look(2, 3, 100_000_005, 100_000_006, far.world.end - 1)
