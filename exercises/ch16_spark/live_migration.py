"""The live part of 16-20s: an old job reads topics of a real cluster, and its driver is killed in
the middle of a micro-batch. Then the learner's job takes over, with each connector.
"""

import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from shutil import copytree
from typing import Final

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, running_cluster

from ..runner.manifest import Exercise
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import SparkLearner
from ..runner.topics import make_topic
from ..runner.verdict import Step
from .both_connectors import CONNECTORS, SOURCES, why_no_official
from .killed_job import run_and_kill
from .live_job import CLUSTER, PARTITIONS
from .live_sink import Killer, each_once
from .old_query import TRIAL
from .topic_writer import Record, write

TOPIC: Final = "clicks"
CLICKS: Final = 3_000
"""How many records each part of the log has. The old job reads the first part to its end, and is
killed in the second one.
"""
OLD_JOB: Final = Path(__file__).with_name("old_job.py")


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Let the old job run and kill it, run the learner's job, and yield the checks of its rows.
    `patience_s` is not needed, because both jobs end by themselves. Raises ClusterError.
    """
    say("a cluster of three brokers starts")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as home,
        running_cluster(CLUSTER, home=Path(home)) as cluster,
    ):
        left = Path(home) / "old"
        say(f"the old job brings {CLICKS:,} records, and is killed while it brings more")
        if why := run_old_job(cluster, left):
            yield Step("the old job runs, and is killed", False, why)
            return
        planned, done = (numbers(left / "checkpoint" / name) for name in ("offsets", "commits"))
        seen = f"it has planned {planned} micro-batches, and {done} of them are done"
        yield Step("the old job runs, and is killed", True, seen)
        clicks(cluster, 2)
        for connector in CONNECTORS:
            if connector == "official" and (why := why_no_official()):
                say(f"the job is not run with Spark's own connector. {why}")
                return
            say(f"your job continues with the connector {connector}")
            folder = copytree(left, Path(home) / connector)
            learner = SparkLearner(
                file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call
            )
            try:
                yield from goes_on(cluster, learner, connector, folder)
            finally:
                learner.close()


def run_old_job(cluster: Cluster, folder: Path) -> str:
    """Run the old job to the end of its topics, and kill it in its second run. Return why it
    failed; empty if it did not. Raises ClusterError.
    """
    for topic in (TOPIC, TRIAL):
        make_topic(cluster, topic, cluster.broker_ids, PARTITIONS)
    clicks(cluster, 0)
    options = {**options_of(cluster), "subscribe": f"{TOPIC},{TRIAL}"}
    old = SparkLearner(OLD_JOB, "follow", allowance=SPARK_LIMITS.call)
    run = partial(old.run_with, "kafka-edu", options, str(folder), connector="python")
    try:
        run()
        clicks(cluster, 1)
        return run_and_kill(run, Killer(old, folder / "rows"), old)
    except LearnerFailure as failure:
        return failure.message
    finally:
        old.close()


def goes_on(
    cluster: Cluster, learner: SparkLearner, connector: str, folder: Path
) -> Iterator[Step]:
    """Run the learner's job twice, and check that each record is there once."""
    says = f"your job continues with the connector {connector}"
    try:
        for _ in range(2):
            learner.run_with(
                SOURCES[connector],
                options_of(cluster),
                PARTITIONS,
                str(folder),
                connector=connector,
            )
        found = learner.read(str(folder / "rows"))
    except LearnerFailure as failure:
        yield Step(says, False, failure.message)
        return
    yield Step(says, True, f"{len(found.rows):,} rows")
    yield from each_once(found, 3 * CLICKS)


def numbers(folder: Path) -> int:
    """Return how many files of micro-batches are in a folder of a checkpoint."""
    return sum(path.name.isdigit() for path in folder.iterdir())


def options_of(cluster: Cluster) -> dict[str, str]:
    """Return the options of a source that reads the clicks."""
    return {
        "kafka.bootstrap.servers": cluster.bootstrap_servers,
        "subscribe": TOPIC,
        "startingOffsets": "earliest",
    }


def clicks(cluster: Cluster, part: int) -> None:
    """Write a part of the log. Each record has a different value. Raises ClusterError."""
    write(
        cluster.bootstrap_servers,
        TOPIC,
        (Record(f"{part}/{number}", partition=number % PARTITIONS) for number in range(CLICKS)),
    )
