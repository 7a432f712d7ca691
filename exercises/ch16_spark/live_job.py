"""The live part of the PySpark exercises: the learner's job reads a topic of a real cluster of
three brokers. Its results are compared with the numbers of the program that made the lines.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafka_edu.learner.learner import LearnerFailure
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

from ..runner.manifest import Exercise
from ..runner.material import new_seed
from ..runner.public_tests import SPARK_LIMITS
from ..runner.spark_learner import Rows, SparkLearner
from ..runner.topics import make_topic
from ..runner.verdict import Step

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.truth import LogTruth

TOPIC: Final = "access-log"
CLUSTER: Final = "lab-spark"
LINES: Final = 20_000
PARTITIONS: Final = 3
FINDINGS: Final[dict[str, Callable[[Rows, "LogTruth"], Iterator[Step]]]] = {}
"""Id of the exercise → the function that checks the rows of its job."""
STREAMS: Final = frozenset({"16-2s", "16-3s"})
WATERMARK_S: Final = 120
LINES_A_SECOND: Final = 20.0
"""How many lines a second the log has, by its own times. 20,000 lines cover 17 minutes."""


def check_live(
    exercise: Exercise, file: Path | None, say: Callable[[str], None], patience_s: float
) -> Iterator[Step]:
    """Fill a topic, run the learner's job on it, and yield the checks of its rows. `patience_s` is
    not needed, because the job reads what is there. Raises ClusterError.
    """
    say(f"a cluster of three brokers starts, and a topic gets {LINES:,} lines of a made-up web log")
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as home,
        running_cluster(CLUSTER, home=Path(home)) as cluster,
    ):
        streams = exercise.id in STREAMS
        truth = fill(cluster, clock=streams)
        say("Spark starts, and runs the job on the topic")
        learner = SparkLearner(
            file or exercise.solution, exercise.wanted, allowance=SPARK_LIMITS.call
        )
        try:
            rows = learner.topic(
                cluster.bootstrap_servers,
                TOPIC,
                streams=streams,
                parsed_s=WATERMARK_S if streams else 0,
            )
        except LearnerFailure as failure:
            yield Step("the job reads the topic to its end", False, failure.message)
            return
        finally:
            learner.close()
    yield Step("the job reads the topic to its end", True, f"{len(rows.rows):,} rows")
    yield from FINDINGS[exercise.id](rows, truth)


def fill(cluster: Cluster, lines: int = LINES, *, clock: bool = False) -> "LogTruth":
    """Fill the topic with the log of a new seed, and return the right answers. With `clock`, add a
    line of a much later time, so that all minutes and sessions end. Raises ClusterError.
    """
    from kafka_edu.clients.web_log.generator import LogSettings
    from kafka_edu.spark.pipeline_log import LogFeeder
    from kafka_edu.spark.pipeline_settings import PipelineSettings
    from kafka_edu.spark.web_log_topic import TopicNotFilled

    # The records have times of 2018, and retention.ms counts from these times. Without this
    # setting, the broker would delete all records after half a minute.
    make_topic(cluster, TOPIC, cluster.broker_ids, PARTITIONS, {"retention.ms": "-1"})
    settings = LogSettings(
        new_seed(), lines_a_second=LINES_A_SECOND, watermark_s=WATERMARK_S, late_per_mille=20
    )
    feeder = LogFeeder(cluster.bootstrap_servers, TOPIC, lines, settings)
    try:
        feeder.feed()
        if clock:
            feeder.send_clock(
                PipelineSettings(cluster.bootstrap_servers, TOPIC, out="", checkpoint="")
            )
    except TopicNotFilled as error:
        raise ClusterError(f"the topic could not be filled: {error}") from error
    return feeder.truth


def compared(says: str, right: object, came: object) -> Step:
    """Return a Step that passes if both values are equal."""
    if right == came:
        return Step(says, True, f"{right}")
    return Step(says, False, f"{came}, and {right} is right")


def parsed_records(rows: Rows, truth: "LogTruth") -> Iterator[Step]:
    """Check 16-1s: each record has one row, and the sums over the fields are right."""
    kinds = Counter(rows.column("kind"))
    places = set(zip(rows.column("partition"), rows.column("offset"), strict=True))
    yield compared("each record has one row", truth.lines, len(places))
    yield compared("lines in quarantine", truth.bad, kinds["bad"])
    status = Counter(one for one in rows.column("status") if one is not None)
    yield compared(
        "lines by status", dict(sorted(truth.by_status.items())), dict(sorted(status.items()))
    )
    sizes = sum(one for one in rows.column("size") if isinstance(one, int))
    yield compared("bytes sent", truth.bytes_sent, sizes)


def minutes(rows: Rows, truth: "LogTruth") -> Iterator[Step]:
    """Check 16-2s: each minute is there once, with the right numbers."""
    begins = rows.column("begin")
    right = {clock_of(begin_s): one for begin_s, one in truth.windows.items()}
    yield compared("minutes", len(right), len(set(begins)))
    yield compared("minutes that are there twice", 0, len(begins) - len(set(begins)))
    for name, at in (("lines", 0), ("errors", 1), ("p99_us", 2)):
        found = dict(zip(begins, rows.column(name), strict=True))
        wrong = [begin for begin, one in right.items() if found.get(begin) != one[at]]
        seen = f"{len(right)} minutes"
        if wrong:
            seen = f"{wrong[0]}: {found.get(wrong[0])}, and {right[wrong[0]][at]} is right"
        yield Step(f"{name} of every minute", not wrong, seen)


def visits(rows: Rows, truth: "LogTruth") -> Iterator[Step]:
    """Check 16-3s: the number of sessions is right, and so is the number of lines in each."""
    lengths = Counter(one for one in rows.column("lines") if isinstance(one, int))
    right = truth.lines_by_session_on_time
    yield compared("sessions", sum(right.values()), lengths.total())
    wrong = sorted(one for one in {*right, *lengths} if right.get(one, 0) != lengths[one])
    seen = f"{len(right)} lengths"
    if wrong:
        seen = (
            f"{lengths[wrong[0]]} sessions of {wrong[0]} lines, and {right.get(wrong[0], 0)} is"
            " right"
        )
    yield Step("sessions by their length", not wrong, seen)


def clock_of(time_s: int) -> str:
    """Return a time, given in seconds since 1970, as the text in the rows of a job."""
    return datetime.fromtimestamp(time_s, UTC).replace(tzinfo=None).isoformat(" ")


FINDINGS["16-1s"] = parsed_records
FINDINGS["16-2s"] = minutes
FINDINGS["16-3s"] = visits
