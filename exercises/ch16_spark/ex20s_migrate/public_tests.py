"""Public tests of exercise 16-20s. Run them with `kafka-edu lab check 16-20s`. The learner's job
runs in another process with its own Spark, and reads topics of a real broker. The tests write what
the old job has left.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest

from kafka_edu.clients.blocking import Admin
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..behind import GrowingTopic, value_of
from ..both_connectors import SOURCES
from ..jobs_made import Jobs
from ..old_query import OldQuery

NUMBERS: Final = count()
ASKED: Final = "spark.read.parquet(folder + '/rows')"


class Job:
    """The learner's job, and what the old job has left in its folder."""

    def __init__(self, learner: SparkLearner, servers: str, folder: Path, connector: str) -> None:
        number = next(NUMBERS)
        self._learner = learner
        self._servers = servers
        self._folder = folder / f"{number}"
        self._connector = connector
        self.topic = GrowingTopic(servers, f"clicks-{number}")
        self.topic.grow(2)

    def old(self, source: str = "kafka-edu", first: int = 0) -> OldQuery:
        """Return the old job, which was written for this source."""
        return OldQuery(self.topic, self._folder, source, first)

    def follow(self) -> None:
        """Run the learner's job once. Raises LearnerFailure."""
        self._learner.run_with(
            SOURCES[self._connector],
            self.topic.options,
            len(self.topic.ends),
            str(self._folder),
            connector=self._connector,
        )

    def has_all(self, why: str) -> None:
        """Run the job, and raise Mismatch unless each record is in the folder once. `why` says
        what the old job has left, or what has happened since.
        """
        self.follow()
        came = self._learner.read(f"{self._folder}/rows")
        for column in ("partition", "offset", "value"):
            if column not in came.columns:
                raise Mismatch(ASKED, f"a column {column}", came.columns, "see README.md")
        columns = (came.column(name) for name in ("partition", "offset", "value"))
        found = Counter(zip(*columns, strict=True))
        right = {(*place, value_of(*place)) for place in self.topic.places()}
        wrong = sorted(row for row in {*right, *found} if found[row] != (row in right))
        if not wrong:
            return
        partition, offset, _ = wrong[0]
        how = f"is there {found[wrong[0]]} times" if found[wrong[0]] else "is lost"
        raise Mismatch(
            f"{ASKED}, with the connector {self._connector}",
            f"{len(right)} rows",
            f"{found.total()} rows",
            f"offset {offset} of partition {partition} {how}: {why}",
            read="follow",
        )

    def delete_before(self, offset: int) -> None:
        """Delete the records of partition 0 before an offset, as retention does."""
        with Admin({"bootstrap.servers": self._servers}) as admin:
            admin.delete_records({TopicPartition(self.topic.name, 0): offset}).all()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of one broker."""
    with running_cluster("lab-16-20s", brokers=1) as cluster:
        yield cluster


@pytest.fixture
def jobs(learner: SparkLearner, cluster: Cluster, left: Path) -> Jobs[Job]:
    """Makes jobs with topics of their own."""
    return Jobs(Job, learner, cluster, left)


def test_done(jobs: Jobs[Job]) -> None:
    """all twelve micro-batches of the old job are done, and then new records come"""
    for job in jobs.of_each_connector():
        job.topic.write(4)
        old = job.old()
        old.batch()
        for records in range(2, 13):
            job.topic.write(records)
            old.batch()
        job.topic.write(6)
        job.has_all("the old job was stopped after micro-batch 11, which is done")
        job.topic.write(4)
        job.has_all("the second run of the new job")


def test_half_written(jobs: Jobs[Job]) -> None:
    """half the rows of a micro-batch were written, and retention deleted records already read"""
    job = jobs.job()
    job.topic.write(6)
    old = job.old()
    old.batch()
    job.topic.write(8)
    old.batch(writes=0.5, noted=False)
    job.topic.write(6)
    job.has_all("micro-batch 1 was planned, and half of its rows are written")
    job.delete_before(job.topic.ends[0])
    job.topic.write(4)
    job.has_all("the new job has read the deleted records before")


def test_all_written(jobs: Jobs[Job]) -> None:
    """the old job was killed when it had written all rows of a micro-batch, but had not noted it"""
    job = jobs.job()
    job.topic.write(6)
    old = job.old()
    old.batch()
    job.topic.write(8)
    old.batch(noted=False)
    job.has_all("micro-batch 1 was planned, all its rows are written, and it is not noted as done")
    job.topic.write(4)
    job.has_all("the second run of the new job")


def test_nothing_new(jobs: Jobs[Job]) -> None:
    """the first run of the new job finds no new records, and the second one does"""
    job = jobs.job()
    job.topic.write(6)
    job.old().batch()
    job.has_all("there are no new records")
    job.topic.write(6)
    job.has_all("a run before this one had no new records")


def test_more_partitions(jobs: Jobs[Job]) -> None:
    """the topic got two partitions more since the old job was stopped"""
    job = jobs.job()
    job.topic.write(6)
    job.old().batch()
    job.topic.grow(4)
    job.topic.write(10)
    job.has_all("the old job did not know the partitions 2 and 3")


def test_deleted(jobs: Jobs[Job]) -> None:
    """if retention deleted records before the new job has read them, the job ends with an error"""
    job = jobs.job()
    job.topic.write(6)
    job.old().batch()
    job.topic.write(12)
    job.delete_before(5)
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
        "the offsets 3 and 4 of partition 0 were deleted, and neither job has read them: the job"
        " must stop with an error",
        read="follow",
    )


def test_never_done(jobs: Jobs[Job]) -> None:
    """the old job was killed in its first micro-batch"""
    job = jobs.job()
    job.topic.write(9)
    job.old().batch(writes=0.5, noted=False)
    job.topic.write(2)
    job.has_all("micro-batch 0 was planned, and is not done")


def test_many(jobs: Jobs[Job], seed: int) -> None:
    """random micro-batches, the last of which is not done"""
    random, job = Random(seed), jobs.job()
    job.topic.write(random.randrange(1, 9))
    old = job.old("kafka")
    for _ in range(random.randrange(2, 20)):
        old.batch()
        job.topic.write(random.randrange(1, 9))
    old.batch(writes=random.random(), noted=False)
    job.topic.write(random.randrange(9))
    job.has_all("the old job was killed in its last micro-batch")
