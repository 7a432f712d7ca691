"""One Spark session for all tests of this folder, because starting one costs seconds.

The JVMs of these tests use only the fast compiler, and collect garbage in one thread. For such
short jobs this saves a third of the processor time. If the user has set SPARK_SUBMIT_OPTS, the
user's value is used.
"""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.interop.external_programs import missing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_edu.spark.driver_client import Drivers


@pytest.fixture(scope="session", autouse=True)
def _pyspark() -> None:
    """Skip all tests of this folder if PySpark is not installed. Therefore modules that need
    PySpark are imported inside the tests.
    """
    pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")


@pytest.fixture(scope="session", autouse=True)
def _fast_compiler() -> Iterator[None]:
    """Set the options of all JVMs that the tests of this folder start."""
    with pytest.MonkeyPatch.context() as environment:
        if "SPARK_SUBMIT_OPTS" not in os.environ:
            options = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
            environment.setenv("SPARK_SUBMIT_OPTS", options)
        yield


@pytest.fixture(scope="session", autouse=True)
def drivers(
    _pyspark: None, _fast_compiler: None, tmp_path_factory: pytest.TempPathFactory
) -> "Iterator[Drivers]":
    """The labs keep a JVM running between two checks. For these tests it has a separate state
    folder, and it ends after the tests. A JVM of the user is not touched.
    """
    from kafka_edu.spark.driver_client import Drivers
    from kafka_edu.spark.driver_keeper import IDLE

    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("KAFKA_EDU_HOME", str(tmp_path_factory.mktemp("state")))
        environment.setenv(IDLE, "60")  # it ends soon even if the tests are killed
        drivers = Drivers()
        yield drivers
        drivers.end()


@pytest.fixture(scope="session")
def spark(_pyspark: None, _fast_compiler: None) -> "Iterator[SparkSession]":
    """Return the Spark session. If a test calls `start_session`, it gets the same session."""
    from kafka_edu.spark.connectors import start_session

    with start_session("tests", "local[2]") as session:
        yield session


@pytest.fixture(scope="session")
def official(spark: "SparkSession") -> "SparkSession":
    """Return the session with Spark's own Kafka connector, `format("kafka")`.

    If Maven cannot fetch the connector, the test is skipped; in CI it fails.
    """
    from kafka_edu.spark.connectors import add_official_connector
    from kafka_edu.spark.official_jars import OfficialConnectorMissing

    try:
        add_official_connector(spark)
    except OfficialConnectorMissing as error:
        missing(str(error))
    return spark
