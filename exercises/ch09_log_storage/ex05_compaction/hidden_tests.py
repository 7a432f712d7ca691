"""Hidden tests of exercise 09-5: only `kafka-edu lab grade 09-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Compared, random_log, row, whole_pass


def test_two_passes(learner: Learner, seed: int) -> None:
    """two passes over two logs at the same time, with the same keys"""
    random = Random(f"two/{seed}")
    logs = [random_log(random), random_log(random)]
    passes = [Compared(learner, 0), Compared(learner, 0)]
    for compared, log in zip(passes, logs, strict=True):
        compared.note(log)
    for compared, log in zip(passes, logs, strict=True):
        compared.keep(log, log[-1][0] + 1, young=False)


def test_many_keys(learner: Learner, seed: int) -> None:
    """thousands of keys with different lengths"""
    random = Random(f"many/{seed}")
    keys = [f"key-{number}" * random.randint(1, 4) for number in range(800)]
    log = [row(offset, random.choice(keys)) for offset in range(2_500)]
    whole_pass(learner, log, 900, piece=500)
    whole_pass(learner, log, 0, 300, piece=500)


def test_large_offsets(learner: Learner, seed: int) -> None:
    """offsets beyond 32 bits"""
    random = Random(f"large/{seed}")
    first = 1 << 40
    log = [(first + offset, key, value) for offset, key, value in random_log(random)]
    whole_pass(learner, log, first + 20)
