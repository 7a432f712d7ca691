"""Hidden tests of exercise 06-2: only `kafka-edu lab grade 06-2` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..shutdown_rows import Row, some_rows
from .public_tests import check_refusal, check_remaining, check_sort


def test_a_thousand_partitions(learner: Learner, seed: int) -> None:
    """a broker with replicas of hundreds of partitions"""
    random = Random(f"thousand/{seed}")
    rows = some_rows(random, 400, brokers=3)
    made = learner.make()
    for broker in range(3):
        check_sort(made, broker, rows)
        check_remaining(made, broker, rows)


def test_a_rolling_restart(learner: Learner, seed: int) -> None:
    """brokers stop and come back one after another; one object answers all requests"""
    random = Random(f"rolling/{seed}")
    made = learner.make()
    rows = some_rows(random, 12)
    for turn in range(24):
        broker, epoch = turn % 4, 10 * turn
        check_refusal(made, epoch - 10, epoch)
        check_refusal(made, epoch, None if random.random() < 0.3 else epoch)
        check_sort(made, broker, rows)
        moved = []
        for row in rows:
            others = [one for one in row.replicas if one != broker]
            stuck = random.random() < 0.3 or not others or row.leader != broker
            moved.append(row if stuck else row._replace(leader=random.choice(others)))
        rows = moved
        check_remaining(made, broker, rows)


def test_the_same_name_with_other_replicas(learner: Learner, seed: int) -> None:
    """partitions with equal names have different replicas: the object must not remember any"""
    random = Random(f"same/{seed}")
    made = learner.make()
    for _ in range(60):
        replicas = tuple(random.sample(range(1_000, 1_006), random.randint(1, 4)))
        leader = random.choice((*replicas, -1, None))
        rows = [Row("web-0", replicas, leader, random.random() < 0.2)]
        check_sort(made, replicas[0], rows)
        check_remaining(made, replicas[0], rows)
