"""Run a real standalone cluster of Spark on this machine: one master and some workers.

    driver (this process)  → master: which workers have cores?
    master                 → worker: start an executor for this job
    executor               → driver: give me tasks

The master, each worker and each executor are separate processes, started from PySpark's jars. So
`spark://…` behaves as on a cluster of ten machines: the executors do not have our code, and each
executor can be killed separately.

The processes listen on free ports of the loopback address. On Linux, the kernel kills them when
this process ends, even after kill -9 (`supervised_child`). An executor ends when its worker has
ended.

Executors are started by Spark's own code, which requires the Java module jdk.incubator.vector. The
Java that comes with this project does not have this module. So a cluster needs a full Java (17 or
newer).
"""

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_edu.common.java import Java, NoJavaError, find_java
from kafka_edu.common.ports import LOOPBACK, free_ports
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.spark.java_gateway import (
    OLDEST_JAVA,
    SparkStartError,
    find_spark_home,
    last_words,
    launcher_command,
    spark_environment,
)
from kafka_edu.spark.start_limit import StartLimit

STOP_TIMEOUT_S: Final = 15.0
NEEDED_MODULE: Final = "jdk.incubator.vector"
MASTER_CLASS: Final = "org.apache.spark.deploy.master.Master"
WORKER_CLASS: Final = "org.apache.spark.deploy.worker.Worker"
EXECUTOR_CLASS: Final = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
_DAEMON_MEMORY: Final = "256m"
_LOOK_EVERY_S: Final = 0.1


class Executor(NamedTuple):
    """An executor: a process that runs the tasks of one job on one worker."""

    pid: int
    worker: int
    """The number of the executor's worker, counted from 0."""


class Process(NamedTuple):
    """A process on this machine: its id, its parent's id, and its command line."""

    pid: int
    parent: int
    command: str


def find_full_java() -> Java:
    """Return a Java that can start executors. If there is none, raise SparkStartError, which says
    what the user can do.
    """
    try:
        return find_java(least=OLDEST_JAVA, modules={NEEDED_MODULE})
    except NoJavaError as error:
        raise SparkStartError(
            f"a standalone cluster of Spark needs a full Java {OLDEST_JAVA} or newer, and {error}."
            " Install one (OpenJDK or Temurin), or set JAVA_HOME to it. A local master, such as"
            " local[*], runs on the bundled Java."
        ) from None


class StandaloneCluster:
    """The processes of a standalone cluster. `running_standalone_cluster` starts and stops them."""

    def __init__(self, java: Java, folder: Path, cores: int, memory_mb: int) -> None:
        """`folder` is for the logs and the workers' folders. Each worker offers `cores` processor
        cores and `memory_mb` of memory.
        """
        ports = free_ports(LOOPBACK)
        self._port, self._page_port = next(ports), next(ports)
        self._folder = folder
        self._offer = ["--cores", str(cores), "--memory", f"{memory_mb}m"]
        self._environment = environment(java, folder)
        self._command = launcher_command(
            java, find_spark_home(), MASTER_CLASS, environment=self._environment
        )[:-1]
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def master(self) -> str:
        """Return the address of the master, as `--master` needs it."""
        return f"spark://{LOOPBACK}:{self._port}"

    @property
    def page(self) -> str:
        """Return the address of the master's web page."""
        return f"http://{LOOPBACK}:{self._page_port}"

    def start(self, workers: int) -> None:
        """Start the master and the workers. Return when all workers have joined. Raises
        SparkStartError if a process does not start.
        """
        self._start(
            "master",
            MASTER_CLASS,
            *("--host", LOOPBACK, "--port", str(self._port)),
            *("--webui-port", str(self._page_port)),
        )
        self._wait_for_workers(0)
        for number in range(workers):
            folder = self._folder / f"worker-{number}"
            self._start(
                folder.name,
                WORKER_CLASS,
                *("--host", LOOPBACK, "--webui-port", "0", "--work-dir", str(folder)),
                *self._offer,
                self.master,
            )
        self._wait_for_workers(workers)

    def wait(self) -> None:
        """Wait for ever, because the processes run until they are stopped. Raises SparkStartError
        if a process ends by itself.
        """
        while True:
            for name, process in self._processes.items():
                if process.poll() is not None:
                    raise SparkStartError(f"Spark's {name} ended: {self._said(name)}")
            time.sleep(_LOOK_EVERY_S)

    def stop(self) -> None:
        """Stop the workers and their executors, and then the master."""
        executors = self.executors()
        for process in reversed(self._processes.values()):
            process.terminate()
            try:
                process.wait(STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        left = {one.pid for one in processes() if EXECUTOR_CLASS in one.command}
        for executor in executors:
            if executor.pid in left:
                _kill(executor.pid)

    def executors(self) -> list[Executor]:
        """Return the executors that run now."""
        all_of_them = processes()
        parents = {one.pid: one.parent for one in all_of_them}
        workers = {
            process.pid: int(name.rpartition("-")[2])
            for name, process in self._processes.items()
            if name.startswith("worker-")
        }
        found = []
        for one in all_of_them:
            if EXECUTOR_CLASS in one.command:
                above = one.parent
                while above in parents and above not in workers:
                    above = parents[above]
                if above in workers:
                    found.append(Executor(one.pid, workers[above]))
        return found

    def kill_executor(self) -> Executor:
        """Kill an executor with SIGKILL and return it. At least one executor must run. The
        executor's Python workers end after it.
        """
        executor = self.executors()[0]
        _kill(executor.pid)
        return executor

    def _start(self, name: str, program: str, *arguments: str) -> None:
        # PYTHONPATH leads this Python to our package. The executors must not find our package, so
        # it is removed.
        java = ["env", "-u", "PYTHONPATH", *self._command, program, *arguments]
        command = python_command(
            "kafka_edu.supervisor.supervised_child", str(os.getpid()), "--exec", *java
        )
        ours = python_environment()
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**self._environment, "PYTHONPATH": ours.get("PYTHONPATH", "")},
                process_group=0,  # so Ctrl-C reaches only this process, which stops them
            )

    def _wait_for_workers(self, count: int) -> None:
        limit = StartLimit(process.pid for process in self._processes.values())
        while (state := self._state()) is None or state["aliveworkers"] < count:
            for name, process in self._processes.items():
                if process.poll() is not None or limit.is_over():
                    raise SparkStartError(
                        f"Spark's {name} did not start: {self._said(name)}. Its Java is"
                        f" {self._command[0]}."
                    )
            time.sleep(_LOOK_EVERY_S)

    def _said(self, name: str) -> str:
        """Return the line in a process's log that says what went wrong."""
        return last_words((self._folder / f"{name}.log").read_text("utf-8", "replace"))

    def _state(self) -> dict[str, Any] | None:
        """Return the data on the master's web page, or None if the page cannot be read yet."""
        try:
            with urllib.request.urlopen(f"{self.page}/json/", timeout=5) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except (OSError, urllib.error.URLError, ValueError):
            return None


def environment(java: Java, folder: Path) -> dict[str, str]:
    """Return the environment variables of the processes. None of them leads to our package. So the
    Python of an executor finds only what Spark sends, and what is installed with that Python.
    """
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_", "PYTHON"))
    }
    return {
        **kept,
        **spark_environment(java, find_spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_DAEMON_MEMORY": _DAEMON_MEMORY,
        # If a port is in use, the process ends. Without this setting, Spark would use the next port
        # without a message. The master's REST server would use the fixed port 6066, so that only
        # one cluster could run on a machine. Nothing in this project needs the REST server.
        "SPARK_DAEMON_JAVA_OPTS": "-Dspark.port.maxRetries=0 -Dspark.master.rest.enabled=false",
    }


@contextlib.contextmanager
def running_standalone_cluster(
    workers: int = 2, *, cores: int = 2, memory_mb: int = 1024
) -> Iterator[StandaloneCluster]:
    """Run a cluster while the `with` block runs. Each worker offers `cores` cores and `memory_mb`
    of memory.

    Raises SparkStartError if there is no full Java, or if a process does not start.
    """
    java = find_full_java()
    with tempfile.TemporaryDirectory(
        prefix="kafka-edu-spark-", ignore_cleanup_errors=True
    ) as folder:
        cluster = StandaloneCluster(java, Path(folder), cores, memory_mb)
        try:
            cluster.start(workers)
            yield cluster
        finally:
            cluster.stop()


def processes() -> list[Process]:
    """Return all processes of this machine that this user can see."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
    )
    found = []
    for line in listed.stdout.splitlines():
        pid, parent, command = (*line.split(None, 2), "")[:3]
        found.append(Process(int(pid), int(parent), command))
    return found


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
