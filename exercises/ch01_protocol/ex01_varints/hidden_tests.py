"""Hidden tests of exercise 01-1: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..varints import BITS, Rules
from .public_tests import Checked


def some_number(random: Random, bits: int) -> int:
    """Return a random number that fits into `bits` bits, with a random length."""
    number = random.getrandbits(random.randint(1, bits - 1))
    return -number - 1 if random.random() < 0.5 else number


def test_data_that_grows(learner: Learner, seed: int) -> None:
    """the bytes of a connection come one by one, and the same object reads them again each time"""
    random = Random(f"grows/{seed}")
    for bits in BITS:
        one = Checked(learner.make(bits), bits)
        data = b"".join(Rules(bits).write(some_number(random, bits)) for _ in range(6))
        for end in range(len(data) + 1):
            for at in (0, end // 2):
                one.reads(data[:end], at)


def test_a_long_stream(learner: Learner, seed: int) -> None:
    """three hundred numbers, one after the other, each read from where the last one ended"""
    random = Random(f"stream/{seed}")
    rules = Rules(64)
    numbers = [some_number(random, 64) for _ in range(300)]
    data = b"".join(map(rules.write, numbers))
    one = Checked(learner.make(64), 64)
    at = 0
    for number in numbers:
        one.reads(data, at)
        at += len(one.writes(number))


def test_both_at_once(learner: Learner, seed: int) -> None:
    """an object for 32 bits and one for 64 bits, used in turns on the same bytes"""
    random = Random(f"both/{seed}")
    both = [Checked(learner.make(bits), bits) for bits in BITS]
    for _ in range(60):
        data = random.randbytes(random.randint(0, 14))
        long = Rules(64).write(random.randint(2**40, 2**62))
        for one in both:
            one.reads(data, random.randint(0, len(data)))
            one.reads(long)


def test_bytes_of_all_kinds(learner: Learner, seed: int) -> None:
    """bytes with random lengths: right, too long, null, and below null"""
    random = Random(f"bytes/{seed}")
    one = Checked(learner.make(32), 32)
    for _ in range(60):
        length = random.choice((-3, -2, -1, 0, 1, 5, 200, 2**31 - 1))
        data = (
            random.randbytes(2) + Rules(32).write(length) + random.randbytes(random.randint(0, 9))
        )
        one.reads_bytes(data, 2)
