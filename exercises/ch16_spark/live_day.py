"""The live part of 16-19s: the learner's job makes the report of a day from a topic of a real
cluster. Then newer records come, a broker is killed, and the job makes the report again.
"""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from shutil import copytree
from typing import Final

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import running_cluster

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import Row, SparkLearner
from ..runner.verdict import Step
from .both_connectors import CONNECTORS, SOURCES, why_no_official
from .day_views import BEGIN_MS, PARTITIONS, Range, ViewsTopic, random_views
from .live_job import CLUSTER
from .live_streams import compared_rows

TOPIC: Final = "page-views"
VIEWS: Final = 1_500
"""How many views a partition has before the first report."""
NEWER: Final = 300


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Fill a topic, let the job report on the day twice, and yield the checks of its tables.
    `patience_s` is not needed, because the job ends by itself. Raises ClusterError.
    """
    say(f"a cluster of three brokers starts, and a topic gets {PARTITIONS * VIEWS:,} views")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as home,
        running_cluster(CLUSTER, home=Path(home)) as cluster,
    ):
        random = Random(new_seed())
        topic = ViewsTopic(cluster.bootstrap_servers, TOPIC, len(cluster.broker_ids))
        topic.write({number: random_views(random, VIEWS) for number in range(PARTITIONS)})
        ranges = topic.ranges()
        first = Path(home) / "first"
        yield from reports(exercise, file, topic, first, ranges, "python")
        topic.write({number: random_views(random, NEWER) for number in range(PARTITIONS)})
        dies = cluster.broker_ids[0]
        say(f"newer records have come, and broker {dies} is killed")
        cluster.kill(dies)
        for connector in CONNECTORS:
            if connector == "official" and (why := why_no_official()):
                say(f"the report is not made with Spark's own connector. {why}")
                return
            again = copytree(first, Path(home) / connector)
            yield from reports(exercise, file, topic, again, ranges, connector)


def reports(
    exercise: Exercise,
    file: Path | None,
    topic: ViewsTopic,
    folder: Path,
    ranges: list[Range],
    connector: str,
) -> Iterator[Step]:
    """Run the job, and yield the checks of its two tables."""
    right: dict[str, tuple[tuple[str, ...], list[Row]]] = {
        "ranges": (("partition", "first", "next"), [tuple(one) for one in ranges]),
        "report": (("page", "views"), list(topic.report(ranges).items())),
    }
    says = f"made with the connector {connector}"
    learner = SparkLearner(file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call)
    try:
        learner.run_with(
            SOURCES[connector],
            topic.options,
            TOPIC,
            BEGIN_MS,
            str(folder),
            connector=connector,
        )
        for table, (columns, rows) in right.items():
            came = learner.read(str(folder / table))
            if came.columns != columns:
                seen = f"its columns are {', '.join(came.columns)}"
                yield Step(f"{table}, {says}", False, seen)
                continue
            found = [row for row in came.rows if table != "ranges" or row[1] != row[2]]
            yield compared_rows(f"{table}, {says}", rows, found)
    except LearnerFailure as failure:
        yield Step(f"a report, {says}", False, failure.message)
    finally:
        learner.close()
