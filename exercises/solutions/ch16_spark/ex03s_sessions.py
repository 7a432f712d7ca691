"""Exercise 16-3s: the reference solution."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import bool_or, col, count, session_window
from pyspark.sql.functions import max as max_of
from pyspark.sql.functions import min as min_of


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return a stream with one row for each session: client, begin, last, lines and failed."""
    return (
        records.withWatermark("time", "120 seconds")
        .groupBy("client", session_window("time", "300 seconds"))
        .agg(
            min_of("time").alias("begin"),
            max_of("time").alias("last"),
            count("*").alias("lines"),
            bool_or(col("status") >= 500).alias("failed"),
        )
        .select("client", "begin", "last", "lines", "failed")
    )
