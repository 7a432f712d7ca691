"""Exercise 16-11s: the reference solution."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr


def build(
    spark: SparkSession, requests: DataFrame, deployments: DataFrame, teams: DataFrame
) -> DataFrame:
    """Return a stream of failed requests and suspects: service, time, version and team."""
    failed = requests.withWatermark("time", "120 seconds").where(col("status") >= 500)
    suspects = deployments.withWatermark("time", "120 seconds").select(
        col("service").alias("deployed"), col("time").alias("since"), "version"
    )
    before = expr("service = deployed and time >= since and time < since + interval 600 seconds")
    return (
        failed.join(suspects, before, "left_outer")
        .join(teams, "service", "left_outer")
        .select("service", "time", "version", "team")
    )
