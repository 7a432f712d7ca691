"""Exercise 16-8s: report on an evening of a cluster. README.md has the task.
`kafka-edu lab check 16-8s` tests your job, and `kafka-edu lab hint 16-8s` gives you a hint.
"""

from pyspark.sql import SparkSession


def report(spark: SparkSession, recordings: str, out: str) -> None:
    """Write the tables `latency` and `flaps` about the events in the folder `recordings`."""
    raise NotImplementedError("report is not written yet: it writes two tables of Parquet")
