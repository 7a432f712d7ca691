"""Hidden tests of exercise 16-2: only `kafka-edu lab grade 16-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Checked

DAY_S = 86_400


def test_hours(learner: Learner, seed: int) -> None:
    """windows of an hour, and lines that may be a day late"""
    random = Random(f"hours/{seed}")
    for _ in range(6):
        checked = Checked(learner, 3_600, random.randint(7_200, DAY_S))
        now_s = random.randrange(DAY_S)
        for _ in range(20):
            now_s += random.randrange(7_200)
            checked.batch(*(max(0, now_s - random.randrange(2 * DAY_S)) for _ in range(4)))
        checked.has_open()


def test_two_counts(learner: Learner, seed: int) -> None:
    """two counters at once, each with a watermark of its own"""
    random = Random(f"two/{seed}")
    counts = [Checked(learner, 60, 30), Checked(learner, 10, 0)]
    for now_s in range(0, 3_000, 40):
        for one in random.sample(counts, random.randint(0, 2)):
            one.batch(now_s + random.randrange(100), max(0, now_s - random.randrange(200)))
    for one in counts:
        one.has_open()


def test_a_clock_that_jumps(learner: Learner, seed: int) -> None:
    """a site without visits for years, and a line from the future"""
    random = Random(f"jumps/{seed}")
    for _ in range(8):
        checked = Checked(learner, 60, random.randrange(120))
        now_s = 0
        for _ in range(12):
            now_s += random.choice((5, 70, 400 * DAY_S, 2**33))
            checked.batch(now_s, max(0, now_s - random.choice((1, 60, 200, DAY_S))))
        checked.has_open()
