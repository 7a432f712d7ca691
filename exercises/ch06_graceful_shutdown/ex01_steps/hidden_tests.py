"""Hidden tests of exercise 06-1: only `kafka-edu lab grade 06-1` runs them."""

from random import Random

from kafka_edu.controller.shutdown_steps import Operation
from kafka_edu.learner.learner import Learner

from .public_tests import BEGIN, Compared, comes_after, run


def test_two_hundred_attempts(learner: Learner, seed: int) -> None:
    """a broker may ask two hundred times, and hardly any attempt succeeds"""
    random = Random(f"long/{seed}")
    for _ in range(3):
        run(Compared(learner, 200, 50), random, success=0.004)


def test_two_brokers_at_once(learner: Learner, seed: int) -> None:
    """four brokers stop at the same time, and do not affect each other"""
    random = Random(f"two/{seed}")
    for _ in range(15):
        brokers = [Compared(learner, random.randint(1, 6), 10 * n) for n in range(1, 5)]
        after: dict[int, Operation] = {n: one.next(BEGIN) for n, one in enumerate(brokers)}
        while after:
            number = random.choice(sorted(after))
            came = comes_after(after[number], random, 0.1)
            if came is None:
                del after[number]
            else:
                after[number] = brokers[number].next(came)


def test_odd_settings(learner: Learner, seed: int) -> None:
    """no pause between two attempts, and controllers with the id 0 or a very large id"""
    random = Random(f"odd/{seed}")
    for _ in range(20):
        broker = Compared(learner, random.randint(2, 9), random.choice((0, 1, 60_000)))
        operation = broker.next(BEGIN)
        while (came := comes_after(operation, random, 0.05)) is not None:
            if came[0] == "controller" and came[1] == 1:
                came = "controller", random.choice((0, 1_001, 2_147_483_647))
            operation = broker.next(came)


def test_one_that_never_answers(learner: Learner, seed: int) -> None:
    """every attempt fails, because each connection breaks"""
    random = Random(f"never/{seed}")
    for retries in (1, 2, random.randint(10, 40)):
        broker = Compared(learner, retries, 300)
        operation = broker.next(BEGIN)
        while operation[0] != "stop":
            came = comes_after(operation, random, 0.0)
            assert came is not None
            operation = broker.next(("failed",) if operation[0] in ("connect", "ask") else came)
