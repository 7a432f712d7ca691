"""Exercise 16-1s: the reference solution."""

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import (
    col,
    lit,
    regexp_extract,
    regexp_replace,
    try_to_timestamp,
    when,
)

WORD = "[!-~]++"
INSIDE = r"[ !#-\[\]-~]*+(?:\\[ -~][ !#-\[\]-~]*+)*+"
PATH = r"[!#-\[\]-~]*+(?:\\[!-~][!#-\[\]-~]*+)*+"
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
TIME = rf"\d\d/(?:{MONTHS})/\d{{4}}:\d\d:\d\d:\d\d [+-]\d{{4}}"
LINE = (
    rf"^({WORD}) {WORD} {WORD} \[({TIME})\]"
    rf' "([A-Z]++) ({PATH}) HTTP/\d(?:\.\d)?" ([1-5]\d\d) (-|\d{{1,18}})'
    rf' "{INSIDE}" "({INSIDE})" (\d{{1,18}})\z'
)
TIME_FORMAT = "dd/MMM/yyyy:HH:mm:ss Z"


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return one row for each record, whether its line is good or bad."""
    text = col("value").cast("string")

    def field(number: int) -> Column:
        return regexp_extract(text, LINE, number)

    time = when(text.rlike(LINE), try_to_timestamp(field(2), lit(TIME_FORMAT)))
    timed = records.withColumn("time", time)
    good = col("time").isNotNull()
    size = when(field(6) == "-", lit(0)).otherwise(field(6).cast("bigint"))
    return timed.select(
        "partition",
        "offset",
        when(good, "good").otherwise("bad").alias("kind"),
        when(~good, col("value")).alias("line"),
        "time",
        when(good, field(1)).alias("client"),
        when(good, field(3)).alias("method"),
        when(good, field(4)).alias("path"),
        when(good, field(5).cast("int")).alias("status"),
        when(good, size).alias("size"),
        when(good, regexp_replace(field(7), r"\\(.)", "$1")).alias("agent"),
        when(good, field(8).cast("bigint")).alias("duration_us"),
    )
