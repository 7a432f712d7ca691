"""Hidden tests of exercise 12-2: only `kafka-edu lab grade 12-2` runs them."""

from hashlib import sha512
from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Sticky, check_hash, check_key


def test_ten_thousand_hashes(learner: Learner) -> None:
    """the hashes of 10,000 keys of 0 to 40 bytes"""
    made = learner.make()
    for number in range(10_000):
        check_hash(made, sha512(str(number).encode()).digest()[: number % 41])


def test_long_keys(learner: Learner, seed: int) -> None:
    """keys of up to 5,000 bytes, and many partitions"""
    random = Random(f"long/{seed}")
    made = learner.make()
    for _ in range(40):
        check_key(made, random.randbytes(random.randrange(5_000)), random.randint(100, 9_999), [0])


def test_many_topics(learner: Learner, seed: int) -> None:
    """thirty topics at once, and leaders that come and go"""
    random = Random(f"many/{seed}")
    made = learner.make()
    topics = [Sticky(made, number + 1, f"topic-{number}") for number in range(30)]
    for _ in range(1_500):
        number = random.randrange(30)
        topic = topics[number]
        available = sorted(random.sample(range(number + 1), random.randint(0, number + 1)))
        if topic.last is None or random.random() < 0.5:
            topic.record(available)
        else:
            topic.new_batch(random.choice((topic.last, random.randrange(40))), available)


def test_two_producers(learner: Learner) -> None:
    """two producers, whose sticky partitions do not affect each other"""
    producers = [Sticky(learner.make(), 9) for _ in range(2)]
    for _ in range(20):
        for one in producers:
            home = one.record(range(9))
            one.record(range(9))
            one.new_batch(home, range(9))
