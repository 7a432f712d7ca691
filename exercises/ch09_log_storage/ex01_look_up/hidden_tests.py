"""Hidden tests of exercise 09-1: only `kafka-edu lab grade 09-1` runs them."""

from random import Random

from kafka_edu.learner.learner import Learner

from ..look_up_rules import LookUpRun
from ..made_logs import random_log
from .public_tests import filled, look_up


def test_many_segments(learner: Learner, seed: int) -> None:
    """forty segments, and offsets at all their borders"""
    log = filled(40, 4, rolls=range(1, 40))
    random = Random(f"borders/{seed}")
    borders = [offset for offset in range(160) if offset % 4 in (0, 3)]
    look_up(learner, log, random.sample(borders, 40))


def test_two_at_once(learner: Learner, seed: int) -> None:
    """one object after the other is made before the first is used"""
    random = Random(f"two/{seed}")
    logs = [random_log(random, gaps=True) for _ in range(2)]
    runs = []
    for log in logs * 5:
        offset = random.randrange(log.log_end_offset)
        runs.append((LookUpRun(log, offset), learner.make(offset, len(log.segments))))
    random.shuffle(runs)
    for run, made in runs:
        run.judge(made)


def test_large_index(learner: Learner, seed: int) -> None:
    """an index of hundreds of entries"""
    log = filled(700, 2, index_interval_bytes=1)
    look_up(learner, log, Random(f"large/{seed}").sample(range(1_400), 30))
