"""Hidden tests of exercise 05-2: only `kafka-edu lab grade 05-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Checked, play


def test_polled_late(learner: Learner, seed: int) -> None:
    """the machine is busy: many ticks pass from one poll to the next"""
    random = Random(f"late/{seed}")
    play(Checked(learner, 500), random, ticks=25, step_ms=4_300)


def test_polled_early(learner: Learner, seed: int) -> None:
    """there are many polls in each tick"""
    random = Random(f"early/{seed}")
    play(Checked(learner, 2_000), random, ticks=80, step_ms=170)


def test_two_servers(learner: Learner, seed: int) -> None:
    """two trackers with different ticks, which do not affect each other"""
    random = Random(f"two/{seed}")
    both = (Checked(learner, 500), Checked(learner, 3_000, 900))
    for _ in range(3):
        for one in both:
            one.add(
                random.randint(1, 10**6), random.randint(100, 5_000), random.randint(900, 1_400)
            )
    for now_ms in range(1_500, 9_000, 700):
        for one in both:
            for session in list(one.right.sessions)[:1]:
                one.touch(session, now_ms)
            one.poll(now_ms)


def test_sessions_longer_than_all(learner: Learner, seed: int) -> None:
    """some sessions may last for hours, others only for one tick"""
    random = Random(f"long/{seed}")
    play(Checked(learner, 1_000), random, ticks=50, step_ms=1_000, longest=9_000_000)
