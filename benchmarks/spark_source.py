"""`kafka-edu bench spark-source`: rows/s that Spark reads through kafka-edu's own data source.

It is compared with Spark's own Kafka connector and with a text file, in one JVM and one run.

The topic has four partitions of lines of 200 bytes. Spark runs on `local[2]`. Each job reads all
lines, and its result is checked:

- count: a batch job that counts the rows
- regexp: a batch job that finds each line's status by a regular expression, and groups by it
- noop: a stream that ends when it has read all (AvailableNow), and writes nothing
- parquet: the same stream, written to Parquet

Each contender first runs once without being measured. Then the contenders take turns, in
alternating order, so that a slow moment of the machine affects all of them. A figure is the median
of the repeats. A ratio is the median of the ratios of each turn. The smallest and the largest ratio
are shown too. Our source verifies checksums, as the connector's consumer does by default. Only in
the pair `tuned` neither side verifies them.

The same jobs on a topic of four lines show the fixed time of a job, in which Spark plans the job
and starts Python if needed. A ratio without the fixed times shows the result for an endless topic.

At the end hogs keep the machine busy, four for each core, and the short jobs count and noop run
again on the topic of four lines (`--hogs`). In this part, our source must not be slower than the
connector.
"""

import argparse
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_edu.cli.report import Report
from kafka_edu.cli.spark_options import require_spark
from kafka_edu.clients.web_log.access_log import STATUS
from kafka_edu.common.busy_machine import Hogs
from kafka_edu.common.maven_jars import PeerMissing
from kafka_edu.common.python_process import command_line
from kafka_edu.spark.java_gateway import SparkStartError
from kafka_edu.spark.source_errors import SourceError
from kafka_edu.supervisor.cluster import running_cluster

from .apache_kafka import apache_kafka, kafka_jars
from .options import add_repeats

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamWriter

NAME = "spark-source"
HELP = "rows/s of Spark through our source, through Spark's own connector, and from a text file"

ROWS: Final = 1_000_000
REPEATS: Final = 5
PARTITIONS: Final = 4
LINE_BYTES: Final = 200
TOPIC: Final = "lines"
FEW_TOPIC: Final = "few"
#: A topic with one line for each partition. With it, almost all time of a job is fixed time.
FEW_ROWS: Final = PARTITIONS
SEED: Final = 1
MASTER: Final = "local[2]"
OURS: Final = "our brokers"
PEER: Final = "Apache Kafka 2.8.2"
#: Options for a fast connector: its consumer takes more records and bytes at once, and does not
#: verify checksums.
TUNED: Final = {
    "kafka.max.poll.records": "20000",
    "kafka.max.partition.fetch.bytes": str(8 << 20),
    "kafka.check.crcs": "false",
}
#: Part of the error message that appears if a new Python worker does not connect within a few
#: seconds. Spark has no setting for this time.
TOO_SLOW: Final = "Python worker failed to connect back"
UNCHECKED: Final = {"kafka.check.crcs": "false"}
HOGS: Final = 4
#: The jobs that run on a busy machine, on the topic of a few lines.
BUSY_JOBS: Final = ("count", "noop")
#: The smallest ratio of the speeds, ours / official, that is a success on a busy machine.
BUSY_RATIO: Final = 1.0


class Pair(NamedTuple):
    """The names of two contenders that are compared."""

    ours: str
    theirs: str
    least: float | None
    """The smallest ratio of the contenders' speeds that is a success. None if the ratio is only
    shown.
    """


PAIRS: Final = (
    Pair("ours", "official", 1.3),
    Pair("ours, no CRC", "official, tuned", 1.0),
    Pair("ours", "text file", None),
)


class JobFailed(Exception):
    """A job has no figure. The message is meant for the user."""


class Contender(NamedTuple):
    """One way in which Spark reads the lines."""

    name: str
    format: str
    options: Mapping[str, str]
    """Options of the data source, without the addresses of the brokers.

    For a text file, the option `path`.
    """

    def batch(self, spark: "SparkSession") -> "DataFrame":
        """Return all lines as a batch DataFrame."""
        return spark.read.format(self.format).options(**self.options).load()

    def stream(self, spark: "SparkSession") -> "DataFrame":
        """Return all lines as a streaming DataFrame."""
        reader = spark.readStream.format(self.format).options(**self.options)
        if self.format != "text":
            reader = reader.option("startingOffsets", "earliest")
        return reader.load()


class Measured(NamedTuple):
    """The times of one job in s: contender → one time for each turn."""

    seconds: Mapping[str, Sequence[float]]

    def median(self, name: str) -> float:
        return statistics.median(self.seconds[name])

    def ratios(self, ours: str, theirs: str) -> list[float]:
        """Return how many times as fast `ours` was as `theirs`: one ratio for each turn, sorted."""
        pairs = zip(self.seconds[ours], self.seconds[theirs], strict=True)
        return sorted(slow / fast for fast, slow in pairs)


def contenders(bootstrap_servers: str, text: Path, topic_name: str = TOPIC) -> list[Contender]:
    """Return all contenders for one topic of one cluster."""
    topic = {"kafka.bootstrap.servers": bootstrap_servers, "subscribe": topic_name}
    return [
        Contender("ours", "kafka-edu", topic),
        Contender("official", "kafka", topic),
        Contender("ours, no CRC", "kafka-edu", {**topic, **UNCHECKED}),
        Contender("official, tuned", "kafka", {**topic, **TUNED}),
        Contender("text file", "text", {"path": str(text)}),
    ]


def lines(rows: int) -> Iterator[bytes]:
    """Yield lines of a generated web log, each filled up to 200 bytes.

    Lines that are longer, have bytes other than ASCII, or have no status are left out.
    """
    from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings

    has_status = re.compile(STATUS.encode()).match
    generator = LogGenerator(LogSettings(seed=SEED))
    while True:
        for line in generator.text.lines(generator.next_block()).split(b"\n"):
            if len(line) <= LINE_BYTES and line.isascii() and has_status(line):
                yield line.ljust(LINE_BYTES, b".")
                rows -= 1
                if not rows:
                    return


def fill(
    bootstrap_servers: str, topic: str, rows: int, compression: str, partitions: int = PARTITIONS
) -> None:
    """Create the topic and write the lines to it. Raises PeerMissing if the lines do not arrive."""
    from confluent_kafka import Producer
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    for created in admin.create_topics([NewTopic(topic, partitions, 1)]).values():
        created.result(60)
    producer = Producer(
        {
            "bootstrap.servers": bootstrap_servers,
            "linger.ms": 20,
            "batch.size": 256 << 10,
            "compression.type": compression,
            "queue.buffering.max.messages": 200_000,
        }
    )
    for number, line in enumerate(lines(rows)):
        while True:
            try:
                producer.produce(topic, line, partition=number % partitions)
                break
            except BufferError:
                producer.poll(0.1)
        if not number % 10_000:
            producer.poll(0)
    if left := producer.flush(120):
        raise PeerMissing(f"{left} lines did not arrive at {bootstrap_servers} within 120 s")


def write_text(folder: Path, rows: int) -> None:
    """Create the folder, and write the topic's lines into it: one text file for each partition."""
    folder.mkdir()
    files = [(folder / f"part-{number}.txt").open("wb") for number in range(PARTITIONS)]
    for number, line in enumerate(lines(rows)):
        files[number % PARTITIONS].write(line + b"\n")
    for file in files:
        file.close()


def count(spark: "SparkSession", contender: Contender) -> int:
    return int(contender.batch(spark).count())


def regexp(spark: "SparkSession", contender: Contender) -> int:
    from pyspark.sql.functions import col, regexp_extract

    status = regexp_extract(col("value").cast("string"), STATUS, 1)
    found = contender.batch(spark).groupBy(status.alias("status")).count().collect()
    return sum(row["count"] for row in found if row["status"])


def noop(spark: "SparkSession", contender: Contender) -> int:
    with tempfile.TemporaryDirectory() as folder:
        writer = contender.stream(spark).writeStream.format("noop")
        return _rows_of_query(writer.option("checkpointLocation", folder))


def parquet(spark: "SparkSession", contender: Contender) -> int:
    with tempfile.TemporaryDirectory() as folder:
        writer = contender.stream(spark).writeStream.format("parquet")
        written = writer.option("path", f"{folder}/rows")
        return _rows_of_query(written.option("checkpointLocation", f"{folder}/checkpoint"))


def _rows_of_query(writer: "DataStreamWriter") -> int:
    from kafka_edu.spark.query_start import start_queries

    # On a busy machine a second start may be needed. Its time is included.
    query = start_queries({"query": writer.trigger(availableNow=True)})["query"]
    query.awaitTermination()
    return sum(progress["numInputRows"] for progress in query.recentProgress)


JOBS: Final[Mapping[str, Callable[["SparkSession", Contender], int]]] = {
    "count": count,
    "regexp": regexp,
    "noop": noop,
    "parquet": parquet,
}


def measure(
    spark: "SparkSession", rivals: Sequence[Contender], job: str, rows: int, repeats: int
) -> Measured:
    """Run one job with each contender in turn, and return the times.

    The first turn is not measured. Raises JobFailed if a contender fails or counts another number
    of rows.
    """
    seconds: dict[str, list[float]] = {rival.name: [] for rival in rivals}
    for turn, rival in in_turns(rivals, repeats):
        began = time.perf_counter()
        run(spark, rival, job, rows)
        if turn:
            seconds[rival.name].append(time.perf_counter() - began)
    return Measured(seconds)


def in_turns(rivals: Sequence[Contender], repeats: int) -> Iterator[tuple[int, Contender]]:
    """Yield the number of the turn and the contender, in alternating order.

    Turn 0 is the warm-up, which is not measured. `repeats` turns follow it.
    """
    for turn in range(repeats + 1):
        for rival in rivals if turn % 2 else reversed(rivals):
            yield turn, rival


def run(spark: "SparkSession", rival: Contender, job: str, rows: int) -> None:
    """Run one job once. Raises JobFailed if it fails or counts another number of rows."""
    from pyspark.errors import PySparkException

    try:
        found = JOBS[job](spark, rival)
    except PySparkException as error:
        raise JobFailed(f"{rival.name} failed in {job}: {_why(error)}") from None
    if found != rows:
        raise JobFailed(f"{rival.name} found {found} of {rows} rows in {job}.")


def _why(error: Exception) -> str:
    first_line = str(error).strip().partition("\n")[0].rstrip(".")
    busy = " Run this again when the machine is less busy." if TOO_SLOW in first_line else ""
    return f"{first_line}.{busy}"


def add_to_report(report: Report, case: str, rows: int, all_lines: Measured, few: Measured) -> str:
    """Add the figures and targets of one job on one cluster. Return them as one line of text."""
    said = []
    for name in all_lines.seconds:
        rate = rows / all_lines.median(name)
        report.figure(f"{case}: {name}, rows/s", round(rate))
        report.figure(f"{case}: {name}, fixed s", round(few.median(name), 2))
        said.append(f"{name} {rate:,.0f} (fixed {few.median(name):.2f} s)")
    for ours, theirs, least in PAIRS:
        ratios = all_lines.ratios(ours, theirs)
        label = f"{case}: {ours} / {theirs}"
        if least is None:
            report.figure(label, round(statistics.median(ratios), 2))
        else:
            report.target(label, statistics.median(ratios), ">=", least)
        report.figure(f"{label}, turn by turn", f"{ratios[0]:.2f} to {ratios[-1]:.2f}")
        ours_s, theirs_s = (all_lines.median(one) - few.median(one) for one in (ours, theirs))
        if ours_s > 0 and theirs_s > 0:
            report.figure(f"{label}, without fixed s", round(theirs_s / ours_s, 2))
        said.append(
            f"/ {theirs} {statistics.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        )
    return f"{case}, rows/s: {', '.join(said)}"


def add_busy(report: Report, job: str, hogs: int, few: Measured) -> str:
    """Add the figures and the target of one short job on a busy machine. Return them as text."""
    case = f"{hogs} hogs a core, {job} of {FEW_ROWS} lines"
    ratios = few.ratios("ours", "official")
    for name in few.seconds:
        report.figure(f"{case}: {name}, s", round(few.median(name), 2))
    report.target(f"{case}: ours / official", statistics.median(ratios), ">=", BUSY_RATIO)
    by_turn = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
    report.figure(f"{case}: ours / official, turn by turn", by_turn)
    times = ", ".join(f"{name} {few.median(name):.2f} s" for name in few.seconds)
    return f"{case}: {times}, ratio {statistics.median(ratios):.2f} ({by_turn})"


def main(argv: list[str]) -> int:
    """Run the benchmark. Return 0 when it has run, even if targets are missed."""
    parser = argparse.ArgumentParser(prog=command_line(f"bench {NAME}"), description=HELP)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rows", type=int, default=ROWS, help=f"lines (default {ROWS:,})")
    parser.add_argument("--jobs", nargs="+", choices=list(JOBS), default=list(JOBS))
    parser.add_argument(
        "--compression", default="none", choices=["none", "gzip", "snappy", "lz4", "zstd"]
    )
    parser.add_argument("--only-ours", action="store_true", help="leave out Apache Kafka's brokers")
    parser.add_argument(
        "--hogs",
        type=int,
        default=HOGS,
        metavar="N",
        help=f"busy processes for each core in the last part (default {HOGS}; 0 leaves the part"
        " out)",
    )
    parser.add_argument(
        "--only-busy", action="store_true", help="only the part with busy processes"
    )
    add_repeats(parser, REPEATS, "measured runs of each job")
    args = parser.parse_args(argv)
    require_spark()
    report = Report(NAME)

    def save() -> None:
        if args.json:
            report.write(args.json)

    report.figure("lines", args.rows)
    report.figure("compression", args.compression)
    try:
        with ExitStack() as stack:
            from kafka_edu.spark.connectors import Connector, start_session

            text = Path(tempfile.mkdtemp(prefix="kafka-edu-lines-"))
            stack.callback(shutil.rmtree, text, ignore_errors=True)
            topics = (
                {FEW_TOPIC: FEW_ROWS} if args.only_busy else {TOPIC: args.rows, FEW_TOPIC: FEW_ROWS}
            )
            for topic, rows in topics.items():
                write_text(text / topic, rows)
            servers = {OURS: stack.enter_context(running_cluster("bench-spark")).bootstrap_servers}
            if not args.only_ours and not args.only_busy:
                peer = stack.enter_context(apache_kafka(kafka_jars()))
                servers[PEER] = peer.bootstrap
            for bootstrap in servers.values():
                for topic, rows in topics.items():
                    fill(bootstrap, topic, rows, args.compression)
            spark = stack.enter_context(
                start_session("bench", MASTER, connector=Connector.OFFICIAL)
            )
            for job in args.jobs if not args.only_busy else []:
                for place, bootstrap in servers.items():
                    all_lines, few = (
                        measure(
                            spark,
                            contenders(bootstrap, text / topic, topic),
                            job,
                            rows=rows,
                            repeats=args.repeats,
                        )
                        for topic, rows in topics.items()
                    )
                    done = add_to_report(report, f"{place}, {job}", args.rows, all_lines, few)
                    save()
                    print(done, flush=True)
            if args.hogs:
                pair = contenders(servers[OURS], text / FEW_TOPIC, FEW_TOPIC)[:2]
                with Hogs(args.hogs * (os.cpu_count() or 1)):
                    for job in BUSY_JOBS:
                        few = measure(spark, pair, job, rows=FEW_ROWS, repeats=args.repeats)
                        print(add_busy(report, job, args.hogs, few), flush=True)
                        save()
    except (PeerMissing, SourceError, SparkStartError) as missing:
        print(missing, file=sys.stderr)
        return 1
    except JobFailed as failed:
        if report.targets:
            report.show()
        print(f"{failed} What was measured before is shown, and kept.", file=sys.stderr)
        return 1
    report.show()
    save()
    return 0
