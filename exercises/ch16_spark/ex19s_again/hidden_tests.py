"""Hidden tests of exercise 16-19s: only `kafka-edu lab grade 16-19s` runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import running_cluster

from ...runner.spark_learner import SparkLearner
from ..both_connectors import connectors_here
from ..day_views import DAY_MS, View
from ..jobs_made import Jobs
from .public_tests import NOON_MS, Job


@pytest.fixture
def hidden_jobs(learner: SparkLearner, left: Path) -> Iterator[Jobs[Job]]:
    """Makes jobs on a broker of their own."""
    with running_cluster("lab-16-19s-hidden", brokers=1) as cluster:
        yield Jobs(Job, learner, cluster, left)


def test_more_partitions(hidden_jobs: Jobs[Job]) -> None:
    """the topic gets a partition more, with records of the day, between two runs"""
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
