"""Ctrl-C and SIGTERM end a Spark command in the middle of a job: at once, without a traceback."""

import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_edu.common.python_process import python_command, python_environment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE_S = 300  # a JVM on a busy machine
#: A job that never ends. It says so by the pipe that a task opens.
COMMAND = """
import signal, sys, threading
from kafka_edu.spark.connectors import start_session

fifo = sys.argv[1]

def end(number, frame):
    raise SystemExit(128 + number)

def never(_):
    with open(fifo, "w") as running:
        running.write("running")
    threading.Event().wait()

signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, signal.default_int_handler)
try:
    with start_session("never", "local[1]") as spark:
        spark.sparkContext.parallelize([0], 1).foreach(never)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.spark
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_job_does_not_hold_its_command(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    fifo = tmp_path / "running"
    os.mkfifo(fifo)
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(fifo)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=python_environment(),
        process_group=0,
    )
    try:
        running = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(running, "rb") as reader:
            assert select.select([reader], [], [], PATIENCE_S)[0], "the job did not begin"
        os.kill(process.pid, number)
        said = process.communicate(timeout=PATIENCE_S)[0].decode()
    finally:
        process.kill()
        process.wait()
    assert process.returncode == code, said
    assert "Traceback" not in said


@pytest.mark.spark
def test_the_end_of_the_jvm_is_no_error_of_the_accumulators(
    spark: "SparkSession", capfd: pytest.CaptureFixture[str]
) -> None:
    server = spark.sparkContext._accumulatorServer
    for error, is_shown in ((EOFError(), False), (ValueError("other"), True)):
        try:
            raise error
        except type(error):
            server.handle_error(None, ("127.0.0.1", 1))
        assert ("Traceback" in capfd.readouterr().err) == is_shown


@pytest.mark.long
@pytest.mark.parametrize("moment", ["starting three brokers", "starting Spark", "lines sent"])
def test_ctrl_c_ends_a_pipeline_in_one_line(tmp_path: Path, moment: str) -> None:
    process = subprocess.Popen(
        python_command(
            "kafka_edu",
            *("spark", "pipeline", "--lines", "1000000", "--out", str(tmp_path / "out")),
        ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=python_environment() | {"KAFKA_EDU_HOME": str(tmp_path), "PYTHONUNBUFFERED": "1"},
        process_group=0,
        text=True,
    )
    said = ""
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said += line
            if moment in line:
                break
        os.kill(process.pid, signal.SIGINT)
        said += process.communicate(timeout=PATIENCE_S)[0]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, said
    assert said.endswith("stopped\n")
    assert "Traceback" not in said
