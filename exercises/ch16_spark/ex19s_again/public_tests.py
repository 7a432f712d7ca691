"""Public tests of exercise 16-19s. Run them with `kafka-edu lab check 16-19s`. The learner's job
runs in another process with its own Spark, and reads topics of a real broker.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

import pytest

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..both_connectors import SOURCES
from ..day_views import BEGIN_MS, DAY_MS, LATE_MS, Range, View, ViewsTopic, random_views
from ..jobs import check_columns
from ..jobs_made import Jobs

NUMBERS: Final = count()
REPORT: Final = {"page": "string", "views": "bigint"}
RANGES: Final = {"partition": "int", "first": "bigint", "next": "bigint"}
NOON_MS: Final = DAY_MS // 2
MINUTE_MS: Final = 60_000


class Job:
    """The learner's job on one topic, with a check of the two tables that it writes."""

    def __init__(self, learner: SparkLearner, servers: str, folder: Path, connector: str) -> None:
        number = next(NUMBERS)
        self._learner = learner
        self._folder = folder / f"{number}"
        self.connector = connector
        self.topic = ViewsTopic(servers, f"views-{number}")
        self._right: list[Range] | None = None

    def run(self) -> None:
        """Run the learner's job once. Raises LearnerFailure."""
        self._learner.run_with(
            SOURCES[self.connector],
            self.topic.options,
            self.topic.name,
            BEGIN_MS,
            str(self._folder),
            connector=self.connector,
        )

    def reports(self, why: str) -> None:
        """Run the job, and raise Mismatch unless both tables are right. `why` says what this run
        shows. The first run decides which offsets are right in all runs.
        """
        again = self._right is not None
        if self._right is None:
            self._right = self.topic.ranges()
        self.run()
        where = f", {'made again' if again else 'made'} with the connector {self.connector}"
        self._has_ranges(f"spark.read.parquet(folder + '/ranges'){where}", self._right, why)
        self._has_report(f"spark.read.parquet(folder + '/report'){where}", self._right, why)

    def _has_ranges(self, asked: str, right: list[Range], why: str) -> None:
        came = self._learner.read(f"{self._folder}/ranges")
        check_columns(asked, came, RANGES)
        found = sorted(row for row in came.rows if row[1] != row[2])
        if found == right:
            return
        both = [*right, *found]
        partition = next(row[0] for row in both if row not in right or row not in found)
        raise Mismatch(
            f"{asked}, of partition {partition}: (partition, first, next)",
            [tuple(one) for one in right if one.partition == partition],
            [row for row in found if row[0] == partition],
            why,
            drawing=self._drawing(partition),
            read="report",
        )

    def _has_report(self, asked: str, right: list[Range], why: str) -> None:
        came = self._learner.read(f"{self._folder}/report")
        check_columns(asked, came, REPORT)
        views = self.topic.report(right)
        if Counter(came.rows) != Counter(views.items()):
            raise Mismatch(asked, sorted(views.items()), came.rows, why, read="report")

    def _drawing(self, partition: object) -> tuple[str, ...]:
        return self.topic.drawing(partition) if isinstance(partition, int) else ()

    def loses_its_report(self) -> None:
        """Delete the table `report`."""
        shutil.rmtree(self._folder / "report")

    def moves(self, connector: str) -> None:
        """Copy only the table `ranges` into a new folder, and use this connector from now on."""
        old, self._folder = self._folder, self._folder / "moved"
        shutil.copytree(old / "ranges", self._folder / "ranges")
        self.connector = connector


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of one broker."""
    with running_cluster("lab-16-19s", brokers=1) as cluster:
        yield cluster


@pytest.fixture
def jobs(learner: SparkLearner, cluster: Cluster, left: Path) -> Jobs[Job]:
    """Makes jobs with topics of their own."""
    return Jobs(Job, learner, cluster, left)


def borders(end_ms: int) -> list[View]:
    """Return views at the beginning and the end of the day, and at the end of the range."""
    return [
        View(-1, "/early"),
        View(0, "/first"),
        View(NOON_MS, "/noon"),
        View(DAY_MS - 1, "/last"),
        View(DAY_MS, "/next"),
        View(end_ms - 1, "/late"),
        View(end_ms, "/behind"),
        View(end_ms + 1, "/behind"),
    ]


def test_borders(jobs: Jobs[Job]) -> None:
    """records exactly at the start and the end of the day, and ten minutes after it"""
    for job in jobs.of_each_connector():
        job.topic.write({number: borders(DAY_MS + LATE_MS) for number in range(3)})
        job.reports(
            "the day has its first millisecond, and not that of the next day. The range ends in"
            " front of the first record that is ten minutes behind the day"
        )


def test_out_of_order(jobs: Jobs[Job]) -> None:
    """timestamps that are out of order: at the start of the day, at noon, and after its end"""
    job = jobs.job()
    views = [
        View(-MINUTE_MS),
        View(5, "/a"),
        View(-3, "/b"),
        View(NOON_MS, "/a"),
        View(NOON_MS - 2 * MINUTE_MS, "/a"),
        View(DAY_MS + MINUTE_MS, "/b"),
        View(DAY_MS - MINUTE_MS, "/late"),
        View(DAY_MS + LATE_MS, "/b"),
        View(DAY_MS - MINUTE_MS, "/too late"),
    ]
    job.topic.write({0: views, 2: views[1:4], 1: views[5:]})
    job.reports(
        "the range goes on until a record is ten minutes behind the day, because some come late."
        " Of its records, those of other days do not count"
    )


def test_without_records(jobs: Jobs[Job]) -> None:
    """a partition that ends before the day, one without a record of the day, and deleted records"""
    job = jobs.job()
    job.topic.write(
        {
            0: [View(-9), View(-5), View(-MINUTE_MS)],
            1: [View(-7), View(DAY_MS + LATE_MS), View(DAY_MS + LATE_MS + 7)],
            2: [View(-9), View(-8), View(1, "/"), View(2, "/a"), View(3), View(DAY_MS + LATE_MS)],
        }
    )
    job.topic.delete_before(2, 3)
    job.reports("nothing is read from a partition without a record of the day")


def test_again(jobs: Jobs[Job]) -> None:
    """newer records come, some of them late, and the report stays the same"""
    why = "a report that was made once never changes: it reads the offsets of the first time again"
    job = jobs.job()
    job.topic.write({0: [View(3, "/"), View(NOON_MS, "/a")], 1: [View(-1)]})
    job.reports("the report is made before the day is over")
    job.topic.write(
        {
            0: [View(4, "/"), View(NOON_MS, "/"), View(DAY_MS + LATE_MS)],
            1: [View(NOON_MS), View(DAY_MS)],
            2: [View(7, "/a")],
        }
    )
    job.reports(why)
    job.loses_its_report()
    job.reports(why)


def test_empty_day(jobs: Jobs[Job]) -> None:
    """a day without records, of which some come after the report"""
    job = jobs.job()
    job.topic.write({0: [View(-1)], 1: [View(DAY_MS + LATE_MS)]})
    job.reports("a day without records has an empty report")
    job.topic.write({0: [View(5)], 1: [View(6)], 2: [View(7)]})
    job.reports("an empty report stays empty")


def test_deleted(jobs: Jobs[Job]) -> None:
    """retention deletes records before the range, and then some records in the range"""
    job = jobs.job()
    job.topic.write({1: [View(-2), View(-1), View(3), View(4), View(DAY_MS + LATE_MS)]})
    job.reports("a report with two views")
    job.topic.delete_before(1, 2)
    job.reports("the records of the range are all there")
    job.topic.delete_before(1, 3)
    try:
        job.run()
    except LearnerFailure as failure:
        if "are gone" in failure.message:
            return
        raise
    raise Mismatch(
        "report(spark, …), made again after record 1/2 was deleted",
        "an error",
        "no error",
        "the report of the first time cannot be made any more: the job must stop, and not write"
        " another one",
        read="report",
    )


def test_many(jobs: Jobs[Job], seed: int) -> None:
    """random views, many of them late, and then more of them"""
    random, job = Random(seed), jobs.job()
    job.topic.write({number: random_views(random, 60) for number in range(3)})
    job.reports("see README.md")
    job.topic.write({number: random_views(random, 20) for number in range(3)})
    job.reports("newer records have come")
