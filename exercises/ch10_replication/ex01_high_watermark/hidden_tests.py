"""Hidden tests of exercise 10-1: only `kafka-edu lab grade 10-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..mark_rules import Follower, State
from .public_tests import follow, lead, random_state


def test_a_long_life(learner: Learner, seed: int) -> None:
    """a leader writes and two followers fetch, 300 times; one leaves and rejoins the ISR"""
    random = Random(f"life/{seed}")
    made = learner.make()
    hw, leo, now_ms = 0, 0, 0
    ends, caught_up, isr = {1: 0, 2: 0}, {1: 0, 2: 0}, {0, 1, 2}
    for _ in range(300):
        now_ms += random.randrange(3_000)
        if random.random() < 0.5:
            leo += random.randint(1, 5)
        for broker in ends:
            if random.random() < 0.4:
                ends[broker] = min(leo, ends[broker] + random.randint(0, 8))
                if ends[broker] == leo:
                    caught_up[broker] = now_ms
        isr -= {one for one in (1, 2) if now_ms - caught_up[one] > 10_000}
        isr |= {one for one in (1, 2) if ends[one] >= hw}
        followers = tuple(Follower(one, ends[one], caught_up[one]) for one in ends)
        hw = lead(made, State(hw, leo, tuple(sorted(isr)), followers, now_ms))
        follow(made, 0, ends[1], hw)


def test_large_numbers(learner: Learner, seed: int) -> None:
    """very large offsets, and times in ms since 1970"""
    random = Random(f"large/{seed}")
    made = learner.make()
    now_ms = 1_790_000_000_000
    for _ in range(60):
        base = random.randrange(1 << 45, 1 << 46)
        ends = [base + random.randrange(-3, 4) for _ in range(3)]
        ago = [random.choice((29_999, 30_000, 30_001, 0)) for _ in range(3)]
        followers = tuple(
            Follower(1_001 + n, end, now_ms - ms)
            for n, (end, ms) in enumerate(zip(ends, ago, strict=True))
        )
        lead(made, State(base - 2, base + 3, (7, 1_003, 1_001), followers, now_ms, 30_000))
        follow(made, base, base + 2, base + random.choice((-1, 1, 3)))


def test_two_partitions(learner: Learner, seed: int) -> None:
    """one object answers for many partitions in turns, and must not mix them up"""
    random = Random(f"two/{seed}")
    made = learner.make()
    states = [random_state(random) for _ in range(8)]
    for turn in range(80):
        state = states[turn % len(states)]
        lead(made, state)
        follow(made, turn, turn + 5, state.hw)
