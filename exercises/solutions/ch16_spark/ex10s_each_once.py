"""Exercise 16-10s: the reference solution."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, window
from pyspark.sql.functions import sum as sum_of


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return a stream with one row for each shop and minute: begin, shop, orders and cents."""
    return (
        records.withWatermark("time", "120 seconds")
        .dropDuplicatesWithinWatermark(["shop", "id"])
        .groupBy(window("time", "60 seconds").alias("minute"), "shop")
        .agg(count("*").alias("orders"), sum_of("cents").alias("cents"))
        .select(col("minute.start").alias("begin"), "shop", "orders", "cents")
    )
