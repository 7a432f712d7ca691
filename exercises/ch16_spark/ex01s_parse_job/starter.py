"""Exercise 16-1s: parse all records of a topic, and lose none. README.md has the task.
`kafka-edu lab check 16-1s` tests your job, and `kafka-edu lab hint 16-1s` gives you a hint.
"""

from pyspark.sql import DataFrame, SparkSession


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return one row for each record, with the columns partition, offset, kind, line, time,
    client, method, path, status, size, agent, duration_us.
    """
    raise NotImplementedError(
        "build is not written yet: it returns a DataFrame with a row for each record"
    )
