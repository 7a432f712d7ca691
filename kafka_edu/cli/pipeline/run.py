"""Run the pipeline: fill the topic, start Spark's queries, and read their results.

A stream runs at the same time as its producer, in three steps:

1. The producer sends the log at its rate, and the queries read it.
2. Every line has been sent and read. Then the clock line is sent, which closes all windows.
3. Every query has read the clock line, and the batch after it has written the last windows.

The clock line is sent only after step 2, because it raises the watermark: Spark would drop each
line that it reads later.
"""

import threading
import time
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from kafka_edu.spark.pipeline_view import Batch, PipelineView

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_edu.cli.pipeline.screen import Screen
    from kafka_edu.clients.web_log.truth import LogTruth
    from kafka_edu.spark.pipeline_answers import Answers, Comparison
    from kafka_edu.spark.pipeline_log import LogFeeder
    from kafka_edu.spark.pipeline_settings import PipelineSettings

_LOOK_EVERY_S = 0.1
_HIGHEST_RATE = 5_000
_SHORTEST_S = 20


class Mode(StrEnum):
    """How Spark reads the topic."""

    STREAM = "stream"
    """Read as a stream while the producer writes."""
    AVAILABLE_NOW = "available-now"
    """Read as a stream that ends after the records that were in the topic at its start."""
    BATCH = "batch"
    """Read the whole topic once, as a table."""


class Run(NamedTuple):
    """The options of the command that are not in PipelineSettings."""

    mode: Mode
    master: str
    lines: int
    seed: int
    rate: int | None
    """Lines a second that the producer sends. None means as fast as possible."""


def stream_rate(lines: int) -> int:
    """Return the rate of a stream without --rate, in lines a second.

    The lines of a small log cover as much of the log's own time as 100,000 lines do. Spark reads
    the partitions one after another. If a small log were written fast, then much of the log's time
    would pass while Spark reads one partition, and the other partitions would be too far behind.
    """
    return max(1, min(_HIGHEST_RATE, lines // _SHORTEST_S))


def apart_s(lines: int) -> int:
    """Return how far one partition may be ahead of another, in seconds of the log's time.

    A small log has few visitors, so its partitions do not advance evenly. With fewer than 20,000
    lines, the result is longer than the whole log. In this case, all windows are written at the
    end.
    """
    return 600 if lines >= 100_000 else 1_200 if lines >= 20_000 else 7_200


class Outcome(NamedTuple):
    """The results of a run, and their comparison with the true values."""

    answers: "Answers"
    truth: "LogTruth"
    comparisons: "list[Comparison]"
    result_records: int | None
    """Number of records in the result topic. None if there is no result topic."""
    batches: list[Batch]
    """The batches of all streaming queries. A batch job counts as one batch."""
    dropped: int
    """Number of rows that Spark's watermark dropped. It is 0 if the pipeline is right."""
    seconds: float


def fill(feeder: "LogFeeder", rate: float | None, say: Callable[[str], None], lines: int) -> None:
    """Write the log to the topic, and call `say` with the progress. Raises TopicNotFilled."""
    stop = threading.Event()
    thread = feeder.start(rate, stop)
    try:
        while thread.is_alive():
            say(f"writing the log: {feeder.sent:,} of {lines:,} lines")
            thread.join(_LOOK_EVERY_S)
    finally:
        stop.set()
    if feeder.failed is not None:
        raise feeder.failed


class StreamRun:
    """A stream of Spark that runs at the same time as its producer. A view shows its progress."""

    def __init__(
        self,
        feeder: "LogFeeder",
        settings: "PipelineSettings",
        view: PipelineView,
        screen: "Screen",
        taken: Callable[[PipelineView], None],
    ) -> None:
        """Prepare the stream. `taken` is called with the view after each batch."""
        self._feeder = feeder
        self._settings = settings
        self._view = view
        self._screen = screen
        self._taken = taken
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def run(self, spark: "SparkSession", rate: float | None, *, available_now: bool) -> None:
        """Run the stream until every result is written.

        Raises TopicNotFilled if the log cannot be written, and the error of a query that fails.
        """
        from kafka_edu.spark.pipeline import Stream, read_topic_stream, run_stream

        self._starts(f"preparing {len(self._view.queries)} queries")
        stream = Stream(
            read_topic_stream(spark, self._settings),
            self._settings,
            available_now=available_now,
            show=lambda starting: self._starts(str(starting)),
        )
        self._view.starting = ""
        if available_now:
            self._clock()
        else:
            self._thread = self._feeder.start(rate, self._stop)
        try:
            run_stream(stream, self._batch, self._is_done)
        finally:
            self._stop.set()

    def _starts(self, step: str) -> None:
        """Show a step of the start. The view is drawn before the first query runs."""
        self._view.starting = step
        self._view.fed(self._feeder.sent, self._feeder.ends, time.monotonic())
        self._screen.show(self._view)

    def _batch(self, name: str, progress: Mapping[str, Any]) -> None:
        from kafka_edu.spark.batch_files import kinds_of_batch, windows_of_batch
        from kafka_edu.spark.pipeline import LINES, WINDOWS

        folder = Path(self._settings.out, name, f"batch={progress['batchId']}")
        self._view.batch(name, progress)
        if name == LINES:
            self._view.kinds(kinds_of_batch(folder))
        elif name == WINDOWS:
            self._view.windows(windows_of_batch(folder))
        self._taken(self._view)

    def _is_done(self) -> bool:
        self._view.fed(self._feeder.sent, self._feeder.ends, time.monotonic())
        self._screen.show(self._view)
        if self._thread is None:  # the queries end by themselves
            return False
        if self._thread.is_alive():
            return False
        if self._feeder.failed is not None:
            raise self._feeder.failed
        if not self._view.has_read(self._feeder.ends):
            return False
        if self._view.clock_s is None:
            self._feeder.send_clock(self._settings)
            self._clock()
            return False
        return self._view.is_closed(self._settings.delay_s)

    def _clock(self) -> None:
        from kafka_edu.spark.pipeline_log import clock_time_s

        self._view.clock(clock_time_s(self._feeder.truth.latest_s, self._settings))


def run_once(spark: "SparkSession", settings: "PipelineSettings", view: PipelineView) -> None:
    """Run the pipeline as one batch job. The view shows it as one batch."""
    from kafka_edu.spark.pipeline import read_topic, run_batch

    begin = time.monotonic()
    run_batch(read_topic(spark, settings), settings)
    seconds = time.monotonic() - begin
    view.all_batches.append(
        Batch(Mode.BATCH, 0, view.lines, seconds, view.lines / max(seconds, 1e-9))
    )


def outcome(
    spark: "SparkSession",
    settings: "PipelineSettings",
    truth: "LogTruth",
    view: PipelineView,
    seconds: float,
) -> Outcome:
    """Read the results, and compare them with the truth.

    Raises TopicNotFilled if the topic does not hold the whole log.
    """
    from kafka_edu.spark.pipeline_answers import compare, read_answers
    from kafka_edu.spark.topic_answers import compare_window_topic, read_windows

    answers = read_answers(spark, settings.out, settings.window_s)
    comparisons = compare(answers, truth)
    result_records = None
    if settings.result_topic:
        found = read_windows(settings.bootstrap_servers, settings.result_topic)
        comparisons += compare_window_topic(found, truth)
        result_records = found.records
    return Outcome(
        answers,
        truth,
        comparisons,
        result_records,
        view.all_batches,
        view.dropped,
        seconds,
    )
