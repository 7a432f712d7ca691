"""Exercise 16-7s: the reference solution."""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql.functions import coalesce, col, concat, count, lit, max, regexp_replace, sum, when

SEGMENT = ("topic", "partition", "file")


def survey(spark: SparkSession, logs: str, out: str) -> None:
    """Write the two tables about the segments in `logs`."""

    def rows(kind: str) -> DataFrame:
        reader = spark.read.format("kafka-edu-segments").option("failOnDamage", "false")
        return reader.option("rows", kind).load(logs)

    batches = rows("batches")
    codecs = (
        batches.where(~col("control"))
        .groupBy("topic", "codec")
        .agg(
            count("*").alias("batches"),
            sum("records").alias("records"),
            sum("bytes").alias("bytes"),
        )
    )
    codecs.write.parquet(f"{out}/codecs")

    places = (*SEGMENT[:2], "position")
    heads = batches.select(*places, "file", col("baseOffset").alias("offset"), lit(1).alias("head"))
    file = concat(regexp_replace("file", "[.]index$", ""), lit(".log")).alias("file")
    entries = (
        rows("index")
        .where("index = 'offset'")
        .select(*places, file, "offset", lit(0).alias("head"))
    )
    before = Window.partitionBy(*SEGMENT).orderBy("offset", "head")
    start = coalesce(max(when(col("head") == 0, col("position"))).over(before), lit(0))
    segments = (
        heads.unionByName(entries)
        .withColumn("walk", col("position") - start)
        .where("head = 1")
        .groupBy(*SEGMENT)
        .agg(count("*").alias("batches"), max("walk").alias("longest_walk"))
    )
    segments.write.parquet(f"{out}/segments")
