"""Hidden tests of exercise 16-12s: only `kafka-edu lab grade 16-12s` runs them."""

from pathlib import Path

from ...runner.spark_learner import SparkLearner
from ..jobs_made import Jobs
from ..made_again import one_broker
from .public_tests import Job, lines


def test_shorter_and_again(learner: SparkLearner, left: Path) -> None:
    """the topic is made again twice: shorter than before, and then just as long"""
    with one_broker() as cluster:
        for job in Jobs(Job, learner, cluster, left).of_each_connector():
            job.topic.write(lines("first", 30))
            job.has_all("a first run")
            job.topic.make_again()
            job.topic.write(lines("second", 8))
            job.has_all("the topic was made again, shorter")
            job.topic.make_again()
            job.topic.write(lines("third", 8))
            job.has_all("the topic was made again, of the same length")
