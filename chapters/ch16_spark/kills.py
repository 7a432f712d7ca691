"""A streaming job of Spark, an executor and a broker are killed with -9 while log lines come in.

At the end every line is accounted for. The job is killed in the middle of a batch. It runs on a
real standalone cluster of Spark: a master and two workers, whose Python has only numpy and pyarrow.
It reads a topic on three brokers. Five of its outputs must contain every row once: lines, windows
and sessions in Parquet, windows and lines in topics. Two more outputs get the lines at least once:
a topic and Parquet files. They show what the kills do to an output without an exactly-once
guarantee.

The kill comes after Spark has written the plan of a batch into the checkpoint, and before the batch
is marked as done. At this time a part of the batch's rows is written.
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import click
from rich.console import Console

from kafka_edu.cli.demo_frame import demo_command, zookeeper_option
from kafka_edu.cli.demo_topic import (
    BROKERS,
    create_topic,
    demo_admin,
    leaders_of,
    wait_until_in_sync,
)
from kafka_edu.cli.progress import Progress, Standstill
from kafka_edu.cli.report import Report
from kafka_edu.cli.spark_options import require_spark
from kafka_edu.clients.blocking import Consumer
from kafka_edu.common.python_process import command_line, python_command, python_environment
from kafka_edu.common.topic import TRANSACTION_STATE_TOPIC_NAME
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.coordinator.coordinator_type import partition_for
from kafka_edu.supervisor.cluster import Cluster, ClusterError, running_cluster

if TYPE_CHECKING:
    from kafka_edu.clients.web_log.truth import LogTruth
    from kafka_edu.spark.pipeline_answers import Comparison
    from kafka_edu.spark.pipeline_settings import PipelineSettings
    from kafka_edu.spark.standalone_cluster import StandaloneCluster

TOPIC: Final = "log"
RESULT_TOPIC: Final = "windows"
LINES_TOPIC: Final = "lines"
DOUBLES_TOPIC: Final = "lines-at-least-once"
PARTITIONS: Final = 3
WORKERS: Final = 2
QUERIES: Final = 6
"""The number of queries in the job. One query writes both folders of lines."""
BATCH_LINES: Final = 3_000
#: How many lines the log has for each second of its own time. At 500 lines a second, the log runs
#: 20 times as fast as a clock. A partition whose leader is dead for ten seconds then lags by 200 s,
#: far below `apart_s`.
LOG_LINES_A_SECOND: Final = 25.0
MASTER_WITHOUT_EXECUTORS: Final = "local[*]"
STANDSTILL_S: Final = 600.0
"""A job has failed if it begins and ends no batch for this many seconds.

The limit is high because the start alone takes long on a busy machine.
"""
_SEND_EVERY_S: Final = 0.1
_LOOK_EVERY_S: Final = 0.02


class LogFeed:
    """Writes log lines to the topic at a steady rate, in a thread of its own.

    `finish` writes the remaining lines at once.
    """

    def __init__(self, bootstrap_servers: str, settings: "PipelineSettings", seed: int) -> None:
        from kafka_edu.clients.web_log.generator import LogGenerator, LogSettings
        from kafka_edu.spark.log_topic import TopicWriter

        shape = LogSettings(
            seed,
            lines_a_second=LOG_LINES_A_SECOND,
            window_s=settings.window_s,
            gap_s=settings.gap_s,
            watermark_s=settings.watermark_s,
        )
        self._made = LogGenerator(shape)
        self._writer = TopicWriter(bootstrap_servers, TOPIC)
        self._settings = settings
        self._hurry = threading.Event()
        self._thread: threading.Thread | None = None
        self._failed: Exception | None = None
        self.sent = 0

    @property
    def truth(self) -> "LogTruth":
        """Return the correct results for all lines."""
        return self._made.truth

    @property
    def is_at_its_end(self) -> bool:
        """Return whether all lines are written."""
        return self._thread is not None and not self._thread.is_alive()

    def start(self, lines: int, rate: int) -> None:
        """Start writing `lines` lines in total, `rate` of them a second."""
        self._thread = threading.Thread(
            target=self._run, args=(lines, rate), name="feed", daemon=True
        )
        self._thread.start()

    def _run(self, lines: int, rate: int) -> None:
        from kafka_edu.clients.web_log.records import records
        from kafka_edu.spark.web_log_topic import TopicNotFilled

        try:
            while (left := lines - self._made.truth.lines) > 0:
                block = self._made.next_block(left)
                made = list(records(block, self._made.text.lines(block)))
                size = max(1, round(rate * _SEND_EVERY_S))
                for first in range(0, len(made), size):
                    part = made[first : first + size]
                    self._writer.send(part)
                    self.sent += len(part)
                    self._hurry.wait(_SEND_EVERY_S)
            self._writer.flush()
        except TopicNotFilled as error:
            self._failed = error

    def finish(self) -> None:
        """Write the remaining lines at once, and then the line that closes all windows.

        Raises ClusterError if a line could not be written.
        """
        from kafka_edu.spark.pipeline_log import clock_record
        from kafka_edu.spark.web_log_topic import TopicNotFilled

        self._hurry.set()
        if self._thread is not None:
            self._thread.join()
        try:
            if self._failed is not None:
                raise self._failed
            self._writer.send([clock_record(self.truth.latest_s, self._settings)])
            self._writer.flush()
        except TopicNotFilled as error:
            raise ClusterError(str(error)) from error


class StreamJob:
    """The streaming job: a Python process, and the JVM that this process has started."""

    def __init__(self, master: str, settings: "PipelineSettings", python: Path | None) -> None:
        self._command = python_command(
            "kafka_edu.supervisor.supervised_child",
            *(str(os.getpid()), "kafka_edu.spark.stream_job", master, settings.to_json()),
        )
        chosen = {} if python is None else {"PYSPARK_PYTHON": str(python)}
        # a killed JVM leaves its temporary files behind, so they go where the demo cleans up
        self._temporary = Path(settings.out).with_name("temporary")
        chosen["SPARK_LOCAL_DIRS"] = str(self._temporary)
        options = os.environ.get("SPARK_SUBMIT_OPTS", "")
        chosen["SPARK_SUBMIT_OPTS"] = f'{options} "-Djava.io.tmpdir={self._temporary}"'
        self._environment = python_environment() | chosen
        self._log = Path(settings.out).with_name("job.log")
        self._checkpoint = settings.checkpoint
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the job. It continues from its checkpoint."""
        self._temporary.mkdir(exist_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._environment,
                process_group=0,
            )

    def wait_until(self, is_so: Callable[[], bool], what: str, *, hold: bool = False) -> None:
        """Wait until `is_so()` is true.

        With `hold` the job is paused while `is_so` runs, and it stays paused after the last call.
        Without `hold`, a batch on a busy machine may begin and end between two calls. Raises
        ClusterError if the job ends by itself, or if it makes no more progress.
        """
        progress = self._progress(what)
        while not (self._holds_at(is_so) if hold else is_so()):
            assert self._process is not None
            if self._process.poll() is not None:
                raise ClusterError(f"the job ended while the demo waited for {what}:{self._said()}")
            self._note(progress)
            time.sleep(_LOOK_EVERY_S)

    def _holds_at(self, is_so: Callable[[], bool]) -> bool:
        """Pause the job, call `is_so`, and resume the job if the result is False."""
        family = self.family()
        _send(signal.SIGSTOP, family)
        found = False
        try:
            found = is_so()
        finally:
            if not found:
                _send(signal.SIGCONT, family)
        return found

    def _progress(self, what: str) -> Progress:
        return Progress(what, STANDSTILL_S)

    def _note(self, progress: Progress) -> None:
        """Store the progress of the batches.

        Raises ClusterError with the job's output if there is none.
        """
        from kafka_edu.spark.pipeline import finished_batches, unfinished_batches

        try:
            progress.note(
                (finished_batches(self._checkpoint), unfinished_batches(self._checkpoint))
            )
        except Standstill as error:
            raise ClusterError(f"{error}. The job said:{self._said()}") from error

    def wait_for_a_batch(self, what: str) -> None:
        """Wait until every query has finished one more batch after this call."""
        from kafka_edu.spark.pipeline import finished_batches

        before = finished_batches(self._checkpoint)

        def all_went_on() -> bool:
            now = finished_batches(self._checkpoint)
            return len(now) == QUERIES and all(
                batch > before.get(name, -1) for name, batch in now.items()
            )

        self.wait_until(all_went_on, what)

    def family(self) -> list[int]:
        """Return the process ids of the JVM and of the job itself.

        Before the start there are none.
        """
        from kafka_edu.spark.standalone_cluster import processes

        if self._process is None:
            return []
        job = self._process.pid
        return [*(one.pid for one in processes() if one.parent == job), job]

    def kill(self, family: list[int]) -> None:
        """Kill all processes in `family` with -9."""
        _send(signal.SIGKILL, family)
        if self._process is not None:
            self._process.wait()

    def finish(self, ends: Mapping[int, int]) -> None:
        """Let the job read up to these offsets and end. Raises ClusterError if the job fails."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(ends).encode() + b"\n")
        self._process.stdin.flush()
        progress = self._progress("the job to read the log to its end")
        while (code := self._process.poll()) is None:
            self._note(progress)
            time.sleep(_LOOK_EVERY_S)
        if code != 0:
            raise ClusterError(f"the job ended with {code}:{self._said()}")

    def _said(self) -> str:
        """Return the last 15 lines of the job's output, without the frames of Java stack traces."""
        from kafka_edu.spark.java_gateway import without_frames

        lines = without_frames(self._log.read_text("utf-8", "replace"))
        return "".join(f"\n{line}" for line in lines[-15:])


def _send(number: signal.Signals, family: list[int]) -> None:
    """Send a signal to all processes in `family` that are alive."""
    for pid in family:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


class Killed(NamedTuple):
    """The processes and batches that were hit by the kills."""

    batches: dict[str, int]
    """Query → the number of the batch that was running when the job was killed."""
    executors: int
    brokers: int
    slots: int
    """The number of slots whose transactions were coordinated by the killed broker."""


class Outcome(NamedTuple):
    """The results of a run."""

    killed: Killed
    comparisons: "list[Comparison]"
    lines: int
    topic_records: tuple[int, int]
    """(Records, different lines) in the topic that is written at least once."""
    parquet_rows: tuple[int, int]
    """(Rows, different lines) in the Parquet files that are written at least once."""
    seconds: float


class RowsAtLeastOnce:
    """The current sizes of the two at-least-once outputs.

    They show when a batch is half written.
    """

    def __init__(self, settings: "PipelineSettings") -> None:
        from kafka_edu.spark.pipeline import APPENDED

        self._folder = Path(settings.out, APPENDED)
        self._consumer = Consumer({"bootstrap.servers": settings.bootstrap_servers})

    def close(self) -> None:
        self._consumer.close()

    def in_topic(self) -> int:
        """Return the number of records in the at-least-once topic."""
        partitions = [TopicPartition(DOUBLES_TOPIC, number) for number in range(PARTITIONS)]
        return sum(self._consumer.end_offsets(partitions).values())

    def in_parquet(self) -> int:
        """Return the number of at-least-once Parquet files."""
        return len(list(self._folder.glob("*.parquet")))


def in_mid_batch(settings: "PipelineSettings", rows: RowsAtLeastOnce) -> Callable[[], bool]:
    """Return a function that says whether the job is in the middle of a batch.

    It is True if both at-least-once outputs have rows of an unfinished batch, and the query of an
    exactly-once topic has an unfinished batch too.
    """
    from kafka_edu.spark import pipeline

    seen: dict[str, tuple[int, int]] = {}

    def has_grown(name: str, batch: int, count: int) -> bool:
        """Return whether `count` has grown since this batch of the query `name` was first seen."""
        if seen.get(name, (-1, 0))[0] != batch:
            seen[name] = (batch, count)
        return count > seen[name][1]

    def is_so() -> bool:
        open_ones = pipeline.unfinished_batches(settings.checkpoint)
        if not {pipeline.LINES, pipeline.LINES_TOPIC, pipeline.DOUBLES_TOPIC} <= open_ones.keys():
            return False
        grown = [
            has_grown(pipeline.DOUBLES_TOPIC, open_ones[pipeline.DOUBLES_TOPIC], rows.in_topic()),
            has_grown(pipeline.LINES, open_ones[pipeline.LINES], rows.in_parquet()),
        ]
        now = pipeline.unfinished_batches(settings.checkpoint)
        return all(grown) and all(now.get(name) == batch for name, batch in open_ones.items())

    return is_so


def coordinators(settings: "PipelineSettings") -> Counter[int]:
    """Return broker → how many slots of the lines topic have their coordinator there."""
    from kafka_edu.spark.pipeline import LINES_TOPIC as QUERY

    metadata = json.loads(Path(settings.checkpoint, QUERY, "metadata").read_text("utf-8"))
    with demo_admin(settings.bootstrap_servers) as admin:
        leaders = leaders_of(admin, TRANSACTION_STATE_TOPIC_NAME)
    names = [f"kafka-edu-sink-{metadata['id']}-{TOPIC}-{number}" for number in range(PARTITIONS)]
    return Counter(leaders[partition_for(name, len(leaders))] for name in names)


def tell_the_story(
    cluster: Cluster,
    workers: "StandaloneCluster | None",
    job: StreamJob,
    settings: "PipelineSettings",
    console: Console,
) -> Killed:
    """Kill the job, an executor and a broker, one after the other.

    At the end the job is running.
    """
    from kafka_edu.spark.pipeline import unfinished_batches

    job.start()
    job.wait_for_a_batch("the first batch of each query")
    console.print("[green]●[/] the job runs, and every query has finished a batch")
    family = job.family()
    rows = RowsAtLeastOnce(settings)
    job.wait_until(in_mid_batch(settings, rows), "the middle of a batch", hold=True)
    job.kill(family)
    rows.close()
    batches = unfinished_batches(settings.checkpoint)
    console.print(
        "[red]✕[/] kill -9: the job, while batches were running: "
        + ", ".join(f"{name} {batch}" for name, batch in batches.items()),
        soft_wrap=True,
    )
    job.start()
    job.wait_for_a_batch("the batches that the killed job left")
    console.print("[green]●[/] the job continues from its checkpoint, and has repeated them")
    executors = 0
    if workers is not None:
        job.wait_until(
            lambda: bool(workers.executors() and unfinished_batches(settings.checkpoint)),
            "an executor with work",
        )
        killed = workers.kill_executor()
        executors = 1
        console.print(f"[red]✕[/] kill -9: the executor of worker {killed.worker}")
        job.wait_for_a_batch("a batch after the executor's end")
        console.print("[green]●[/] Spark has given its tasks to another executor")
    slots = coordinators(settings)
    [(victim, count)] = slots.most_common(1)
    cluster.kill(victim)
    console.print(f"[red]✕[/] kill -9: broker {victim}, which coordinates {count} of the slots")
    job.wait_for_a_batch("a batch without the broker")
    console.print(f"[green]●[/] every query has finished a batch without broker {victim}")
    cluster.start(victim)
    wait_until_in_sync(cluster.bootstrap_servers, LINES_TOPIC, PARTITIONS)
    return Killed(batches, executors, 1, count)


@contextlib.contextmanager
def spark_workers(console: Console) -> "Iterator[StandaloneCluster | None]":
    """Run a standalone Spark cluster and yield it.

    If that is impossible, say why and yield None.
    """
    from kafka_edu.spark.java_gateway import SparkStartError
    from kafka_edu.spark.standalone_cluster import find_full_java, running_standalone_cluster

    try:
        find_full_java()
    except SparkStartError as error:
        console.print(
            f"[yellow]▲[/] {error} The job runs on {MASTER_WITHOUT_EXECUTORS}, so the kill of an"
            " executor is not shown.",
            soft_wrap=True,
            highlight=False,
        )
        yield None
        return
    try:
        with running_standalone_cluster(WORKERS) as workers:
            console.print(f"[green]●[/] a Spark cluster of {WORKERS} workers: {workers.master}")
            yield workers
    except SparkStartError as error:
        raise ClusterError(str(error)) from error


def run(folder: Path, lines: int, rate: int, zookeeper: str, console: Console) -> Outcome:
    """Play the whole demo in `folder`, and compare the outputs with the right results."""
    from kafka_edu.spark.bare_python import make_bare_python
    from kafka_edu.spark.pipeline_log import topic_ends
    from kafka_edu.spark.pipeline_settings import PipelineSettings

    began = time.monotonic()
    with running_cluster("spark-kills", brokers=BROKERS, zookeeper=zookeeper) as cluster:
        servers = cluster.bootstrap_servers
        settings = PipelineSettings(
            servers,
            TOPIC,
            str(folder / "out"),
            str(folder / "checkpoint"),
            batch_lines=BATCH_LINES,
            also_append=True,
            result_topic=RESULT_TOPIC,
            lines_topic=LINES_TOPIC,
            doubles_topic=DOUBLES_TOPIC,
        )
        # The lines carry times of long ago, and retention.ms counts from these times.
        create_topic(servers, TOPIC, PARTITIONS, {"retention.ms": "-1"})
        for topic in (RESULT_TOPIC, LINES_TOPIC, DOUBLES_TOPIC):
            create_topic(servers, topic, PARTITIONS)
        feed = LogFeed(servers, settings, seed=16)
        with spark_workers(console) as workers:
            python = None if workers is None else make_bare_python(folder / "python")
            master = MASTER_WITHOUT_EXECUTORS if workers is None else workers.master
            job = StreamJob(master, settings, python)
            feed.start(lines, rate)
            killed = None
            try:
                killed = tell_the_story(cluster, workers, job, settings, console)
                sent = feed.sent
                feed.finish()
                job.finish(topic_ends(servers, TOPIC))
            finally:
                if killed is None:
                    job.kill(job.family())
        console.print(
            f"[green]●[/] {sent:,} of {feed.truth.lines:,} lines came in during the demo; all are"
            " read now"
        )
        return compare_all(settings, feed.truth, killed, time.monotonic() - began)


def compare_all(
    settings: "PipelineSettings", truth: "LogTruth", killed: Killed, seconds: float
) -> Outcome:
    """Compare all outputs with the right results."""
    from kafka_edu.spark import topic_answers as topics
    from kafka_edu.spark.connectors import start_session
    from kafka_edu.spark.pipeline import APPENDED
    from kafka_edu.spark.pipeline_answers import compare, read_answers, rows_of

    servers = settings.bootstrap_servers
    windows = topics.read_windows(servers, RESULT_TOPIC)
    lines = topics.read_lines(servers, LINES_TOPIC)
    doubles = topics.read_lines(servers, DOUBLES_TOPIC)
    with start_session("kafka-edu-answers", "local[2]") as spark:
        answers = read_answers(spark, settings.out, settings.window_s)
        appended = rows_of(spark, f"{settings.out}/{APPENDED}")
    return Outcome(
        killed,
        [
            *compare(answers, truth),
            *topics.compare_window_topic(windows, truth),
            *topics.compare_line_topic(lines, truth),
        ],
        truth.lines,
        (doubles.records, doubles.lines),
        appended,
        seconds,
    )


def report_of(outcome: Outcome) -> Report:
    report = Report("spark-kills")
    killed = outcome.killed
    report.figure("lines sent", outcome.lines)
    report.figure("batches that were running when the job was killed", killed.batches)
    report.figure("slots whose coordinator was killed", killed.slots)
    for place, (rows, lines) in (
        ("topic", outcome.topic_records),
        ("Parquet", outcome.parquet_rows),
    ):
        report.figure(f"at least once, {place}: rows", rows)
        report.figure(f"at least once, {place}: different lines", lines)
    report.figure("seconds from the first start to the last line", round(outcome.seconds, 1))
    report.target("jobs killed in the middle of a batch", int(bool(killed.batches)), "==", 1)
    if killed.executors:
        report.target("executors killed", killed.executors, "==", 1)
    else:
        report.figure("executors killed", "not shown: there is no full Java")
    report.target("brokers killed", killed.brokers, "==", 1)
    for row in outcome.comparisons:
        report.target(f"differences from the truth: {row.name}", row.differences, "==", 0)
    for place, (rows, lines) in (
        ("topic", outcome.topic_records),
        ("Parquet", outcome.parquet_rows),
    ):
        report.target(f"at least once, {place}: lines doubled", rows - lines, ">", 0)
    return report


@demo_command("spark-kills")
@click.option(
    "--lines",
    type=click.IntRange(5_000, 1_000_000),
    default=40_000,
    show_default=True,
    help="Lines of the log.",
)
@click.option(
    "--rate",
    type=click.IntRange(10, 10_000),
    default=500,
    show_default=True,
    help="Lines a second, until the last kill is over.",
)
@zookeeper_option
def spark_kills(console: Console, lines: int, rate: int, zookeeper: str) -> Report:
    """Kill a Spark job, an executor and a broker with -9, and account for every line.

    Lines come in all the time. The job runs on a standalone cluster of two workers, which needs a
    full Java 17 or newer. Without it the job runs in one process, and no executor is killed. The
    exit code is 1 if a target is missed.
    """
    require_spark()
    with tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as folder:
        outcome = run(Path(folder), lines, rate, zookeeper, console)
    report = report_of(outcome)
    doubled = [rows - lines for rows, lines in (outcome.topic_records, outcome.parquet_rows)]
    report.end(
        happened="The job was killed in the middle of a batch, then"
        f" {'an executor and ' if outcome.killed.executors else ''}a broker, and all"
        f" {outcome.lines:,} lines are there once; the outputs with at-least-once writes have"
        f" duplicates of {doubled[0]:,} lines in the topic and {doubled[1]:,} in Parquet.",
        why="Spark repeats a batch with the same offsets: in Parquet it overwrites the batch's"
        " folder, and in a topic the sink skips each slot that has committed the batch's number.",
        look_next="Read docs/spark-sink.md for what a slot is, and run"
        f" {command_line('demo transactions')} for the same guarantee without Spark.",
    )
    return report
