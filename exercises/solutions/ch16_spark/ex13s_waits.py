"""Exercise 16-13s: the reference solution."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count_if, window


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return a stream with one row for each minute that has errors: begin and errors."""
    return (
        records.withWatermark("time", "120 seconds")
        .groupBy(window("time", "60 seconds").alias("minute"))
        .agg(count_if(col("status") >= 500).alias("errors"))
        .where(col("errors") > 0)
        .select(col("minute.start").alias("begin"), "errors")
    )
