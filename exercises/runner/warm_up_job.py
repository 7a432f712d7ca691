"""A Spark job that `lab spark up` runs. Through this job, the JVM compiles the code that the labs'
jobs need.
"""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import count, window


def build(spark: SparkSession, records: DataFrame) -> DataFrame:
    """Return the number of records in each minute."""
    return records.groupBy(window("timestamp", "1 minute")).agg(count("*").alias("records"))
