"""Hidden tests of exercise 07-1: only `kafka-edu lab grade 07-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..election_rules import Case
from .public_tests import ALL, OFFLINE, PREFERRED, SHUTDOWN, check, some


def test_one_rule_for_many_elections(learner: Learner, seed: int) -> None:
    """one object handles three hundred elections, and must not remember any of them"""
    random = Random(f"one/{seed}")
    made = learner.make()
    for _ in range(300):
        check(made, some(random))


def test_the_same_partition_in_other_states(learner: Learner, seed: int) -> None:
    """the replicas and the ISR stay the same, while brokers die and come back"""
    random = Random(f"same/{seed}")
    made = learner.make()
    replicas = tuple(random.sample(range(6), 4))
    isr = tuple(random.sample(replicas, 3))
    for _ in range(150):
        live = tuple(one for one in random.sample(range(6), 6) if random.random() < 0.6)
        going = tuple(one for one in replicas if random.random() < 0.3)
        check(made, Case(random.choice(ALL), replicas, isr, live, going, random.random() < 0.5))


def test_a_life_of_a_partition(learner: Learner, seed: int) -> None:
    """one partition with seven replicas: brokers die and come back, two hundred times"""
    random = Random(f"life/{seed}")
    made = learner.make()
    replicas = tuple(random.sample(range(9), 7))
    isr, live = replicas, set(replicas)
    for _ in range(200):
        if random.random() < 0.5 and live:
            live.discard(random.choice(sorted(live)))
            case = Case(OFFLINE, replicas, isr, tuple(live), unclean=random.random() < 0.3)
        elif random.random() < 0.5:
            live.add(random.choice(replicas))
            case = Case(PREFERRED, replicas, isr, tuple(live))
        else:
            going = tuple(random.sample(replicas, 2))
            case = Case(SHUTDOWN, replicas, isr, tuple(live), going)
        elected = check(made, case)
        if elected is not None:
            isr = elected[1]
        grown = [one for one in replicas if one in live and one not in isr]
        if grown and random.random() < 0.6:
            isr = (*isr, random.choice(grown))


def test_many_brokers(learner: Learner, seed: int) -> None:
    """broker ids up to two thousand, and only a few brokers are alive"""
    random = Random(f"many/{seed}")
    for _ in range(60):
        replicas = tuple(random.sample(range(2_000), 5))
        live = tuple(random.sample(replicas, random.randint(0, 3)))
        isr = tuple(random.sample(replicas, random.randint(0, 3)))
        check(learner.make(), Case(random.choice(ALL), replicas, isr, live, replicas[:1], True))
