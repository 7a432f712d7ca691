"""Exercise 16-8s: the reference solution."""

from pyspark.sql import SparkSession, Window
from pyspark.sql.functions import (
    array_except,
    coalesce,
    col,
    concat_ws,
    count,
    explode,
    expr,
    from_json,
    get_json_object,
    lag,
    last,
    lead,
    lit,
)

ISR = "coalesce(get_json_object(fields, '$.after'), get_json_object(fields, '$.isr'))"


def report(spark: SparkSession, recordings: str, out: str) -> None:
    """Write the two tables about the events in `recordings`."""
    reader = spark.read.format("kafka-edu-events").option("failOnDamage", "false")
    events = reader.load(recordings)

    latency = (
        events.where("event = 'ResponseSent' and get_json_object(fields, '$.follower') = 'false'")
        .groupBy("api")
        .agg(
            count("*").alias("requests"),
            expr("percentile_disc(0.5) WITHIN GROUP (ORDER BY totalUs)").alias("p50_us"),
            expr("percentile_disc(0.99) WITHIN GROUP (ORDER BY totalUs)").alias("p99_us"),
        )
    )
    latency.write.parquet(f"{out}/latency")

    act = get_json_object("fields", "$.title")
    in_time = Window.orderBy("monoUs", "source", "number")
    isrs = (
        events.where("event IN ('ActionAsked', 'IsrShrunk', 'IsrExpanded', 'BecameLeader')")
        .withColumn("act", coalesce(last(act, ignorenulls=True).over(in_time), lit("")))
        .where("event != 'ActionAsked'")
        .withColumn("isr", from_json(expr(ISR), "array<int>"))
        .withColumn("partition", concat_ws("-", "topic", "partition"))
        .withColumn("before", lag("isr").over(in_time.partitionBy("partition")))
    )
    changes = ("partition", "monoUs", "source", "number", "act")
    gone = isrs.select(
        *changes, explode(array_except("before", "isr")).alias("broker"), lit(True).alias("left")
    )
    back = isrs.select(
        *changes, explode(array_except("isr", "before")).alias("broker"), lit(False).alias("left")
    )
    next_us = lead("monoUs").over(in_time.partitionBy("partition", "broker"))
    flaps = (
        gone.union(back)
        .withColumn("lasted_us", next_us - col("monoUs"))
        .where("left")
        .select("partition", "broker", col("monoUs").alias("began_us"), "lasted_us", "act")
    )
    flaps.write.parquet(f"{out}/flaps")
