"""Hidden tests of exercise 01-5: only a grade (`kafka-edu lab grade`) runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..versions import KAFKA_20, KAFKA_28, Broker, Known
from .public_tests import API_VERSIONS, BASIC, FETCH, Checked

HIGHEST = 2**15 - 1
"""The highest possible version, because the field has 16 bits."""
KEYS = 300
"""The number of rows. In the flexible format this count takes more than one byte."""


def test_two_connections(learner: Learner, seed: int) -> None:
    """two connections at the same time, to an old and a new broker"""
    random = Random(f"two/{seed}")
    for _ in range(10):
        known: Known = {**BASIC, API_VERSIONS: random.choice(((0, 1, 2, 3), (0, 1, 2, 3, 7)))}
        old = Checked(learner, known, Broker(KAFKA_20, tells=random.random() < 0.5))
        new = Checked(learner, known, Broker(KAFKA_28))
        for one in random.sample((old, new), 2):
            one.negotiates()
        for _ in range(3):
            random.choice((old, new)).picks()
        old.picks()
        new.picks()


def test_far_versions(learner: Learner, seed: int) -> None:
    """versions up to the highest that the field can hold, with gaps"""
    random = Random(f"far/{seed}")
    for _ in range(15):
        low = random.randint(0, HIGHEST - 300)
        served = {**KAFKA_28, FETCH: (low, random.randint(low, HIGHEST))}
        some = sorted({*random.sample(range(low, low + 300), 8), random.choice((0, HIGHEST))})
        client = Checked(learner, {**BASIC, FETCH: some}, Broker(served))
        client.negotiates()
        client.picks()


def test_a_long_table(learner: Learner, seed: int) -> None:
    """a broker that serves 300 api keys"""
    random = Random(f"long/{seed}")
    for _ in range(6):
        served = {key: (0, random.randint(0, 15)) for key in range(KEYS)}
        served[API_VERSIONS] = (0, random.randint(0, 3))
        known: Known = {key: range(random.randint(1, 12)) for key in range(0, KEYS, 3)}
        client = Checked(learner, {**known, API_VERSIONS: range(4)}, Broker(served))
        client.negotiates()
        client.picks(random.sample(range(KEYS + 20), 60))
