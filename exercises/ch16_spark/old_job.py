"""The old job of exercise 16-20s. The live part runs it as if a learner had written it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession


def follow(spark: SparkSession, source: str, options: Mapping[str, str], folder: str) -> None:
    """Write the topics' new records into `folder`, without duplicates, then return."""
    records = spark.readStream.format(source).options(**options).load()

    def write(rows: DataFrame, number: int) -> None:
        rows.write.mode("overwrite").parquet(f"{folder}/rows/batch={number}")

    query = (
        records.selectExpr("partition", "offset", "cast(value AS string) AS value")
        .dropDuplicates(["value"])
        .writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .foreachBatch(write)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
