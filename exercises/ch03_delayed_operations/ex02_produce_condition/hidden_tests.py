"""Hidden tests of exercise 03-2: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..produce_rules import NONE, Appended, State
from .public_tests import CheckedProduce

FAR = 2**33
"""The first offset in a log that has been written for years."""


def some_state(random: Random, one: Appended) -> State:
    """Return a random state of a partition, mostly without a fault."""
    return State(
        random.random() > 0.04,
        random.random() > 0.04,
        one.leader_epoch + (random.random() < 0.04),
        max(0, one.required_offset + random.randint(-3, 1)),
        tuple(range(random.randint(1, 3))),
        random.randint(1, 2),
    )


def test_a_log_of_years(learner: Learner, seed: int) -> None:
    """offsets that need more than 32 bits, as in an old log"""
    random = Random(f"years/{seed}")
    for _ in range(15):
        one = Appended("web-0", NONE, FAR + random.randint(1, 50), random.randint(0, 9))
        made = CheckedProduce(learner, one)
        for _ in range(4):
            made.look_at({one.name: some_state(random, one)})


def test_fifty_partitions(learner: Learner, seed: int) -> None:
    """a request with fifty partitions: look is called until all of them are settled"""
    random = Random(f"fifty/{seed}")
    parts = [Appended(f"web-{number}", NONE, random.randint(1, 9), 1) for number in range(50)]
    made = CheckedProduce(learner, *parts)
    for _ in range(8):
        made.look_at({one.name: some_state(random, one) for one in parts})
    made.expire()


def test_many_requests_at_once(learner: Learner, seed: int) -> None:
    """ten requests wait for the same partitions, and do not share their answers"""
    random = Random(f"many/{seed}")
    parts = [Appended(name, NONE, 20, 4) for name in ("web-0", "pay-0")]
    requests = [
        CheckedProduce(learner, *(one._replace(required_offset=20 + n) for one in parts))
        for n in range(10)
    ]
    for hw in range(17, 32, 2):
        states = {one.name: State(leader_epoch=4, hw=hw + random.randint(0, 1)) for one in parts}
        for request in random.sample(requests, 6):
            request.look_at(states)
    for request in requests:
        request.expire()


def test_nothing_but_errors(learner: Learner, seed: int) -> None:
    """every partition's append has failed, or the first look finds an error"""
    random = Random(f"errors/{seed}")
    for _ in range(10):
        parts = [
            Appended(name, random.choice((NONE, "CORRUPT_MESSAGE", "MESSAGE_TOO_LARGE")), 5, 2)
            for name in ("a-0", "b-0", "c-0")
        ]
        made = CheckedProduce(learner, *parts)
        made.look_at({one.name: State(leader=False) for one in parts if random.random() < 0.7})
        made.expire()
