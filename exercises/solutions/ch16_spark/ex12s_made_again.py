"""Exercise 16-12s: the reference solution."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col


def follow(
    spark: SparkSession, source: str, options: Mapping[str, str], topic_id: str, folder: str
) -> None:
    """Write the topic's new records into `folder`, then return."""
    records = spark.readStream.format(source).options(**options).load()

    def write(rows: DataFrame, number: int) -> None:
        rows.write.mode("overwrite").parquet(f"{folder}/rows/topic={topic_id}/batch={number}")

    query = (
        records.select("partition", "offset", col("value").cast("string").alias("value"))
        .writeStream.option("checkpointLocation", f"{folder}/checkpoints/{topic_id}")
        .foreachBatch(write)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
