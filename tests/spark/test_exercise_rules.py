"""The exercises 16-2, 16-3 and 16-8 follow Spark's rules: Spark counts the same windows and
sessions, and gives the same answers about a recording.
"""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from exercises.ch16_spark.ex08_recordings.material import incident
from exercises.ch16_spark.incident_answers import right_latency
from exercises.ch16_spark.visits import RightSessions
from exercises.ch16_spark.watermark import RightCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

BATCHES = 6
FAR_S = 100_000
WINDOW_S, DELAY_S, GAP_S = 60, 30, 30


def lines(seed: int) -> list[list[tuple[str, int]]]:
    """Return batches of lines (client, time). Some lines are late, and some lie at the edge of a
    window or a gap. The last batch closes all windows and sessions.
    """
    random = Random(seed)
    now_s = 600
    batches = []
    for _ in range(BATCHES):
        batch = []
        for _ in range(random.randrange(3, 8)):
            now_s += random.choice((0, 10, GAP_S, GAP_S + 1))
            late_s = random.choice((0, 0, GAP_S, random.randrange(300)))
            batch.append((random.choice("ab"), max(0, now_s - late_s)))
        batches.append(batch)
    return [*batches, [("z", now_s + FAR_S)]]


def stream(
    spark: "SparkSession", folder: Path, batches: Sequence[Sequence[tuple[str, int]]], key: str
) -> set[tuple[object, ...]]:
    """Start a streaming query, and give it the batches one after the other. Return the rows of the
    windows or sessions that it closed.

    The function waits for each batch before it gives the next one. It also waits for the batch
    without data that follows, in which Spark uses the new watermark. So the stream is never behind.
    """
    from pyspark.sql.functions import col, timestamp_seconds

    # transformWithState drops a line whose time is before the watermark. session_window drops it
    # only if the end of its session (one gap later) is before the watermark. To make both rules the
    # same, add the gap to the line's time and to the delay of the watermark.
    later_s = GAP_S if key == "processor" else 0

    folder.mkdir()
    closed: set[tuple[object, ...]] = set()
    read = (
        spark.readStream.schema("client string, time long")
        .option("maxFilesPerTrigger", 1)
        .csv(str(folder))
        .withColumn("at", timestamp_seconds(col("time") + later_s))
        .withWatermark("at", f"{DELAY_S + later_s} seconds")
    )
    rows = _closed_rows(read, key)

    def keep(batch: "DataFrame", _: int) -> None:
        closed.update(tuple(row) for row in batch.collect())

    query = (
        rows.writeStream.outputMode("append")
        .option("checkpointLocation", str(folder.with_suffix(".checkpoint")))
        .foreachBatch(keep)
        .start()
    )
    try:
        for number, batch in enumerate(batches):
            text = "".join(f"{client},{time_s}\n" for client, time_s in batch)
            hidden = folder / f"_{number}.csv"  # Spark passes over names that begin with _
            hidden.write_text(text)
            hidden.rename(folder / f"{number}.csv")
            query.processAllAvailable()
    finally:
        query.stop()
    return closed


def _closed_rows(read: "DataFrame", key: str) -> "DataFrame":
    """Return the query that `key` names: it counts windows, sessions with `session_window`, or
    sessions with SessionProcessor.
    """
    from pyspark.sql.functions import col, count, session_window, window

    if key == "processor":
        from tests.spark.session_processor import SessionProcessor

        return (
            read.select("client", "time", "at")
            .groupBy("client")
            .transformWithState(
                SessionProcessor(GAP_S),
                "client string, begin long, end long, lines long",
                "append",
                "eventTime",
            )
        )
    if key == "window":
        counted = read.groupBy(window("at", f"{WINDOW_S} seconds").alias("span"))
    else:
        counted = read.groupBy("client", session_window("at", f"{GAP_S} seconds").alias("span"))
    return counted.agg(count("*").alias("lines")).select(
        *(["client"] if key == "session" else []),
        col("span.start").cast("long").alias("begin"),
        col("span.end").cast("long").alias("end"),
        "lines",
    )


@pytest.mark.rotated
def test_spark_counts_the_same_windows_and_sessions(spark: "SparkSession", tmp_path: Path) -> None:
    batches = lines(seed=2)
    right, visits = RightCounts(WINDOW_S, DELAY_S), RightSessions(GAP_S)
    windows: set[tuple[object, ...]] = set()
    sessions: set[tuple[object, ...]] = set()
    dropped = 0
    for batch in batches:
        _, closed = right.batch([time_s for _, time_s in batch])
        windows |= {(begin_s, begin_s + WINDOW_S, count) for begin_s, count in closed}
        for client, time_s in batch:
            # The line as a session of its own ends a gap after it.
            if time_s + GAP_S > right.watermark_of_batch_s:
                visits.add(client, time_s)
            else:
                dropped += 1
        over = visits.close(right.watermark_s + 1)
        sessions |= {(client, first, last + GAP_S, count) for client, first, last, count in over}
    assert right.dropped > 2
    assert dropped > 2
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", "1")
    assert stream(own, tmp_path / "windows", batches, "window") == windows
    assert stream(own, tmp_path / "sessions", batches, "session") == sessions
    # transformWithState keeps its state in RocksDB
    own.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    assert stream(own, tmp_path / "processor", batches, "processor") == sessions


def test_spark_reports_the_same_percentiles_of_a_recording(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Exercise 16-8 defines percentiles like Spark's `percentile_disc`. Spark's `percentile` would
    return a number between two values.
    """
    from pyspark.sql import functions as F

    recording = tmp_path / "recording.jsonl"
    made, _ = incident(3)
    recording.write_text(made.text(), encoding="utf-8")
    rows = spark.read.format("kafka-edu-events").load(str(recording))
    found = {
        row[0]: tuple(row[1:])
        for row in rows.where(
            "event = 'ResponseSent' and not get_json_object(fields, '$.follower')::boolean"
        )
        .groupBy("api")
        .agg(
            F.count("*"),
            F.expr("cast(percentile_disc(0.5) within group (order by totalUs) as bigint)"),
            F.expr("cast(percentile_disc(0.99) within group (order by totalUs) as bigint)"),
        )
        .collect()
    }
    assert found == {api: tuple(times) for api, times in right_latency(made.envelopes).items()}
