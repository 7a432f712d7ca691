"""Hidden tests of exercise 04-1: only `kafka-edu lab grade 04-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..state_rules import GONE, TABLES
from .public_tests import Checked


def test_two_machines(learner: Learner, seed: int) -> None:
    """a machine for partitions and one for replicas use the same names and share no state"""
    random = Random(f"two/{seed}")
    both = [Checked(learner, machine) for machine in TABLES] + [Checked(learner, "partition")]
    for _ in range(60):
        one = random.choice(both)
        one.handle(random.choices("abc", k=2), random.choice(sorted(TABLES[one.machine])))
    for one in both:
        one.states()


def test_many_names(learner: Learner, seed: int) -> None:
    """a thousand partitions are created, deleted and created again, each change by one call"""
    random = Random(f"many/{seed}")
    one = Checked(learner, "partition")
    names = [f"topic-{number}" for number in range(1000)]
    random.shuffle(names)
    for _ in range(2):
        for state in ("New", "Online", "Offline", GONE):
            one.handle(names, state)
        one.states()


def test_long_life(learner: Learner, seed: int) -> None:
    """a replica goes through every allowed change many times, and is named twice in each call"""
    random = Random(f"life/{seed}")
    one = Checked(learner, "replica")
    for _ in range(150):
        before = one.right.known.get("r", GONE)
        ways = [after for after, befores in TABLES["replica"].items() if before in befores]
        wanted = random.choice(ways)
        one.handle(["r", "r"], wanted)
        if random.random() < 0.2:
            one.states()


def test_forgotten_in_one_order(learner: Learner, seed: int) -> None:
    """one call has a name twice: the first change deletes it, so it does not exist at the second"""
    random = Random(f"again/{seed}")
    one = Checked(learner, "partition")
    names = random.choices("abcd", k=7)
    for state in ("New", "Offline", GONE, "New"):
        one.handle(names, state)
        one.states()
