"""Exercise 16-3s: find the sessions in a stream of lines. README.md has the task.
`kafka-edu lab check 16-3s` tests your job, and `kafka-edu lab hint 16-3s` gives you a hint.
"""

from pyspark.sql import DataFrame, SparkSession


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return a stream with one row for each session: client, begin, last, lines and failed."""
    raise NotImplementedError(
        "build is not written yet: it returns client, begin, last, lines, failed"
    )
