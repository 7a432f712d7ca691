"""The rules of the exercises 16-2 and 16-3 are Spark's: it counts the same windows and sessions."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from exercises.ch16_spark.visits import RightSessions
from exercises.ch16_spark.watermark import RightCounts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

BATCHES = 6
FAR_S = 100_000
WINDOW_S, DELAY_S, GAP_S = 60, 30, 30


def lines(seed: int) -> list[list[tuple[str, int]]]:
    """Return batches of (client, time), some late, some at the edges of windows and gaps. The last
    batch closes everything.
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
    """Run a query of its own over the batches, one after the other. Return the rows it closed.

    Each batch is waited for, with the batch without data that follows it, as in a stream that is
    not behind.
    """
    from pyspark.sql.functions import col, count, session_window, timestamp_seconds, window

    folder.mkdir()
    closed: set[tuple[object, ...]] = set()
    read = (
        spark.readStream.schema("client string, time long")
        .option("maxFilesPerTrigger", 1)
        .csv(str(folder))
        .withColumn("at", timestamp_seconds("time"))
        .withWatermark("at", f"{DELAY_S} seconds")
    )
    if key == "window":
        counted = read.groupBy(window("at", f"{WINDOW_S} seconds").alias("span"))
    else:
        counted = read.groupBy("client", session_window("at", f"{GAP_S} seconds").alias("span"))
    rows = counted.agg(count("*").alias("lines")).select(
        *(["client"] if key == "session" else []),
        col("span.start").cast("long").alias("begin"),
        col("span.end").cast("long").alias("end"),
        "lines",
    )

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
