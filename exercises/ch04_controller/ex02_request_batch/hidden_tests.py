"""Hidden tests of exercise 04-2: only `kafka-edu lab grade 04-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from .public_tests import Checked, something


def test_two_batches(learner: Learner, seed: int) -> None:
    """two batches are used at the same time, and do not share their notes"""
    random = Random(f"two/{seed}")
    both = (Checked(learner, 0, 1, 2), Checked(learner, 1, 3, 4))
    for _ in range(60):
        one = random.choice(both)
        something(one, random)
        if random.random() < 0.3:
            one.send()
    for one in both:
        one.send()


def test_a_thousand_partitions(learner: Learner, seed: int) -> None:
    """hundreds of partitions change: each live broker still gets only one request of each kind"""
    random = Random(f"thousand/{seed}")
    batch = Checked(learner, 0, 1, 3, 4)
    batch.members_changed()
    for number in random.sample(range(1000), 400):
        replicas = random.sample(range(5), 3)
        leader = next(broker for broker in replicas if broker != 2)
        batch.elected(f"t-{number}", leader, random.randint(1, 50), *replicas)
        if random.random() < 0.1:
            batch.stop(f"t-{number}", random.randrange(5), random.random() < 0.5)
    batch.send()
    batch.send()


def test_nobody_lives(learner: Learner, seed: int) -> None:
    """a batch whose requests mostly concern dead brokers"""
    random = Random(f"nobody/{seed}")
    batch = Checked(learner, 5)
    for _ in range(20):
        batch.stop(f"t-{random.randint(0, 3)}", random.randint(0, 4), random.random() < 0.5)
        batch.send()
        batch.elected(f"t-{random.randint(0, 3)}", 0, 1, 0, 1)
        batch.send()


def test_long_life(learner: Learner, seed: int) -> None:
    """one batch is sent many times, sometimes with no new note in between"""
    random = Random(f"life/{seed}")
    batch = Checked(learner, 0, 1, 2)
    for _ in range(300):
        if random.random() < 0.6:
            something(batch, random)
        if random.random() < 0.5:
            batch.send()
