"""The pipeline of the Spark lab: a topic of log lines → lines, windows and sessions.

    lines           Parquet: one row a record: its fields, or why it is in quarantine
    windows         Parquet: one row a minute of the log: lines, errors (5xx), error rate, exact p99
    sessions        Parquet: one row a visit: client, first and last time, lines
    windows-topic   the windows as JSON records of a topic, if the settings name one
    lines-topic     the lines that could be read as JSON records of a topic, if one is named
    doubles-topic   the same records at least once, to show the difference, if one is named

`outputs` is the table of them, for batch (`run_batch`) and streaming (`Stream`) alike. A stream has
a query for each, because a query has one output. Each reads the topic itself.

**Exactly once in Parquet.** A query writes each micro-batch into a folder of its own,
`windows/batch=7`. Spark writes the offsets of batch 7 into the checkpoint before it runs the batch,
and marks the batch as done after it. If the job dies between the two, it runs batch 7 again after
the restart, with the same offsets, the same state and the same watermark. So it writes the same
rows, and it overwrites what is in the folder. `mode("append")` would keep both.

**Exactly once in a topic.** What is in a topic cannot be overwritten. There the sink writes each
slot of a batch in a transaction, and skips the slots that it finds committed (`pipeline_topics`).

**Late lines.** Spark's watermark is the latest time of all batches before, minus a delay. What is
behind it may be dropped, so which lines are dropped depends on where a batch ends. No result may
depend on that. So `pipeline_lines.parse` takes out lines that are too late first, by a rule that
looks at the record alone. They are counted in a tally of their own. Spark's delay is longer than
that rule by `apart_s`, because partitions are not read in step: one may be minutes ahead of another
when a topic is read from its beginning. So the watermark drops nothing. It only says when a window
is complete and can leave the state. `windows + bad + too late = sent` proves it.

Next hop: `pipeline_answers`.
"""

import contextlib
import json
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.functions import (
    col,
    count,
    count_if,
    expr,
    session_window,
    window,
)
from pyspark.sql.functions import max as max_of
from pyspark.sql.functions import min as min_of

from kafka_edu.spark.connectors import format_of
from kafka_edu.spark.pipeline_lines import CLOCK, GOOD, parse
from kafka_edu.spark.pipeline_settings import PipelineSettings
from kafka_edu.spark.pipeline_topics import line_records, window_records, writer_options
from kafka_edu.spark.sink_options import Delivery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

LINES: Final = "lines"
WINDOWS: Final = "windows"
SESSIONS: Final = "sessions"
WINDOWS_TOPIC: Final = "windows-topic"
LINES_TOPIC: Final = "lines-topic"
DOUBLES_TOPIC: Final = "doubles-topic"
#: A second copy of the lines, which is written with mode("append"): at least once.
APPENDED: Final = "lines-appended"
START_ATTEMPTS: Final = 10
_TOO_SLOW: Final = "Python worker failed to connect back"
_LOOK_EVERY_S: Final = 0.1


def read_topic(spark: "SparkSession", settings: PipelineSettings) -> "DataFrame":
    """Return the records of the topic as it is now."""
    return spark.read.format(format_of(settings.connector)).options(**_options(settings)).load()


def read_topic_stream(spark: "SparkSession", settings: PipelineSettings) -> "DataFrame":
    """Return the records of the topic as a stream, from its beginning or from the checkpoint."""
    return (
        spark.readStream.format(format_of(settings.connector))
        .options(**_options(settings))
        .option("maxOffsetsPerTrigger", settings.batch_lines)
        .load()
    )


def _options(settings: PipelineSettings) -> dict[str, str]:
    """Return options that both connectors have."""
    return {
        "kafka.bootstrap.servers": settings.bootstrap_servers,
        "subscribe": settings.topic,
        "startingOffsets": "earliest",
    }


def on_time(parsed: "DataFrame", delay_s: int) -> "DataFrame":
    """Return the lines that windows and sessions count, and the clock lines, with a watermark.

    In batch the watermark does nothing.
    """
    return parsed.where(col("kind").isin(GOOD, CLOCK)).withWatermark("time", f"{delay_s} seconds")


def windows(lines: "DataFrame", window_s: int) -> "DataFrame":
    """Return begin, lines, errors, error_rate and p99_us by window. A window without a line that
    is good has no row.

    `percentile_disc` is exact and takes the nearest rank: p99 of 200 lines is the request time of
    the 198th. So the state of an open window has each request time that occurred. The function
    `percentile` is exact too, but it takes a value between two others, which no line has.
    `approx_percentile` has a small state and a small error.
    """
    is_line = col("kind") != CLOCK
    return (
        lines.groupBy(window("time", f"{window_s} seconds").alias("span"))
        .agg(
            count_if(is_line).alias("lines"),
            count_if(is_line & (col("status") >= 500)).alias("errors"),
            expr("percentile_disc(0.99) WITHIN GROUP (ORDER BY duration_us)").alias("p99"),
        )
        .where("lines > 0")
        .select(
            col("span.start").alias("begin"),
            "lines",
            "errors",
            (col("errors") / col("lines")).alias("error_rate"),
            col("p99").cast("long").alias("p99_us"),
        )
    )


def sessions(lines: "DataFrame", gap_s: int) -> "DataFrame":
    """Return client, begin, last and lines of each session."""
    return (
        lines.groupBy("client", session_window("time", f"{gap_s} seconds").alias("span"))
        .agg(
            min_of("time").alias("begin"),
            max_of("time").alias("last"),
            count("*").alias("all"),
            count_if(col("kind") != CLOCK).alias("lines"),
        )
        .where("lines > 0")
        .select("client", "begin", "last", "lines")
    )


class Output(NamedTuple):
    """Rows, and their place: a topic, or the folder that has the output's name."""

    rows: "DataFrame"
    topic: str = ""
    """The topic of the rows, which are records then. Empty: the folder."""
    delivery: Delivery = Delivery.AT_LEAST_ONCE


def outputs(parsed: "DataFrame", settings: PipelineSettings) -> dict[str, Output]:
    """Return name → output, for all outputs that the settings ask for."""
    counted = on_time(parsed, settings.delay_s)
    by_window = windows(counted, settings.window_s)
    lines = line_records(parsed, settings.topic)
    once = Delivery.EXACTLY_ONCE
    table = {
        LINES: Output(parsed),
        WINDOWS: Output(by_window),
        SESSIONS: Output(sessions(counted, settings.gap_s)),
        WINDOWS_TOPIC: Output(window_records(by_window), settings.result_topic, once),
        LINES_TOPIC: Output(lines, settings.lines_topic, once),
        DOUBLES_TOPIC: Output(lines, settings.doubles_topic),
    }
    return {
        name: output
        for name, output in table.items()
        if output.topic or name in (LINES, WINDOWS, SESSIONS)
    }


def write(rows: "DataFrame", name: str, batch: int, out: str) -> None:
    """Write the rows of one batch of one result into the folder of this batch, and of no other.

    Lines stand in a folder for each kind, so quarantine is `lines/batch=7/kind=bad`.
    """
    folder = f"{out}/{name}/batch={batch}"
    if name == LINES:
        rows.write.mode("overwrite").partitionBy("kind").parquet(folder)
    else:
        rows.coalesce(1).write.mode("overwrite").parquet(folder)


def run_batch(records: "DataFrame", settings: PipelineSettings) -> None:
    """Write all outputs of the records of `read_topic`, in Parquet as batch 0.

    All others are made from the lines that were written, so a line is parsed once. Topics get their
    records at least once, because only a stream numbers its batches.
    """
    write(parse(records, settings.watermark_s), LINES, 0, settings.out)
    parsed = records.sparkSession.read.parquet(f"{settings.out}/{LINES}/batch=0")
    for name, output in outputs(parsed, settings).items():
        if output.topic:
            output.rows.write.format(format_of(settings.connector)).options(
                **writer_options(settings, output.topic, Delivery.AT_LEAST_ONCE)
            ).mode("append").save()
        elif name != LINES:
            write(output.rows, name, 0, settings.out)


class Stream:
    """The queries of a stream, one for each output. It goes on from a checkpoint that it finds."""

    def __init__(
        self,
        records: "DataFrame",
        settings: PipelineSettings,
        *,
        available_now: bool,
        only: Collection[str] = (),
    ) -> None:
        """Start the queries on the records of `read_topic_stream`. With `available_now` they end
        when they have read what is there now. With `only` no other outputs are made.

        They call `foreachBatch` functions in this process, so it has to live as long as they do.
        """
        self._settings = settings
        self._seen: dict[str, int] = {}
        self.queries: list[StreamingQuery] = []
        parsed = parse(records, settings.watermark_s)
        for name, output in outputs(parsed, settings).items():
            if only and name not in only:
                continue
            writer = (
                output.rows.writeStream.queryName(name)
                .outputMode("append")
                .option("checkpointLocation", f"{settings.checkpoint}/{name}")
            )
            if output.topic:
                writer = writer.format(format_of(settings.connector)).options(
                    **writer_options(settings, output.topic, output.delivery)
                )
            else:
                writer = writer.foreachBatch(_writes(name, settings))
            if available_now:
                writer = writer.trigger(availableNow=True)
            self.queries.append(_start(writer))

    @property
    def is_active(self) -> bool:
        """Return whether a query runs. Raises the error of a query that failed."""
        for query in self.queries:
            if not query.isActive and (failed := query.exception()) is not None:
                raise failed
        return any(query.isActive for query in self.queries)

    def progress(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the name and Spark's progress of each batch that ended since the last call."""
        for query in self.queries:
            last = query.lastProgress  # one is fetched from the JVM in a moment, all are not
            if last is None or last["batchId"] <= self._seen.get(query.name, -1):
                continue
            for done in query.recentProgress:
                if (
                    done["batchId"] > self._seen.get(query.name, -1)
                    and "addBatch" in (done["durationMs"])
                ):
                    self._seen[query.name] = done["batchId"]
                    yield query.name, done

    def has_written(self, ends: Mapping[int, int]) -> bool:
        """Return whether every query has written all that follows from the records before these
        offsets. A window that the last of them closes comes one batch after them.
        """
        settings = self._settings
        return all(
            (last := query.lastProgress) is not None
            and all(
                _offsets(last, settings.topic).get(str(partition), 0) >= end
                for partition, end in ends.items()
            )
            and watermark_is_at_its_end(last, settings.delay_s)
            for query in self.queries
        )

    def stop(self) -> None:
        """Stop the queries. Each may be in the middle of a batch, which is then run again."""
        for query in self.queries:
            query.stop()


def run_stream(
    stream: Stream,
    show: Callable[[str, Mapping[str, Any]], None],
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Show each batch until the queries end by themselves, or until `is_done`. Stop them then.

    Raises the error of a query that failed.
    """
    try:
        while stream.is_active and not is_done():
            for name, done in stream.progress():
                show(name, done)
            time.sleep(_LOOK_EVERY_S)
        for name, done in stream.progress():
            show(name, done)
    finally:
        stream.stop()


def _start(writer: "DataStreamWriter") -> "StreamingQuery":
    """Start a query, and return when its source has started, or when the query has failed.

    Spark gives the Python process of a source ten seconds to start, on any machine. If a busy one
    needs longer, the query starts again. Queries start one after the other for the same reason.
    """
    for _ in range(START_ATTEMPTS):
        query = writer.start()
        while query.isActive and query.status["message"].startswith("Initializing"):
            time.sleep(_LOOK_EVERY_S)
        if query.isActive or _TOO_SLOW not in str(query.exception()):
            break
    return query


def _writes(name: str, settings: PipelineSettings) -> "Callable[[DataFrame, int], None]":
    def write_batch(rows: "DataFrame", batch: int) -> None:
        if name == LINES and settings.also_append:
            rows.write.mode("append").parquet(f"{settings.out}/{APPENDED}")
        write(rows, name, batch, settings.out)

    return write_batch


def watermark_is_at_its_end(progress: Mapping[str, Any], delay_s: int) -> bool:
    """Return whether the times that a batch has read leave the watermark where it is.

    A batch works with the watermark of all batches before it. If its own times are later, the next
    batch closes windows, even if there is no new record. A query without watermark has no times.
    """
    times = {name: datetime.fromisoformat(text) for name, text in progress["eventTime"].items()}
    return "max" not in times or times["max"] - timedelta(seconds=delay_s) <= times["watermark"]


def _offsets(progress: Mapping[str, Any], topic: str) -> dict[str, int]:
    """Return partition → next offset after the batch of a progress."""
    end = progress["sources"][0]["endOffset"]
    found = json.loads(end) if isinstance(end, str) else end
    offsets: dict[str, int] = (found or {}).get(topic, {})
    return offsets


def unfinished_batches(checkpoint: str) -> dict[str, int]:
    """Return query → the batch that was planned and is not done, read from a local checkpoint.

    Spark runs that batch again at the next start.
    """
    found = {}
    for offsets in sorted(Path(checkpoint).glob("*/offsets")):
        planned, done = _newest(offsets), _newest(offsets.with_name("commits"))
        if planned > done:
            found[offsets.parent.name] = planned
    return found


def finished_batches(checkpoint: str) -> dict[str, int]:
    """Return query → the newest batch that is done, −1 for none, read from a local checkpoint."""
    return {
        offsets.parent.name: _newest(offsets.with_name("commits"))
        for offsets in sorted(Path(checkpoint).glob("*/offsets"))
    }


def _newest(folder: Path) -> int:
    numbers = [-1]
    with contextlib.suppress(FileNotFoundError):
        numbers += [int(file.name) for file in folder.iterdir() if file.name.isdigit()]
    return max(numbers)
