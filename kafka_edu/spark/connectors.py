"""Start the Spark session that every command of the Spark lab runs in, with one of two connectors.

Both read and write topics with the same options and columns:

- `python` is ours, `format("kafka-edu")`. It needs no jar.
- `official` is Spark's own, `format("kafka")`. Maven fetches its jars.

A job takes a Connector and passes `format_of(connector)` to `spark.read.format`.
"""

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import TYPE_CHECKING

from kafka_edu.spark.java_gateway import find_spark_home, java_gateway
from kafka_edu.spark.official_jars import OfficialJars, official_jars
from kafka_edu.spark.source_errors import is_ctrl_c, lost_the_jvm
from kafka_edu.spark.spark_master import (
    check_master,
    is_local,
    is_on_loopback,
    is_standalone,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_log = logging.getLogger(__name__)


class Connector(StrEnum):
    """The code that reads and writes topics, as `--connector` names it."""

    PYTHON = "python"
    OFFICIAL = "official"


def format_of(connector: Connector) -> str:
    """Return the name for `spark.read.format`, `readStream`, `write` and `writeStream`."""
    return {Connector.PYTHON: "kafka-edu", Connector.OFFICIAL: "kafka"}[connector]


@contextmanager
def start_session(
    name: str,
    master: str = "local[*]",
    *,
    connector: Connector = Connector.PYTHON,
    config: Mapping[str, str] = MappingProxyType({}),
) -> Iterator["SparkSession"]:
    """Start a quiet session on loopback with our connector, and with the official one if it is
    asked for. Stop it with the block.

    A session that runs already in this process is used as it is, and goes on after the block. So
    `master` and `config` count only for the first one. The workers of a local master import this
    very package; the executors of a cluster get it as a zip.

    Raises SparkStartError if Java is missing or does not start, MasterError if there is no such
    master, and OfficialConnectorMissing.
    """
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        # PySpark raises each error, and logs it too, with the whole stack of Java
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    if (running := SparkSession.getActiveSession()) is not None:
        _add(running, connector)
        yield running
        return
    check_master(master)
    loopback = {}
    if is_on_loopback(master):  # otherwise the executors must reach the driver by its real name
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    os.environ.setdefault(
        "PYSPARK_PYTHON", sys.executable
    )  # otherwise the workers run the python3 of the PATH
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    ours = [str(Path(__file__).resolve().parents[2])]
    if os.environ["PYSPARK_PYTHON"] != sys.executable:
        # the Python of the executors, which this JVM takes for its own workers too
        ours.append(str(find_spark_home().parent))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*ours, *given]))
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in {
        "spark.ui.enabled": "false",
        **loopback,
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.showConsoleProgress": "false",
        **config,
    }.items():
        builder = builder.config(key, value)
    interrupt = signal.getsignal(signal.SIGINT)
    with java_gateway(
        with_home=not (is_local(master) or is_standalone(master)),
        jars=_jars_at_start(connector, master),
    ):
        spark = builder.getOrCreate()
    _end_quietly(spark)
    if threading.current_thread() is threading.main_thread():
        signal.signal(
            signal.SIGINT,
            interrupt,
            # PySpark's own handler asks the JVM to cancel jobs, but Ctrl-C has stopped the JVM too.
        )
    interrupted = False
    try:
        with _sigterm_like_ctrl_c():
            _add(spark, connector)
            yield spark
    except SystemExit:
        interrupted = True  # the JVM ends with this process; `stop` would wait for the job
        raise
    except BaseException as error:
        interrupted = is_ctrl_c(error)
        if interrupted:  # PySpark's own clean-up after it may have failed
            raise KeyboardInterrupt from None
        raise
    finally:
        if not interrupted:
            _stop(spark)


@contextmanager
def _sigterm_like_ctrl_c() -> Iterator[None]:
    """Raise KeyboardInterrupt in the block at SIGTERM, and call the handler of before after it.

    While a job runs, its thread waits for an answer of the JVM. py4j gives that connection up at
    KeyboardInterrupt alone. After any other exception PySpark uses it again, and waits for the job.
    """
    before = signal.getsignal(signal.SIGTERM)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield  # SIGTERM ends the process at once, or is ignored
        return
    came: list[tuple[int, FrameType | None]] = []

    def interrupt(number: int, frame: FrameType | None) -> None:
        came.append((number, frame))
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        if came:
            before(*came[0])


def _end_quietly(spark: "SparkSession") -> None:
    """Let the thread that takes accumulators from the JVM end without a traceback.

    Ctrl-C ends the JVM too. That thread then reads the end of its connection, which
    `socketserver` prints as an error. Any other error is printed as before.
    """
    server = spark.sparkContext._accumulatorServer
    tell = server.handle_error

    def handle_error(request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), EOFError):
            tell(request, client_address)

    vars(server)["handle_error"] = handle_error


def _stop(spark: "SparkSession") -> None:
    try:
        spark.stop()
    except Exception as error:
        if not lost_the_jvm(error):  # the block has failed by the same loss
            raise


def _jars_at_start(connector: Connector, master: str) -> Sequence[Path]:
    """Return the jars that the JVM must have from its start. Raises OfficialConnectorMissing.

    On a cluster the executors send back objects of the connector's sink. The part of the driver
    that reads them knows only the jars of the start, not those of `ADD JAR`.
    """
    if connector is not Connector.OFFICIAL or is_local(master):
        return ()
    import pyspark

    return official_jars(pyspark.__version__).files


def _add(spark: "SparkSession", connector: Connector) -> None:
    from kafka_edu.spark.data_source import register

    register(spark)
    if connector is Connector.OFFICIAL:
        add_official_connector(spark)


def add_official_connector(spark: "SparkSession") -> OfficialJars:
    """Make `format("kafka")` known to a session that runs, and return its jars.

    The option `spark.jars` does this only before the JVM starts. `ADD JAR` does it later: for the
    driver, and for the workers of this and each later job. A connector that is older than Spark is
    logged. Raises OfficialConnectorMissing.
    """
    found = official_jars(spark.version)
    for jar in found.files:
        spark.sql(f"ADD JAR '{jar}'")
    if found.note:
        _log.warning(found.note)
    return found
