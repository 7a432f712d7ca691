"""The Python workers of a local Spark session are forked from a process that has already imported
PySpark.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_worker_comes_from_the_prepared_process(spark: "SparkSession") -> None:
    from pyspark.sql.functions import udf

    @udf("string")
    def begun_as(number: int) -> str:
        import sys

        return " ".join(sys.orig_argv)

    (row,) = spark.range(1).select(begun_as("id").alias("command")).collect()
    assert "-m kafka_edu.spark.prepared_python" in row["command"]
