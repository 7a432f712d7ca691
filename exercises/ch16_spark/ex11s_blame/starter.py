"""Exercise 16-11s: find the deployments behind failed requests. README.md has the task.
`kafka-edu lab check 16-11s` tests your job, and `kafka-edu lab hint 16-11s` gives you a hint.
"""

from pyspark.sql import DataFrame, SparkSession


def build(
    spark: SparkSession, requests: DataFrame, deployments: DataFrame, teams: DataFrame
) -> DataFrame:
    """Return a stream of failed requests and suspects: service, time, version and team."""
    raise NotImplementedError("build is not written yet: it returns a DataFrame")
