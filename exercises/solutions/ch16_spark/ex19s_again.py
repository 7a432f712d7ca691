"""Exercise 16-19s: the reference solution."""

import json
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, lit, timestamp_millis
from pyspark.sql.functions import max as max_of
from pyspark.sql.functions import min as min_of

DAY_MS = 24 * 3_600_000
LATE_MS = 10 * 60_000


def report(
    spark: SparkSession,
    source: str,
    options: Mapping[str, str],
    topic: str,
    begin_ms: int,
    folder: str,
) -> None:
    """Write the report of the day, and the offsets that it has read."""
    end_ms = begin_ms + DAY_MS
    ranges = f"{folder}/ranges"
    if not Path(ranges, "_SUCCESS").exists():
        records = (
            spark.read.format(source)
            .options(**options, subscribe=topic)
            .option("startingTimestamp", begin_ms)
            .option("startingOffsetsByTimestampStrategy", "latest")
            .option("endingTimestamp", end_ms + LATE_MS)
            .load()
        )
        read = records.groupBy("partition").agg(
            min_of("offset").alias("first"), (max_of("offset") + 1).alias("next")
        )
        read.write.mode("overwrite").parquet(ranges)
    in_day = col("timestamp").between(
        timestamp_millis(lit(begin_ms)), timestamp_millis(lit(end_ms - 1))
    )
    views = records_of(spark, source, options, topic, ranges).where(in_day)
    pages = views.groupBy(col("value").cast("string").alias("page"))
    pages.agg(count("*").alias("views")).write.mode("overwrite").parquet(f"{folder}/report")


def records_of(
    spark: SparkSession, source: str, options: Mapping[str, str], topic: str, ranges: str
) -> DataFrame:
    """Return only the records of these ranges."""
    rows = spark.read.parquet(ranges).collect()
    if not rows:
        return spark.createDataFrame([], "value binary, timestamp timestamp")
    return (
        spark.read.format(source)
        .options(**options)
        .option("assign", json.dumps({topic: [row["partition"] for row in rows]}))
        .option("startingOffsets", offsets(topic, {row["partition"]: row["first"] for row in rows}))
        .option("endingOffsets", offsets(topic, {row["partition"]: row["next"] for row in rows}))
        .load()
    )


def offsets(topic: str, by_partition: Mapping[int, int]) -> str:
    """Return the offsets of partitions as the text that Spark's options need."""
    return json.dumps({topic: by_partition})
