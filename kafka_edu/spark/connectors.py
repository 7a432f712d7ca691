"""Start the Spark session for a command of the Spark lab, with one of two connectors.

Both connectors read and write topics, with the same options and columns:

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

from kafka_edu.spark.java_gateway import find_spark_home, has_gateway, java_gateway
from kafka_edu.spark.official_jars import OfficialJars, official_jars
from kafka_edu.spark.prepared_python import is_prepared, prepared_python
from kafka_edu.spark.source_errors import is_ctrl_c, lost_the_jvm
from kafka_edu.spark.spark_master import (
    MasterError,
    check_master,
    is_local,
    is_on_loopback,
    is_standalone,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_log = logging.getLogger(__name__)


class Connector(StrEnum):
    """The code that reads and writes topics. The user chooses it with `--connector`."""

    PYTHON = "python"
    OFFICIAL = "official"


def format_of(connector: Connector) -> str:
    """Return the connector's name for `format(…)` in `spark.read`, `readStream`, `write` and
    `writeStream`.
    """
    return {Connector.PYTHON: "kafka-edu", Connector.OFFICIAL: "kafka"}[connector]


@contextmanager
def start_session(
    name: str,
    master: str = "local[*]",
    *,
    connector: Connector = Connector.PYTHON,
    config: Mapping[str, str] = MappingProxyType({}),
) -> Iterator["SparkSession"]:
    """Start a session that prints few messages and knows our connector. If requested, it also knows
    the official connector. The session stops at the end of the `with` block. If the master runs on
    this machine, the driver uses only the loopback address.

    If a session already runs in this process, it is used unchanged, and continues after the block.
    So `master` and `config` only matter for the first session. The workers of a local master import
    this same package. The executors of a cluster get it as a zip.

    Raises SparkStartError if Java is missing or does not start, MasterError if there is no such
    master or SPARK_REMOTE is set, and OfficialConnectorMissing.
    """
    from pyspark.logger import PySparkLogger
    from pyspark.sql import SparkSession

    for logger in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        # PySpark raises each error as an exception, and also logs it with Java's whole stack trace.
        PySparkLogger.getLogger(logger).setLevel(logging.CRITICAL)
    if (running := SparkSession.getActiveSession()) is not None:
        _add(running, connector)
        yield running
        return
    check_master(master)
    if remote := os.environ.get("SPARK_REMOTE"):
        raise MasterError(
            f"SPARK_REMOTE is set to {remote}, so PySpark would use this Spark Connect server and"
            f" not the master {master}. Remove SPARK_REMOTE from the environment."
        )
    loopback = {}
    if is_on_loopback(master):  # otherwise the executors must reach the driver by its real name
        loopback = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    set_environment(is_on_loopback(master))
    python = _python_for_workers(master)
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
    if python != sys.executable:
        spark.sparkContext.pythonExec = python
    _end_quietly(spark)
    if threading.current_thread() is threading.main_thread():
        signal.signal(
            signal.SIGINT,
            interrupt,
            # PySpark's own handler sends the JVM a request to cancel its jobs. But Ctrl-C has
            # stopped the JVM too.
        )
    interrupted = False
    try:
        with _sigterm_like_ctrl_c():
            _add(spark, connector)
            yield spark
    except SystemExit:
        interrupted = True  # the JVM ends with this process, but `stop` would wait
        raise
    except BaseException as error:
        interrupted = is_ctrl_c(error)
        if interrupted:  # PySpark's own clean-up may have failed
            raise KeyboardInterrupt from None
        raise
    finally:
        if not interrupted:
            _stop(spark)


def _python_for_workers(master: str) -> str:
    """Return the program that Spark is to start as Python. If this process starts its own JVM for a
    local master, return the program of a prepared Python. A prepared Python imports PySpark while
    the JVM starts.

    A JVM that already runs may have warm workers, which a prepared Python would leave unused.
    """
    python = sys.executable
    if not is_local(master) or os.environ["PYSPARK_PYTHON"] != python:
        return python
    return python if has_gateway() and not is_prepared() else prepared_python()


def set_environment(on_loopback: bool) -> None:
    """Set the environment variables that the JVM and its Python workers need, before the JVM
    starts.

    With `on_loopback`, the driver uses only the loopback address.
    """
    if on_loopback:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault(
        "PYSPARK_PYTHON", sys.executable
    )  # otherwise the workers run the python3 of the PATH
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    ours = [str(Path(__file__).resolve().parents[2])]
    if os.environ["PYSPARK_PYTHON"] != sys.executable:
        # The path of PySpark for the executors' Python. The JVM uses it for its own workers too.
        ours.append(str(find_spark_home().parent))
    os.environ["PYTHONPATH"] = os.pathsep.join(dict.fromkeys([*ours, *given]))


@contextmanager
def _sigterm_like_ctrl_c() -> Iterator[None]:
    """While the block runs, SIGTERM raises KeyboardInterrupt. After the block, the earlier signal
    handler is set again, and called if SIGTERM came.

    While a job runs, its thread waits for an answer from the JVM. py4j closes that connection only
    after KeyboardInterrupt. After any other exception, PySpark would use the connection again, and
    so wait until the job ends.
    """
    before = signal.getsignal(signal.SIGTERM)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield  # SIGTERM already ends the process at once, or is ignored
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
    """After Ctrl-C, let the thread that receives accumulators from the JVM end without a traceback.

    Ctrl-C ends the JVM too. The thread then reads the end of its connection, which `socketserver`
    would print as an error. Other errors are still printed.
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
        if not lost_the_jvm(error):  # then the block itself has reported the error
            raise


def _jars_at_start(connector: Connector, master: str) -> Sequence[Path]:
    """Return the jars that the JVM needs from its start. Raises OfficialConnectorMissing if they
    cannot be fetched.

    On a cluster, the executors send objects of the connector's sink to the driver. The part of the
    driver that decodes these objects knows only jars from the JVM's start. Jars that are added by
    `ADD JAR` come too late for this part.
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
    """Add the official connector, `format("kafka")`, to a running session, and return its jars.

    The option `spark.jars` works only before the JVM starts. `ADD JAR` works later, for the driver
    and for the workers of all later jobs. If the connector is older than Spark, a log line says so.
    Raises OfficialConnectorMissing if the jars cannot be fetched.
    """
    found = official_jars(spark.version)
    for jar in found.files:
        spark.sql(f"ADD JAR '{jar}'")
    if found.note:
        _log.warning(found.note)
    return found
