"""Hidden tests of exercise 16-19s: only `kafka-edu lab grade 16-19s` runs them."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from kafka_edu.supervisor.cluster import running_cluster

from ...runner.spark_learner import SparkLearner
from ..both_connectors import connectors_here
from ..day_views import DAY_MS, LATE_MS, View
from ..jobs_made import Jobs
from .public_tests import NOON_MS, Job


@pytest.fixture
def hidden_jobs(learner: SparkLearner, left: Path) -> Iterator[Jobs[Job]]:
    """Makes jobs on a broker of their own."""
    with running_cluster("lab-16-19s-hidden", brokers=1) as cluster:
        yield Jobs(Job, learner, cluster, left)


def test_more_partitions(hidden_jobs: Jobs[Job]) -> None:
    """between two runs, the topic gets one more partition, with records of the day of the report"""
    job = hidden_jobs.job()
    job.topic.write({0: [View(1)], 2: [View(NOON_MS, "/a")]})
    job.reports("a first run")
    job.topic.grow()
    job.topic.write({3: [View(2), View(NOON_MS)]})
    job.reports("a partition that did not exist is not read again")


def test_moved(hidden_jobs: Jobs[Job]) -> None:
    """only the table `ranges` is left, and the report is made from it with each connector"""
    job = hidden_jobs.job()
    job.topic.write({0: [View(1), View(DAY_MS), View(2)], 1: [View(NOON_MS, "/a")]})
    job.reports("a first run")
    job.topic.write({0: [View(3)], 1: [View(4)]})
    for connector in connectors_here():
        job.moves(connector)
        job.reports("the offsets of the table `ranges` are all that a report needs")


def test_same_times(hidden_jobs: Jobs[Job], seed: int) -> None:
    """records with the same timestamp at both ends of the range, after deleted ones"""
    job = hidden_jobs.job()
    noon = [NOON_MS] * Random(seed).randint(1, 9)
    times = (-1, 0, 0, *noon, DAY_MS - 1, DAY_MS - 1, DAY_MS + LATE_MS, DAY_MS + LATE_MS)
    job.topic.write({number: [View(at_ms, "/a") for at_ms in times] for number in range(3)})
    for number in range(3):
        job.topic.delete_before(number, number)
    why = "the range begins at the first record of the day, and ends in front of the first late one"
    job.reports(why)
    job.topic.write({1: [View(0, "/a")], 2: [View(DAY_MS + LATE_MS, "/a")]})
    job.reports(why)
