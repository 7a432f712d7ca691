"""Hidden tests of exercise 08-1: only `kafka-edu lab grade 08-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..rewrite_rules import Copied, Partition
from .public_tests import VERSIONS, ask, copied


def test_one_copy_many_clients(learner: Learner, seed: int) -> None:
    """one copy answers requests of all versions, in random order"""
    random = Random(f"turns/{seed}")
    made = learner.make()
    topics = copied(random)
    alive = random.sample(range(5), 3)
    for _ in range(60):
        ask(made, None, random.choice(VERSIONS), topics, alive)


def test_a_large_topic(learner: Learner, seed: int) -> None:
    """a topic with two hundred partitions, some of which have dead replicas"""
    random = Random(f"large/{seed}")
    made = learner.make()
    partitions = []
    for index in range(200):
        replicas = tuple(random.sample(range(1_001, 1_010), 3))
        partitions.append(Partition(0, index, replicas[0], replicas, replicas[:2], replicas[2:]))
    topics: Copied = {"large": (0, False, partitions)}
    alive = set(random.sample(range(1_001, 1_010), 7))
    for version in (0, 1, 8):
        ask(made, ["large"], version, topics, alive)


def test_nobody_lives(learner: Learner) -> None:
    """no broker is alive, and one topic of the copy has no partitions"""
    made = learner.make()
    topics: Copied = {
        "web": (0, False, (Partition(5, 0, -1, (1, 2), (1,), (1, 2)),)),
        "empty": (5, False, ()),
    }
    for version in VERSIONS:
        ask(made, None, version, topics, ())
