"""Exercise 16-15s: the reference solution."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import (
    col,
    concat_ws,
    count,
    date_format,
    from_json,
    struct,
    to_json,
    window,
)

FIELDS = "page string, time timestamp"


def feed(
    spark: SparkSession,
    source: str,
    options: Mapping[str, str],
    sink: Mapping[str, str],
    folder: str,
) -> None:
    """Write a record for each count that the new views have changed, then return."""
    records = spark.readStream.format(source).options(**options).load()
    counts = (
        records.select(from_json(col("value").cast("string"), FIELDS).alias("view"))
        .select("view.*")
        .withWatermark("time", "120 seconds")
        .where(col("page").isNotNull())
        .groupBy(window("time", "300 seconds").alias("span"), "page")
        .agg(count("*").alias("views"))
    )
    begin = date_format("span.start", "yyyy-MM-dd'T'HH:mm:ss'Z'").alias("begin")
    changed = counts.select(
        concat_ws(" ", begin, "page").alias("key"),
        to_json(struct("page", begin, "views")).alias("value"),
    )

    def write(rows: DataFrame, _: int) -> None:
        rows.write.format(source).mode("append").options(**sink).save()

    query = (
        changed.writeStream.option("checkpointLocation", f"{folder}/checkpoint")
        .outputMode("update")
        .foreachBatch(write)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
