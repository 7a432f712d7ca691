"""Hidden tests of exercise 16-17s: only `kafka-edu lab grade 16-17s` runs them."""

from pathlib import Path

from kafka_edu.supervisor.cluster import running_cluster

from ...runner.spark_learner import SparkLearner
from ..jobs_made import Jobs
from .public_tests import TASKS, Job


def test_grown_with_both(learner: SparkLearner, left: Path) -> None:
    """a run to the end, more partitions, and a run to the end again, with both connectors"""
    with running_cluster("lab-16-17s-hidden", brokers=1) as cluster:
        for job in Jobs(Job, learner, cluster, left).of_each_connector():
            job.topic.write(1_600)
            job.catches_up(2, tasks=TASKS)
            job.topic.grow(2)
            job.topic.write(700)
            job.catches_up(2)
