"""Exercise 16-2s: the reference solution."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, count_if, expr, window


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return a stream with one row for each minute: begin, lines, errors and p99_us."""
    return (
        records.withWatermark("time", "120 seconds")
        .groupBy(window("time", "60 seconds").alias("minute"))
        .agg(
            count("*").alias("lines"),
            count_if(col("status") >= 500).alias("errors"),
            expr("percentile_disc(0.99) WITHIN GROUP (ORDER BY duration_us)").alias("p99"),
        )
        .select(
            col("minute.start").alias("begin"),
            "lines",
            "errors",
            col("p99").cast("bigint").alias("p99_us"),
        )
    )
