"""Hidden tests of exercise 04-5: only `kafka-edu lab grade 04-5` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner
from kafka_edu.protocol.api_keys import ApiKey

from ..orders_rules import METHODS, State
from .public_tests import Checked, some_states


def test_the_same_broker_again(learner: Learner, seed: int) -> None:
    """two brokers are the controller in turns, and the old requests of each one come late"""
    random = Random(f"turns/{seed}")
    broker = Checked(learner)
    for epoch in range(1, 40):
        for _ in range(3):
            late = max(1, epoch - random.choice((0, 0, 2, 2, 3)))
            broker.do(random.choice(list(METHODS)), late % 2, late, *some_states(random, epoch))


def test_two_brokers(learner: Learner, seed: int) -> None:
    """two brokers get requests of different controllers, and do not affect each other"""
    random = Random(f"two/{seed}")
    brokers = (Checked(learner), Checked(learner))
    for number in range(80):
        epoch = max(1, number // 4 - random.choice((0, 0, 3)))
        one = brokers[0] if random.random() < 0.3 else brokers[1]
        one.do(random.choice(list(METHODS)), epoch % 5, epoch, *some_states(random, 20))


def test_a_flood_of_old_orders(learner: Learner, seed: int) -> None:
    """a hundred requests of an old controller arrive between requests of the present one"""
    random = Random(f"flood/{seed}")
    broker = Checked(learner)
    broker.do(ApiKey.LEADER_AND_ISR, 0, 5, State("web-0", 0, 1))
    for _ in range(100):
        broker.do(random.choice(list(METHODS)), 0, 5, *some_states(random, 90))
        if random.random() < 0.1:
            broker.do(ApiKey.UPDATE_METADATA, 1, 6, *some_states(random, 9))


def test_epochs_that_leap(learner: Learner, seed: int) -> None:
    """controller epochs that rise by thousands, and a controller with the broker id 0"""
    random = Random(f"leap/{seed}")
    broker = Checked(learner)
    highest = 0
    for _ in range(60):
        highest += random.choice((0, 1, 5_000))
        for epoch in (highest, max(0, highest - 1)):
            broker.do(random.choice(list(METHODS)), 0, epoch, *some_states(random, 50))
