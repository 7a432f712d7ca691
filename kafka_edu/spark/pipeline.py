"""The pipeline of the Spark lab. It reads a topic of log lines, and makes lines, windows and
sessions.

    lines           Parquet: a row for each record: its fields, or why it is in quarantine
    windows         Parquet: a row for each minute of the log: lines, errors (5xx), error rate, p99
    sessions        Parquet: a row for each visit: client, first and last time, lines
    windows-topic   the windows as JSON records in a topic, if the settings name a topic
    lines-topic     the readable lines as JSON records in a topic, if the settings name a topic
    doubles-topic   the same as lines-topic, but at least once, to show the difference

The function `outputs` returns all of them, for batch (`run_batch`) and for streaming (`Stream`). A
stream has a separate query for each output, because a query has only one output. Each query reads
the topic itself.

**Exactly once in Parquet.** A query writes each micro-batch into a separate folder, for example
`windows/batch=7`. Spark writes the offsets of batch 7 into the checkpoint before it runs the batch,
and marks the batch as done after it has run. If the job dies in between, it runs batch 7 again
after the restart, with the same offsets, the same state and the same watermark. So it writes the
same rows, and it overwrites the files in the folder. With `mode("append")`, the rows of both
attempts would stay.

**Exactly once in a topic.** Records in a topic cannot be overwritten. Therefore the sink divides a
batch into slots, and writes each slot in a transaction. When a batch is repeated, the sink skips
the slots that are already committed (`pipeline_topics`).

**Late lines.** Spark's watermark is the latest time in all earlier batches, minus a delay. Spark
may drop lines whose time is before the watermark. Then the dropped lines would depend on where a
batch ends, but no result may depend on that. Therefore `pipeline_lines.parse` first takes out the
lines that are too late, by a rule that looks only at the record itself. These lines are counted
separately. Spark's delay is longer than the time in this rule by `apart_s`, because the partitions
are not read at the same pace: when a topic is read from its beginning, one partition may be minutes
ahead of another. So Spark's watermark drops nothing. It only decides when a window is complete and
can be removed from the state. The equation `windows + bad + too late = sent` shows that no line was
dropped.

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
from kafka_edu.spark.query_start import Starting, start_queries
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
#: The output for a second copy of the lines. It is written with mode("append"), and therefore at
#: least once.
APPENDED: Final = "lines-appended"
_LOOK_EVERY_S: Final = 0.1


def read_topic(spark: "SparkSession", settings: PipelineSettings) -> "DataFrame":
    """Return the records that are in the topic now, as a batch."""
    return spark.read.format(format_of(settings.connector)).options(**_options(settings)).load()


def read_topic_stream(spark: "SparkSession", settings: PipelineSettings) -> "DataFrame":
    """Return the records of the topic as a stream. It begins at the topic's beginning, or where the
    checkpoint says.
    """
    return (
        spark.readStream.format(format_of(settings.connector))
        .options(**_options(settings))
        .option("maxOffsetsPerTrigger", settings.batch_lines)
        .load()
    )


def _options(settings: PipelineSettings) -> dict[str, str]:
    """Return the options for reading the topic. Both connectors know them."""
    return {
        "kafka.bootstrap.servers": settings.bootstrap_servers,
        "subscribe": settings.topic,
        "startingOffsets": "earliest",
    }


def on_time(parsed: "DataFrame", delay_s: int) -> "DataFrame":
    """Return only the lines that windows and sessions count, and the clock lines. The result has a
    watermark.

    In a batch query the watermark does nothing.
    """
    return parsed.where(col("kind").isin(GOOD, CLOCK)).withWatermark("time", f"{delay_s} seconds")


def windows(lines: "DataFrame", window_s: int) -> "DataFrame":
    """Return a row for each window: begin, lines, errors, error_rate and p99_us. A window without
    good lines has no row.

    p99 is computed by `percentile_disc`, which is exact and takes the nearest rank: p99 of 200
    lines is the 198th request time in ascending order. Therefore the state of an open window
    contains each request time that occurred. The function `percentile` is exact too, but its result
    may lie between two request times. `approx_percentile` needs little state, but its result is not
    exact.
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
    """Return a row for each session: client, begin, last and lines."""
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
    """The rows of one output, and where they are written: to a topic, or to the folder with the
    output's name.
    """

    rows: "DataFrame"
    topic: str = ""
    """The topic to which the rows are written as records. Empty if they are written to the
    folder.
    """
    delivery: Delivery = Delivery.AT_LEAST_ONCE


def outputs(parsed: "DataFrame", settings: PipelineSettings) -> dict[str, Output]:
    """Return all outputs that the settings request, by name."""
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
    """Write the rows of one batch of one output. Only the folder of this batch is overwritten.

    Lines are in a separate folder for each kind, so the quarantine is `lines/batch=7/kind=bad`.
    """
    folder = f"{out}/{name}/batch={batch}"
    if name == LINES:
        rows.write.mode("overwrite").partitionBy("kind").parquet(folder)
    else:
        rows.coalesce(1).write.mode("overwrite").parquet(folder)


def run_batch(records: "DataFrame", settings: PipelineSettings) -> None:
    """Write all outputs for the records of `read_topic`. In Parquet they are written as batch 0.

    First the lines are written. All other outputs are made from the written lines, so each line is
    parsed only once. Topics get their records at least once, because only a stream numbers its
    batches.
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
    """The running queries of a stream, one for each output. If there is a checkpoint, they continue
    from it.
    """

    def __init__(
        self,
        records: "DataFrame",
        settings: PipelineSettings,
        *,
        available_now: bool,
        only: Collection[str] = (),
        show: Callable[[Starting], None] = lambda starting: None,
    ) -> None:
        """Start the queries on the records of `read_topic_stream`. With `available_now`, they end
        when they have read everything that is in the topic now. With `only`, only these outputs are
        made. `show` is called again and again until all queries run.

        The queries call `foreachBatch` functions in this process. So this process must live as long
        as the queries. Raises the error of a query that fails at its start.
        """
        self._settings = settings
        self._seen: dict[str, int] = {}
        writers: dict[str, DataStreamWriter] = {}
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
            writers[name] = writer
        self.queries: list[StreamingQuery] = list(start_queries(writers, show).values())

    @property
    def is_active(self) -> bool:
        """Return whether a query still runs. If a query has failed, raise its error."""
        for query in self.queries:
            if not query.isActive and (failed := query.exception()) is not None:
                raise failed
        return any(query.isActive for query in self.queries)

    def progress(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield the query's name and Spark's progress for each batch that has ended since the last
        call.
        """
        for query in self.queries:
            last = query.lastProgress  # reading only the last one from the JVM is fast
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
        """Return whether every query has written everything that follows from the records before
        the offsets `ends`. A window that is closed by the last of these records is written one
        batch later.
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
        """Stop the queries. If a query is in the middle of a batch, it runs this batch again after
        the next start.
        """
        for query in self.queries:
            query.stop()


def run_stream(
    stream: Stream,
    show: Callable[[str, Mapping[str, Any]], None],
    is_done: Callable[[], bool] = lambda: False,
) -> None:
    """Call `show` for each batch, until the queries end by themselves or until `is_done` returns
    True. In the second case, stop the queries.

    Raises the error of a query that has failed.
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


def _writes(name: str, settings: PipelineSettings) -> "Callable[[DataFrame, int], None]":
    def write_batch(rows: "DataFrame", batch: int) -> None:
        if name == LINES and settings.also_append:
            rows.write.mode("append").parquet(f"{settings.out}/{APPENDED}")
        write(rows, name, batch, settings.out)

    return write_batch


def watermark_is_at_its_end(progress: Mapping[str, Any], delay_s: int) -> bool:
    """Return whether the watermark stays as it is after this batch.

    A batch uses the watermark of all earlier batches. If the batch itself has later times, the
    watermark moves, and the next batch closes windows even without new records. A query without a
    watermark has no times.
    """
    times = {name: datetime.fromisoformat(text) for name, text in progress["eventTime"].items()}
    return "max" not in times or times["max"] - timedelta(seconds=delay_s) <= times["watermark"]


def _offsets(progress: Mapping[str, Any], topic: str) -> dict[str, int]:
    """Return for each partition the next offset after the batch."""
    end = progress["sources"][0]["endOffset"]
    found = json.loads(end) if isinstance(end, str) else end
    offsets: dict[str, int] = (found or {}).get(topic, {})
    return offsets


def unfinished_batches(checkpoint: str) -> dict[str, int]:
    """Return for each query the number of its batch that was planned and is not done. The numbers
    are read from a local checkpoint.

    Spark runs this batch again at the next start.
    """
    found = {}
    for offsets in sorted(Path(checkpoint).glob("*/offsets")):
        planned, done = _newest(offsets), _newest(offsets.with_name("commits"))
        if planned > done:
            found[offsets.parent.name] = planned
    return found


def finished_batches(checkpoint: str) -> dict[str, int]:
    """Return for each query the number of its newest finished batch, or −1 if there is none. The
    numbers are read from a local checkpoint.
    """
    return {
        offsets.parent.name: _newest(offsets.with_name("commits"))
        for offsets in sorted(Path(checkpoint).glob("*/offsets"))
    }


def _newest(folder: Path) -> int:
    numbers = [-1]
    with contextlib.suppress(FileNotFoundError):
        numbers += [int(file.name) for file in folder.iterdir() if file.name.isdigit()]
    return max(numbers)
