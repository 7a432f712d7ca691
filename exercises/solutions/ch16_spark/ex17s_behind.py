"""Exercise 16-17s: the reference solution."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession


def catch_up(spark: SparkSession, source: str, options: Mapping[str, str], folder: str) -> None:
    """Write the topic's new records into `folder`, then return."""
    pace = {"maxOffsetsPerTrigger": "800", "minPartitions": "4"}
    records = spark.readStream.format(source).options(**options, **pace).load()

    def write(rows: DataFrame, number: int) -> None:
        rows.write.mode("overwrite").parquet(f"{folder}/rows/batch={number}")

    query = (
        records.selectExpr("partition", "offset", "cast(value AS string) AS value")
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .foreachBatch(write)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
