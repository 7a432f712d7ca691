"""Public tests of exercise 16-12s. Run them with `kafka-edu lab check 16-12s`. The learner's job
runs in another process with its own Spark, and reads topics of a real broker.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..both_connectors import SOURCES
from ..jobs_made import Jobs
from ..made_again import Topic, one_broker

NUMBERS: Final = count()
ASKED: Final = "spark.read.parquet(folder + '/rows')"


class Job:
    """The learner's job on one topic, with a check of the rows in its folder."""

    def __init__(self, learner: SparkLearner, servers: str, folder: Path, connector: str) -> None:
        number = next(NUMBERS)
        self._learner = learner
        self.topic = Topic(servers, f"access-log-{number}")
        self._folder = str(folder / f"{number}")
        self._connector = connector

    def follow(self) -> None:
        """Run the learner's job once. Raises LearnerFailure."""
        topic = self.topic
        self._learner.run_with(
            SOURCES[self._connector],
            topic.options,
            topic.id,
            self._folder,
            connector=self._connector,
        )

    def has_all(self, what: str) -> None:
        """Run the job, and raise Mismatch unless each record is in the folder once. `what` says
        what has happened to the topic.
        """
        self.follow()
        came = self._learner.read(f"{self._folder}/rows")
        if not came.columns:
            raise Mismatch(ASKED, f"{len(self.topic.values)} rows", "no Parquet", "see README.md")
        if "value" not in came.columns:
            raise Mismatch(ASKED, "a column value", came.columns, "see README.md")
        found = Counter(came.column("value"))
        right = Counter[object](self.topic.values)
        if found == right:
            return
        lost, more = right - found, found - right
        name = sorted(map(str, (lost or more).elements()))[0]
        how = "is lost" if lost else f"is there {found[name]} times"
        raise Mismatch(
            f"{ASKED}, after {what}, with the connector {self._connector}",
            f"{right.total()} rows",
            f"{found.total()} rows",
            f"{len(lost or more)} records are not there once; the record {name!r} {how}",
            read="follow",
        )


def lines(name: str, number: int) -> list[str]:
    """Return the values of some records."""
    return [f"{name}-{at:03}" for at in range(number)]


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of one broker."""
    with one_broker() as cluster:
        yield cluster


@pytest.fixture
def jobs(learner: SparkLearner, cluster: Cluster, left: Path) -> Jobs[Job]:
    """Makes jobs with topics of their own."""
    return Jobs(Job, learner, cluster, left)


def test_made_again(jobs: Jobs[Job]) -> None:
    """the topic is made again, and then has more records than the old one had"""
    for job in jobs.of_each_connector():
        job.topic.write(lines("old", 50))
        job.has_all("a first run")
        job.topic.make_again()
        job.topic.write(lines("new", 90))
        job.has_all("the topic was made again")


def test_new_records(jobs: Jobs[Job], seed: int) -> None:
    """a run writes only the new records, each of them once"""
    job, random = jobs.job(), Random(seed)
    for number in range(3):
        job.topic.write(lines(f"part-{number}", random.randrange(2, 20)))
        job.has_all(f"{number + 1} runs")
    job.has_all("a run without new records")


def test_deleted(jobs: Jobs[Job]) -> None:
    """the job fails if retention has deleted records that it has not read yet"""
    job = jobs.job()
    job.topic.write(lines("read", 20))
    job.follow()
    job.topic.write(lines("unread", 40))
    job.topic.delete_before(20)
    try:
        job.follow()
    except LearnerFailure as failure:
        if "are gone" in failure.message:
            return
        raise
    raise Mismatch(
        "follow(spark, …)",
        "an error",
        "no error",
        "the offsets 10 to 19 of each partition were deleted before a run has read them: the job"
        " must stop with an error",
        read="follow",
    )
