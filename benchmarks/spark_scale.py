"""`kafka-edu bench spark-scale`: one Spark job on a standalone cluster with one and two workers.

Each worker has one core. The job reads a topic of 1, 2 or 4 partitions, once with our source and
once with Spark's own connector. The topics have the same lines as in `bench spark-source`, and the
jobs are the same too. The contenders take turns after one run that is not measured. A figure is the
median of the repeats.

- s: the wall time of a job.
- µs a row: the same without the fixed time of a job, divided by the number of rows. The fixed time
  is that of the same job on a topic with one line in each partition. A "-" means that the job took
  no longer than the fixed time, because there are too few rows.
- processor µs a row: the processor time of the executors with their Python workers, in the same
  way. It hardly depends on what else the machine does. The brokers and the driver are not included.

All processes run on this machine. On a machine with two cores, two workers, the driver and the
brokers share these two cores. Then a second worker cannot make a job twice as fast.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.console import Console
from rich.table import Table

from kafka_edu.cli.report import Report, number
from kafka_edu.cli.spark_options import require_spark
from kafka_edu.common.busy_machine import family_usage
from kafka_edu.common.maven_jars import PeerMissing
from kafka_edu.common.python_process import command_line
from kafka_edu.spark.java_gateway import SparkStartError
from kafka_edu.spark.source_errors import SourceError
from kafka_edu.supervisor.cluster import running_cluster

from .options import add_repeats
from .spark_source import Contender, JobFailed, fill, in_turns, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_edu.spark.standalone_cluster import StandaloneCluster

NAME = "spark-scale"
HELP = "one Spark job on one and two workers, by partitions, with our source and Spark's connector"

ROWS: Final = 400_000
REPEATS: Final = 3
WORKERS: Final = (1, 2)
PARTITIONS: Final = (1, 2, 4)
JOBS: Final = ("count", "regexp")
FORMATS: Final = {"ours": "kafka-edu", "official": "kafka"}
#: The job starts only when all executors are there. Otherwise its first run has too few.
CONFIG: Final = {
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "600s",
}


class Case(NamedTuple):
    """One case of the benchmark. All contenders take turns in it."""

    job: str
    workers: int
    partitions: int

    def __str__(self) -> str:
        workers, partitions = (
            f"{count} {word}{'s' if count > 1 else ''}"
            for count, word in ((self.workers, "worker"), (self.partitions, "partition"))
        )
        return f"{self.job}, {workers}, {partitions}"


class Cost(NamedTuple):
    """The median times of one job, in s."""

    clock_s: float
    processor_s: float | None
    """The processor time of the executors. None if this system does not provide it."""


class Row(NamedTuple):
    """The result of one contender in one case."""

    seconds: float
    """The time of the whole job, by the clock."""
    us: float | None
    """µs for each row by the clock, without the fixed time. None if there were too few rows, so
    that their time cannot be distinguished from the fixed time.
    """
    processor_us: float | None
    """µs of the executors' processor time for each row, in the same way. Also None if this system
    does not provide it.
    """


def row_of(full: Cost, few: Cost, rows: int) -> Row:
    """Return the result of one connector, from the job on all rows and the job on a few rows."""

    def us(full_s: float | None, few_s: float | None) -> float | None:
        if full_s is None or few_s is None or full_s <= few_s:
            return None
        return (full_s - few_s) / rows * 1e6

    return Row(full.clock_s, us(full.clock_s, few.clock_s), us(full.processor_s, few.processor_s))


def topic_of(rows: int, partitions: int) -> str:
    return f"lines-{rows}-in-{partitions}"


def measure(
    spark: "SparkSession",
    cluster: "StandaloneCluster",
    rivals: Sequence[Contender],
    job: str,
    rows: int,
    repeats: int,
) -> dict[str, Cost]:
    """Return the costs of one job: contender → median. Raises JobFailed if a contender fails."""
    clock: dict[str, list[float]] = {rival.name: [] for rival in rivals}
    processor: dict[str, list[float | None]] = {rival.name: [] for rival in rivals}
    for turn, rival in in_turns(rivals, repeats):
        before = executors_s(cluster)
        began = time.perf_counter()
        run(spark, rival, job, rows)
        took = time.perf_counter() - began
        after = executors_s(cluster)
        if turn:
            clock[rival.name].append(took)
            used = None if before is None or after is None else after - before
            processor[rival.name].append(used)
    return {
        name: Cost(statistics.median(clock[name]), median_of(processor[name])) for name in clock
    }


def median_of(values: Sequence[float | None]) -> float | None:
    """Return the median, or None if a value is unknown."""
    known = [value for value in values if value is not None]
    return statistics.median(known) if len(known) == len(values) else None


def executors_s(cluster: "StandaloneCluster") -> float | None:
    """Return the processor time that the executors and their children have used until now."""
    return family_usage(*(executor.pid for executor in cluster.executors())).processor_s


@contextmanager
def session_on(workers: int) -> "Iterator[tuple[SparkSession, StandaloneCluster]]":
    """Start a standalone cluster with one core for each worker, and a session on it."""
    from kafka_edu.spark.connectors import Connector, start_session
    from kafka_edu.spark.standalone_cluster import running_standalone_cluster

    with (
        running_standalone_cluster(workers, cores=1) as cluster,
        start_session(
            f"bench-{workers}", cluster.master, connector=Connector.OFFICIAL, config=CONFIG
        ) as spark,
    ):
        yield spark, cluster


def report_of(found: Mapping[Case, Mapping[str, Row]], rows: int) -> Report:
    """Return all figures, and the targets, which are for the topic with most partitions."""
    report = Report(NAME)
    report.figure("lines", rows)
    for case, by_name in found.items():
        for name, row in by_name.items():
            report.figure(f"{case}: {name}, s", round(row.seconds, 3))
            if row.us is not None:
                report.figure(f"{case}: {name}, µs a row", round(row.us, 3))
            if row.processor_us is not None:
                report.figure(f"{case}: {name}, processor µs a row", round(row.processor_us, 3))
    most = max(case.partitions for case in found)
    for case in (case for case in found if case.partitions == most):
        ours, official = found[case]["ours"], found[case]["official"]
        report.target(f"{case}: official s / ours s", official.seconds / ours.seconds, ">=", 1.0)
        alone = case._replace(workers=min(WORKERS))
        if case != alone and alone in found:
            gain = found[alone]["ours"].seconds / ours.seconds
            report.target(f"{case}: as fast as one worker, ours", gain, ">=", 1.0)
    return report


def table_of(found: Mapping[Case, Mapping[str, Row]], rows: int) -> Table:
    """Return one line for each case: seconds, µs a row, and processor µs a row, ours / official."""
    table = Table("job", title=f"{rows:,} rows, ours / Spark's own connector", title_justify="left")
    for heading in ("workers", "partitions", "s", "µs a row", "processor µs a row"):
        table.add_column(heading, justify="right")
    for case, by_name in found.items():
        pair = [by_name[name] for name in FORMATS]
        table.add_row(
            case.job,
            str(case.workers),
            str(case.partitions),
            " / ".join(number(row.seconds) for row in pair),
            " / ".join(number(row.us) for row in pair),
            " / ".join(number(row.processor_us) for row in pair),
        )
    return table


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"lines (default {ROWS:,})")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=JOBS)
    parser.add_argument("--workers", nargs="+", type=int, default=WORKERS, metavar="N")
    parser.add_argument("--partitions", nargs="+", type=int, default=PARTITIONS, metavar="N")
    add_repeats(parser, REPEATS, "measured runs of each job")
    args = parser.parse_args(argv)
    require_spark()
    found: dict[Case, dict[str, Row]] = {}
    try:
        with ExitStack() as stack:
            brokers = stack.enter_context(running_cluster("bench-scale")).bootstrap_servers
            for partitions in args.partitions:
                for rows in (args.rows, partitions):
                    fill(brokers, topic_of(rows, partitions), rows, "none", partitions)
            for workers in args.workers:
                with session_on(workers) as (spark, cluster):
                    for partitions in args.partitions:
                        for job in args.jobs:
                            full, few = (
                                measure(
                                    spark,
                                    cluster,
                                    rivals_on(brokers, topic_of(rows, partitions)),
                                    job,
                                    rows=rows,
                                    repeats=args.repeats,
                                )
                                for rows in (args.rows, partitions)
                            )
                            found[Case(job, workers, partitions)] = {
                                name: row_of(full[name], few[name], args.rows) for name in full
                            }
                            if args.json:
                                report_of(found, args.rows).write(args.json)
    except (PeerMissing, SourceError, SparkStartError, JobFailed) as error:
        if found:
            Console().print(table_of(dict(sorted(found.items())), args.rows))
        print(error, file=sys.stderr)
        return 1
    Console().print(table_of(dict(sorted(found.items())), args.rows))
    report_of(found, args.rows).show(figures=False)
    return 0


def rivals_on(bootstrap_servers: str, topic: str) -> list[Contender]:
    """Return both connectors with their default options, for one topic."""
    options = {"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic}
    return [Contender(name, format_, options) for name, format_ in FORMATS.items()]
