"""The first job of the Spark lab: how many requests ended with each HTTP status?

Spark's answer is compared with the generator's true counts (spec W).
"""

import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, regexp_extract

from kafka_edu.spark.data_source import register
from kafka_edu.spark.java_gateway import start_java_gateway

#: host ident user [time] "request" status bytes …: the combined log format; group 1 is the status
STATUS: Final = r'^\S+ \S+ \S+ \[[^\]]+\] "[^"]*" (\d{3}) '


@contextmanager
def spark_session(name: str, master: str = "local[*]") -> Iterator[SparkSession]:
    """Start a quiet session on loopback with our data source registered, and stop it with the
    block.

    Its workers import this very package. Raises SparkStartError if Java is missing or does not
    start.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault(
        "PYSPARK_PYTHON", sys.executable
    )  # otherwise the workers run the python3 of the PATH
    root = str(Path(__file__).resolve().parents[2])
    os.environ["PYTHONPATH"] = os.pathsep.join(
        dict.fromkeys([root, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))])
    )
    start_java_gateway()
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
    }.items():
        builder = builder.config(key, value)
    interrupt = signal.getsignal(signal.SIGINT)
    spark = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        signal.signal(
            signal.SIGINT,
            interrupt,
            # PySpark's own handler asks the JVM to cancel jobs, but Ctrl-C has stopped the JVM too.
        )
    try:
        register(spark)
        yield spark
    finally:
        spark.stop()


def read_topic(spark: SparkSession, bootstrap_servers: str, topic: str) -> DataFrame:
    """Return the whole topic as it is now: key, value, topic, partition, offset, timestamp,
    timestampType.
    """
    return (
        spark.read.format("kafka-edu")
        .option("kafka.bootstrap.servers", bootstrap_servers)
        .option("subscribe", topic)
        .load()
    )


def status_codes(records: DataFrame) -> DataFrame:
    """Return the columns status and requests, ordered by status. A line without a status counts as
    "".
    """
    status = regexp_extract(col("value").cast("string"), STATUS, 1).alias("status")
    return (
        records.select(status).groupBy("status").agg(count("*").alias("requests")).orderBy("status")
    )


def count_status_codes(
    bootstrap_servers: str, topic: str, master: str = "local[*]"
) -> dict[str, int]:
    """Run the job and return status → requests."""
    with spark_session("status-codes", master) as spark:
        return {
            row["status"]: row["requests"]
            for row in status_codes(read_topic(spark, bootstrap_servers, topic)).collect()
        }


def status_of(line: str) -> str:
    """Return the status of one line as the job reads it, for tests of the pattern."""
    found = re.match(STATUS, line)
    return found[1] if found else ""
