"""Public tests of exercise 16-17s. Run them with `kafka-edu lab check 16-17s`. The learner's job
runs in another process with its own Spark, and reads topics of a real broker.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Final

import pytest

from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ...runner.mismatch import Mismatch
from ...runner.spark_learner import SparkLearner
from ..behind import File, GrowingTopic, files_of
from ..both_connectors import SOURCES
from ..jobs_made import Jobs

NUMBERS: Final = count()
MOST_RECORDS: Final = 800
"""The most records of a micro-batch."""
TASKS: Final = 4
"""How many tasks read a micro-batch."""


class Job:
    """The learner's job on one topic, with a check of its lag and of the files in its folder."""

    def __init__(self, learner: SparkLearner, servers: str, folder: Path, connector: str) -> None:
        number = next(NUMBERS)
        self._learner = learner
        self._folder = folder / f"{number}"
        self._connector = connector
        self._known: set[str] = set()
        self.topic = GrowingTopic(servers, f"clicks-{number}")

    def catches_up(self, most_batches: int, *, tasks: int = 0) -> None:
        """Run the job. Raise Mismatch unless at most `most_batches` micro-batches, of at most 800
        records, bring the lag to 0. With `tasks`, this number of tasks must read each batch.
        """
        self._learner.run_with(
            SOURCES[self._connector],
            self.topic.options,
            str(self._folder),
            connector=self._connector,
        )
        files = self._files_now()
        self._lag([place for file in files for place in file.places])
        new = [file for file in files if file.name not in self._known]
        self._known |= {file.name for file in new}
        sizes = Counter[str]()
        for file in new:
            sizes[file.batch] += len(file.places)
        asked = f"the micro-batches of a run, with the connector {self._connector}"
        largest = max(sizes.values(), default=0)
        if largest > MOST_RECORDS:
            raise Mismatch(
                asked,
                f"at most {MOST_RECORDS} records in each",
                f"{largest} records in one",
                "an executor has no memory for more records",
                read="catch_up",
            )
        if len(sizes) > most_batches:
            raise Mismatch(
                asked,
                f"at most {most_batches} for {sizes.total()} records",
                f"{len(sizes)}, of at most {largest} records",
                "each micro-batch costs the same fixed time, with few records or with many:"
                " small ones never catch up",
                read="catch_up",
            )
        self._files(asked, new, sizes, tasks)

    def _files_now(self) -> list[File]:
        """Return the files that the job has written so far. Raises Mismatch if they lack `value`,
        or if a file of an earlier run is gone.
        """
        asked = "spark.read.parquet(folder + '/rows')"
        try:
            files = files_of(self._learner.read_each(str(self._folder / "rows")))
        except KeyError as error:
            raise Mismatch(asked, f"a column {error}", "no such column", "see README.md") from None
        if not all(file.values_are_right for file in files):
            raise Mismatch(
                asked, "the values as strings", "other values", "see README.md", read="catch_up"
            )
        if gone := sorted(self._known - {file.name for file in files}):
            raise Mismatch(
                asked,
                "the files of earlier runs, and new ones",
                f"{gone[0]} is gone",
                "a run brings only new records: where does it note how far it has come?",
                read="catch_up",
            )
        return files

    def _lag(self, rows: list[tuple[int, int]]) -> None:
        came, right = Counter(rows), self.topic.places()
        missing = sorted(right - set(came))
        if missing:
            raise Mismatch(
                f"the lag after a run, with the connector {self._connector}",
                "0 records",
                f"{len(missing)} records",
                f"offset {missing[0][1]} of partition {missing[0][0]} is not in the folder",
                read="catch_up",
            )
        twice = sorted(place for place, times in came.items() if times > 1 or place not in right)
        if twice:
            raise Mismatch(
                f"the rows after a run, with the connector {self._connector}",
                f"{len(right)} rows",
                f"{len(rows)} rows",
                f"offset {twice[0][1]} of partition {twice[0][0]} is there {came[twice[0]]} times",
                read="catch_up",
            )

    def _files(self, asked: str, new: list[File], sizes: Counter[str], tasks: int) -> None:
        of_batch = Counter(file.batch for file in new)
        batch, most = max(of_batch.items(), key=lambda one: one[1], default=("", 0))
        if most > TASKS + 1:
            raise Mismatch(
                asked,
                f"at most {TASKS + 1} files in each",
                f"{most} files for the {sizes[batch]} records of {batch}",
                "one file for each task that reads is enough: each small file costs its readers"
                " more than its rows do",
                read="catch_up",
            )
        for batch, found in of_batch.items():
            pieces = all(file.without_gap for file in new if file.batch == batch)
            if found < tasks or (tasks and not pieces):
                raise Mismatch(
                    asked,
                    f"{tasks} tasks read each, with a piece of the partition each",
                    f"{found} files for {batch}" + ("" if pieces else ", with rows of all pieces"),
                    "the topic has one partition: without an option one task reads all of it, and a"
                    " shuffle behind it does not make the reading faster",
                    read="catch_up",
                )


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """A cluster of one broker."""
    with running_cluster("lab-16-17s", brokers=1) as cluster:
        yield cluster


@pytest.fixture
def jobs(learner: SparkLearner, cluster: Cluster, left: Path) -> Jobs[Job]:
    """Makes jobs with topics of their own."""
    return Jobs(Job, learner, cluster, left)


def test_catches_up(jobs: Jobs[Job]) -> None:
    """2,400 records wait in one partition, and the job catches up in few micro-batches"""
    for job in jobs.of_each_connector():
        job.topic.write(2_400)
        job.catches_up(3, tasks=TASKS)


def test_goes_on(jobs: Jobs[Job]) -> None:
    """a run writes only new records, each of them once"""
    job = jobs.job()
    job.topic.write(50)
    job.catches_up(1)
    job.catches_up(0)
    job.topic.write(30)
    job.catches_up(1)


def test_more_partitions(jobs: Jobs[Job]) -> None:
    """the topic gets two partitions more between two runs"""
    job = jobs.job()
    job.topic.write(100)
    job.catches_up(1)
    job.topic.grow(3)
    job.topic.write(1_500)
    job.catches_up(3)
