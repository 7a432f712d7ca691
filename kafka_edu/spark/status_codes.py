"""Count how many requests ended with each HTTP status. This is the first job of the Spark lab.

Spark's answer is compared with the generator's correct counts (spec W).
"""

import re

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, regexp_extract

from kafka_edu.clients.web_log.access_log import STATUS
from kafka_edu.spark.connectors import Connector, format_of, start_session


def read_topic(
    spark: SparkSession,
    bootstrap_servers: str,
    topic: str,
    connector: Connector = Connector.PYTHON,
) -> DataFrame:
    """Return all records that are in the topic now, with the columns key, value, topic, partition,
    offset, timestamp, timestampType.
    """
    return (
        spark.read.format(format_of(connector))
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", topic)
        .load()
    )


def status_codes(records: DataFrame) -> DataFrame:
    """Return the number of requests for each status, in the columns status and requests, sorted by
    status. A line without a status has the status "".
    """
    status = regexp_extract(col("value").cast("string"), STATUS, 1).alias("status")
    return (
        records.select(status).groupBy("status").agg(count("*").alias("requests")).orderBy("status")
    )


def count_status_codes(
    bootstrap_servers: str,
    topic: str,
    master: str = "local[*]",
    connector: Connector = Connector.PYTHON,
) -> dict[str, int]:
    """Run the job, and return the number of requests for each status. Raises the same errors as
    `start_session`.
    """
    with start_session("status-codes", master, connector=connector) as spark:
        records = read_topic(spark, bootstrap_servers, topic, connector)
        return {row["status"]: row["requests"] for row in status_codes(records).collect()}


def status_of(line: str) -> str:
    """Return the status in one line, as the job finds it. Tests use this to check the pattern."""
    found = re.match(STATUS, line)
    return found[1] if found else ""
