"""Use a Spark Connect server: `--remote sc://HOST:PORT`.

With Spark Connect the driver is a server. This process is only its client: it sends each query over
gRPC, and needs no JVM. `register` sends our code to the server (`code_zip.send_code`). So a batch
query and the sink need no kafka-edu on the server.

A streaming query needs kafka-edu on the server. Spark 4.2 starts a Python process for the source of
each stream, and does not give the files of the client's session to this process.

PySpark's client needs packages that kafka-edu does not install. `connect_session` checks them, and
whether the server answers, before it starts. PySpark itself would retry for minutes.
"""

import importlib.util
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from kafka_edu.spark.source_errors import SourceError
from kafka_edu.spark.spark_master import CONNECT_TIMEOUT_S

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFAULT_PORT: Final = 15002
#: Module → the package that brings it.
PACKAGES: Final = {
    "grpc": "grpcio",
    "grpc_status": "grpcio-status",
    "google.rpc": "googleapis-common-protos",
    "zstandard": "zstandard",
    "pandas": "pandas",
}
#: sc://HOST or sc://HOST:PORT. Both may be followed by parameters after `/;`.
_REMOTE: Final = re.compile(r"sc://(?P<host>[^:/;\s]+)(:(?P<port>\d+))?(/(;\S*)?)?")


class ConnectError(SourceError):
    """Raised if Spark Connect cannot be used. The message says why, and what the user can do."""


def missing_packages(
    find: Callable[[str], object | None] = importlib.util.find_spec,
) -> Sequence[str]:
    """Return the packages of PySpark's client that are not installed. `find` finds a module."""
    absent = []
    for module, package in PACKAGES.items():
        try:
            found = find(module)
        except ModuleNotFoundError:  # the package around the module is missing too
            found = None
        if found is None:
            absent.append(package)
    return absent


def check_remote(
    remote: str,
    *,
    timeout_s: float = CONNECT_TIMEOUT_S,
    missing: Callable[[], Sequence[str]] = missing_packages,
) -> None:
    """Check the form of the address, the packages of PySpark's client, and whether the server
    answers. Raises ConnectError if something is wrong.
    """
    if (found := _REMOTE.fullmatch(remote)) is None:
        raise ConnectError(
            f"{remote!r} is not an address of a Spark Connect server. An example is"
            f" sc://127.0.0.1:{DEFAULT_PORT}."
        )
    if packages := missing():
        raise ConnectError(
            f"Spark Connect needs Python packages that are not installed: {', '.join(packages)}."
            f" Install them into this Python (pip install {' '.join(packages)}), or use --master"
            " without Spark Connect."
        )
    host, port = found["host"], int(found["port"] or DEFAULT_PORT)
    try:
        socket.create_connection((host, port), timeout_s).close()
    except OSError as error:
        raise ConnectError(
            f"no Spark Connect server answers at {host}:{port} ({error.strerror or error}). Start"
            " one, or correct --remote."
        ) from None


@contextmanager
def connect_session(remote: str) -> Iterator["SparkSession"]:
    """Yield a session of a Spark Connect server that knows our formats. The session ends with the
    `with` block.

    Raises ConnectError if Spark Connect cannot be used.
    """
    check_remote(remote)
    from pyspark.sql import SparkSession

    from kafka_edu.spark.data_source import register

    spark = SparkSession.builder.remote(remote).getOrCreate()
    try:
        register(spark)
        yield spark
    finally:
        spark.stop()
