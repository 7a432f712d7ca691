"""Start the Python processes of a local Spark by fork, from a process that has imported PySpark.

Spark starts a Python process for the source of each stream, and one for each kind of Python worker.
Each process first imports PySpark, numpy and pyarrow. This takes 0.2 s of processor time on a free
core, and seconds on a busy machine. There a query fails if its process starts too late
(`query_start`).

So a local session starts one *prepared* process next to its JVM. The process imports these modules
once, and waits:

    JVM → the program that `prepared_python` returns (`prepared_client`), with -m MODULE
        → the prepared process, which forks; the child becomes the process that the JVM wanted

The child gets the arguments, the environment, the folder and the standard streams of the program
that the JVM has started. If the prepared process has ended, that program becomes a plain Python.

The prepared process ends when its standard input closes. So it always ends with the process that
started it.
"""

import atexit
import contextlib
import importlib
import json
import os
import runpy
import select
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.spark import prepared_client

#: The modules that the workers of our source import, and that Spark's own worker modules import.
MODULES: Final = (
    "pyspark.daemon",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "kafka_edu.spark.data_source",
    "kafka_edu.spark.arrow_records",
)
_RUNNING: "Final[list[Prepared]]" = []
"""The prepared process of this process. The list is empty until there is one."""


class Prepared(NamedTuple):
    """A prepared process, and the program with which Spark reaches it."""

    program: str
    process: "subprocess.Popen[bytes]"
    folder: Path

    def end(self) -> None:
        """End the process, and remove the program."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def prepared_python() -> str:
    """Return the path of the program that Spark must start instead of Python. The first call starts
    the prepared process, which imports its modules while this process continues.

    Returns this Python itself if the process cannot be started.
    """
    if not _RUNNING:
        try:
            _RUNNING.append(start_prepared_python())
        except OSError:
            return sys.executable
        atexit.register(_RUNNING[0].end)
    return _RUNNING[0].program


def is_prepared() -> bool:
    """Return whether this process has a prepared process."""
    return bool(_RUNNING)


def start_prepared_python() -> Prepared:
    """Start a prepared process. Raises OSError if the system does not allow it."""
    folder = Path(tempfile.mkdtemp(prefix="kafka-edu-python-"))
    address = folder / "socket"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(address))
        listener.listen(128)
        process = subprocess.Popen(
            python_command("kafka_edu.spark.prepared_python", str(listener.fileno())),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[listener.fileno()],
            env={"PYTHONHASHSEED": "0", **python_environment()},  # as Spark's workers have it
            start_new_session=True,  # Ctrl-C must not reach it
        )
    program = folder / "python"
    words = [sys.executable, "-IS", prepared_client.__file__, str(address)]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    program.chmod(0o700)
    return Prepared(str(program), process, folder)


def serve(listener: socket.socket, modules: Sequence[str] = MODULES) -> None:
    """Import the modules. Then fork a child for each connection, until standard input closes."""
    for name in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel forgets children that have ended
    poller = select.poll()
    poller.register(0, select.POLLIN)
    poller.register(listener, select.POLLIN)
    while True:
        ready = [descriptor for descriptor, _ in poller.poll()]
        if 0 in ready:
            return
        connection, _ = listener.accept()
        with connection:
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                become(connection)


def become(connection: socket.socket) -> NoReturn:
    """Read a module's name from the connection, and run it as the main module of this process.

    At the end, send the exit code. The program at the other end waits for it.
    """
    size, streams = prepared_client.receive_head(connection)
    with connection.makefile("rb") as file:
        wanted: dict[str, Any] = json.loads(file.read(size))
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(wanted["environment"])
    os.chdir(wanted["folder"])
    module, *arguments = wanted["arguments"]
    path = wanted["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [wanted["folder"], *(one for one in path if one and one not in sys.path)]
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)  # it must run now, as the main module
    code = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
        connection.sendall(bytes([code & 0xFF]))
    os._exit(code & 0xFF)


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
