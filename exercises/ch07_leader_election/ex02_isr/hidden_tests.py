"""Hidden tests of exercise 07-2: only `kafka-edu lab grade 07-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..isr_rules import Follower
from .public_tests import join, leave


def test_a_long_life_of_an_isr(learner: Learner, seed: int) -> None:
    """an ISR is checked two hundred times, while five followers fall behind and catch up"""
    random = Random(f"long/{seed}")
    made = learner.make()
    isr, now_ms = [9, 0, 1, 2, 3, 4], 0
    caught_up = dict.fromkeys(range(5), 0)
    for _ in range(200):
        now_ms += 5_000
        for broker in caught_up:
            if random.random() < 0.75:
                caught_up[broker] = now_ms - random.randint(0, 400)
        followers = [Follower(*pair) for pair in caught_up.items()]
        gone = leave(made, isr, followers, now_ms)
        isr = [one for one in isr if one not in gone]
        for broker in caught_up:
            if broker not in isr:
                leo, hw = random.randint(90, 110), random.randint(95, 105)
                join(made, leo, hw, random.randint(90, 105))
                if leo >= hw:
                    isr.append(broker)


def test_large_numbers(learner: Learner, seed: int) -> None:
    """times in ms since 1970, and very large offsets"""
    random = Random(f"large/{seed}")
    made = learner.make()
    now_ms = 1_790_000_000_000
    for _ in range(60):
        ago = [random.choice((29_999, 30_000, 30_001, 0)) for _ in range(3)]
        followers = [Follower(1_001 + n, now_ms - ms) for n, ms in enumerate(ago)]
        leave(made, (7, 1_003, 1_001), followers, now_ms, 30_000)
        leo = random.randrange(1 << 45, 1 << 46)
        join(made, leo, leo + random.choice((-1, 0, 1)), leo + random.choice((-1, 0, 1)))


def test_two_partitions(learner: Learner, seed: int) -> None:
    """one object answers for two partitions in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    for turn in range(80):
        isr = (2, 0, 1) if turn % 2 else (2, 1)
        leave(made, isr, (Follower(0, 0), Follower(1, random.randrange(20_000))), 20_000)
        join(made, turn, 40, 20)
