"""Hidden tests of exercise 16-20s: only `kafka-edu lab grade 16-20s` runs them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_edu.supervisor.cluster import running_cluster

from ...runner.spark_learner import SparkLearner
from ..jobs_made import Jobs
from .public_tests import Job


@pytest.fixture
def hidden_jobs(learner: SparkLearner, left: Path) -> Iterator[Jobs[Job]]:
    """Makes jobs on a broker of their own."""
    with running_cluster("lab-16-20s-hidden", brokers=1) as cluster:
        yield Jobs(Job, learner, cluster, left)


def test_old_files_deleted(hidden_jobs: Jobs[Job]) -> None:
    """a query that has run for long: Spark has deleted its first files, and has left others"""
    for job in hidden_jobs.of_each_connector():
        job.topic.write(6)
        old = job.old(first=997)
        for records in (4, 5, 6, 7):
            old.batch()
            job.topic.write(records)
        old.batch(writes=0.4, noted=False)
        old.leaves("commits/.1000.crc")
        old.leaves("offsets/.1001.crc")
        old.leaves("commits/.1001.8d0f6a7e-2a5b-4c55-9a51-0f1f0a5f8e3d.tmp")
        job.has_all("micro-batch 1000 is done, and 1001 is not")


def test_grown_meanwhile(hidden_jobs: Jobs[Job]) -> None:
    """the micro-batch that is not done was the first one with a new partition"""
    job = hidden_jobs.job()
    job.topic.write(6)
    old = job.old("kafka")
    old.batch()
    job.topic.grow(3)
    job.topic.write(9)
    old.batch(writes=0.7, noted=False)
    job.topic.grow(4)
    job.topic.write(8)
    job.has_all("partition 2 is only in the plan of a micro-batch that is not done")
