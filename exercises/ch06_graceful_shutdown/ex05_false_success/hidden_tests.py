"""Hidden tests of exercise 06-5: only `kafka-edu lab grade 06-5` runs them."""

from functools import partial
from random import Random

from kafka_edu.learner.learner import Learner

from ..handler_world import HandlerWorld, Row
from .public_tests import check


def test_large_clusters(learner: Learner, seed: int) -> None:
    """a cluster with nine brokers and a hundred partitions"""
    random = Random(f"large/{seed}")
    made = learner.make()
    world = HandlerWorld(random, 9, 100)
    for _ in range(25):
        world.go_on(partial(check, made))


def test_the_last_broker(learner: Learner, seed: int) -> None:
    """the brokers stop one after another, until none is left"""
    random = Random(f"last/{seed}")
    for _ in range(8):
        made = learner.make()
        world = HandlerWorld(random, 5, 12)
        for broker in random.sample(range(5), 5):
            world.let_go(broker, partial(check, made))


def test_other_names(learner: Learner, seed: int) -> None:
    """topics with unusual names, and broker ids above a thousand"""
    random = Random(f"names/{seed}")
    made = learner.make()
    brokers = random.sample(range(1_001, 1_030), 4)
    for _ in range(40):
        rows = []
        for number in range(5):
            replicas = tuple(random.sample(brokers, random.randint(1, 4)))
            isr = tuple(one for one in replicas if random.random() < 0.6) or replicas[:1]
            name = f"{random.choice(('a-b', 'orders', '__x'))}-{number}"
            rows.append(Row(name, replicas, isr, random.choice((*isr, -1))))
        live = [one for one in brokers if random.random() < 0.7]
        check(made, random.choice(brokers), rows, live)
