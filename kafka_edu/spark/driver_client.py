"""Use the warm JVM of Spark's labs, which `driver_service` keeps. Start that service if needed.

There is one service for each user of this machine, in the folder spark-driver of the user's state
(`user_files.state_folder`). `borrow` never fails: if no warm JVM is available, it returns the
reason, and the caller starts its own JVM.
"""

import fcntl
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_edu.common.busy_machine import Allowance, began_at
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.user_files import state_folder
from kafka_edu.spark.driver_keeper import IDLE, IDLE_S, idle_of
from kafka_edu.spark.driver_service import JVM_OPTIONS, LOG, STATE
from kafka_edu.spark.start_limit import StartLimit

FOLDER: Final = "spark-driver"
PLACE: Final = "KAFKA_EDU_SPARK_DRIVER"
"""The environment variable with a different folder for the service. Two runs at once can then have
a warm JVM each.
"""
MODULE: Final = "kafka_edu.spark.driver_service"
LENDING: Final = Allowance(processor_s=200.0, idle_s=60.0, clock_s=200.0)
"""The limits of the service when it starts a JVM for a user."""
ANSWERING: Final = Allowance(processor_s=60.0, idle_s=20.0, clock_s=60.0)
"""The limits of the service when it starts, or reports its state."""
LOOK_EVERY_S: Final = 0.25
NOTICES: Final = " kafka_edu.spark.java_gateway: "
"""In the service's log, the text directly before a notice in its line."""
NOT_WANTED: Final = f"{IDLE} is 0"
_PRIVATE: Final = ("KAFKA_EDU_LEARNER_", "PYTEST_")
"""The beginnings of variables of the judge. The service does not get them, because a learner's job
could read them in the JVM.
"""
_CODE: Final = ("driver_client", "driver_keeper", "driver_service", "java_gateway", "warm_jvm")
"""The modules that a service and its users must have in the same version."""
_SETTINGS: Final = ("SPARK_", "PYSPARK_", "HADOOP_", "JAVA_", "JDK_", "_JAVA_")
"""The beginnings of variables that change the behaviour of Spark's JVM."""
_ADDRESS: Final = "PYSPARK_GATEWAY_"
_THREADS: Final = "PYSPARK_PIN_THREAD"
"""PySpark's setting for the kind of connection. Only the usual kind can be cleaned."""


#: The services that this process has started. They may run longer than this process. The list keeps
#: their objects, because Python would warn when such an object is deleted.
_STARTED: Final[list["subprocess.Popen[bytes]"]] = []


class NoDriver(Exception):
    """Raised if the service cannot be used. The text says why."""


class ServiceState(NamedTuple):
    """The content of the service's state file."""

    pid: int
    began: int
    """The start time of the process. Another process may have the same process id later."""
    port: int
    token: str
    fingerprint: str
    user: int
    """The process id of the user who has the JVM or waits for it. 0 if there is no user."""


class Loan:
    """A loan of the warm JVM to one user. The loan ends with `close`, or with this process."""

    def __init__(
        self, connection: socket.socket, service: int, answer: Mapping[str, object]
    ) -> None:
        self._connection = connection
        self.service = service
        """The process id of the service. The JVM is a child of it."""
        self.jvm = int(str(answer["jvm"]))
        """The process id of the JVM."""
        self.environment: Final[Mapping[str, str]] = {
            "PYSPARK_GATEWAY_PORT": str(answer["port"]),
            "PYSPARK_GATEWAY_SECRET": str(answer["secret"]),
        }
        """The environment variables with which PySpark finds the JVM."""
        self._log = Path(str(answer["log"]))
        self._read = int(str(answer["log_size"]))

    def notices(self) -> list[str]:
        """Return the notices (`notices`) that the JVM's workers have given since the last call. The
        first call returns the notices since the JVM was lent. Notices are read from the service's
        log.
        """
        try:
            with open(self._log, "rb") as log:
                log.seek(self._read)
                new = log.read()
        except OSError:
            return []
        whole = new[: new.rfind(b"\n") + 1]
        self._read += len(whole)
        lines = whole.decode(errors="replace").split("\n")
        return [line.partition(NOTICES)[2] for line in lines if NOTICES in line]

    def kill_jvm(self) -> None:
        """Kill the JVM in the middle of its work."""
        with suppress(ProcessLookupError):
            os.kill(self.jvm, signal.SIGKILL)

    def close(self) -> None:
        """Give the JVM back. The service cleans it."""
        self._connection.close()


class Drivers:
    """Finds, starts and ends the service of one folder."""

    def __init__(self, folder: Path | None = None, idle_s: float | None = None) -> None:
        if folder is None:
            folder = Path(os.environ.get(PLACE) or state_folder() / FOLDER)
        self.folder = folder
        self.problem = ""
        """Why the value of the variable IDLE is wrong, so that no JVM can be kept. Empty if it is
        right.
        """
        try:
            self.idle_s = idle_of(os.environ.get(IDLE, "")) if idle_s is None else idle_s
        except ValueError as error:
            self.idle_s, self.problem = IDLE_S, str(error)

    def running(self) -> ServiceState | None:
        """Return the state that the service has written, or None if the service does not run."""
        try:
            state = ServiceState(**json.loads((self.folder / STATE).read_bytes()))
            os.kill(state.pid, 0)
        except (OSError, ValueError, TypeError):
            return None
        return state if began_at(state.pid) == state.began else None

    def borrow(self) -> Loan | NoDriver:
        """Return the warm JVM, or the reason why there is none. It may take as long as the start of
        a JVM.
        """
        if self.idle_s <= 0:
            return NoDriver(NOT_WANTED)
        if self.problem:
            return NoDriver(self.problem)
        if os.environ.get(_THREADS, "true").lower() != "true":
            return NoDriver(f"{_THREADS} is not true: unset it")
        try:
            with self._locked():
                state, connection = self._service()
            answer = self._answer(connection, state, LENDING)
            if "error" in answer:
                connection.close()
                return NoDriver(str(answer["error"]))
            return Loan(connection, state.pid, answer)
        except NoDriver as error:
            return error
        except (OSError, ValueError, LookupError) as error:
            return NoDriver(f"{type(error).__name__}: {error}")

    def status(self) -> Mapping[str, Any] | None:
        """Return the JVM's state from the service, or None if no service runs."""
        return self._ask("status")

    def end(self) -> Mapping[str, Any] | None:
        """End the service, wait for its end, and return its answer. If a user has the JVM, do not
        wait: the service ends later, when that user leaves, and `in_use` in the answer is true.
        Return None if no service runs.
        """
        state, answer = self.running(), self._ask("end")
        if state is not None and answer is not None and not answer["in_use"]:
            limit = StartLimit([state.pid], ANSWERING)
            while (now := self.running()) is not None and now.pid == state.pid:
                time.sleep(LOOK_EVERY_S / 10)  # not our child: nothing reports its end
                if limit.is_over():
                    self._give_up(state)
        return answer

    def _ask(self, question: str) -> Mapping[str, Any] | None:
        state = self.running()
        if state is None:
            return None
        try:
            with self._connect(state, question) as connection:
                return self._answer(connection, state, ANSWERING)
        except (NoDriver, OSError, ValueError):
            return None

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let only one process at a time look for the service and start it."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _service(self) -> tuple[ServiceState, socket.socket]:
        """Request the JVM from the service, and return the service's state and the connection. If
        the service is dead or has a different version, start a new one. Raises NoDriver and
        OSError.
        """
        state = self.running()
        if state is not None and state.fingerprint != fingerprint():
            self.end()  # its current user keeps it until the user leaves
            state = None
        if state is not None:
            with suppress(OSError):
                return state, self._connect(state, "lend")
        state = self._start()
        return state, self._connect(state, "lend")

    def _connect(self, state: ServiceState, question: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", state.port))
        try:
            said: dict[str, object] = {"token": state.token, "ask": question}
            if question == "lend":
                said |= {"idle_s": self.idle_s, "pid": os.getpid()}
            connection.sendall(json.dumps(said).encode() + b"\n")
        except OSError:
            connection.close()
            raise
        return connection

    def _start(self) -> ServiceState:
        """Start the service, and wait until it listens. Raises NoDriver and OSError."""
        environment = {
            name: value
            for name, value in python_environment().items()
            if not name.startswith(_PRIVATE)
        }
        with open(self.folder / LOG, "wb", opener=_private) as log:
            process = subprocess.Popen(
                [*python_command(MODULE, str(self.folder)), f"{self.idle_s}", fingerprint()],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        _STARTED.append(process)
        limit = StartLimit([process.pid], ANSWERING)
        while (state := self.running()) is None or state.pid != process.pid:
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(LOOK_EVERY_S / 10)
                raise NoDriver(f"the service ended with {code}; see {self.folder / LOG}")
            if limit.is_over():
                process.kill()
                process.wait()
                raise NoDriver(f"the service did not start; see {self.folder / LOG}")
        return state

    def _answer(
        self, connection: socket.socket, state: ServiceState, allowance: Allowance
    ) -> Mapping[str, Any]:
        """Return the service's answer. If the service hangs, kill it, so that the next user gets a
        new service. Raises NoDriver, OSError and ValueError.
        """
        limit = StartLimit([state.pid], allowance)
        said = b""
        while not said.endswith(b"\n"):
            if select.select([connection], [], [], LOOK_EVERY_S)[0]:
                more = connection.recv(65536)
                if not more:
                    connection.close()
                    raise NoDriver("the service has ended")
                said += more
            elif limit.is_over():
                connection.close()
                self._give_up(state)
                raise NoDriver("the service did not answer")
        answer: Mapping[str, Any] = json.loads(said)
        return answer

    def _give_up(self, state: ServiceState) -> None:
        """Kill a service that hangs. Remove its state file, unless the file is a newer
        service's.
        """
        _kill(state.pid)
        file = self.folder / STATE
        with suppress(OSError, ValueError, LookupError):
            if json.loads(file.read_bytes())["pid"] == state.pid:
                file.unlink()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _kill(pid: int) -> None:
    """Kill the service, unless its process id now belongs to another program."""
    shown = subprocess.run(
        ["ps", "-ww", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    if MODULE in shown:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def fingerprint() -> str:
    """Return a hash of the Python, PySpark, code and JVM settings of this process. Two processes
    can use the same JVM only if their hashes are equal.
    """
    parts: Sequence[str] = (
        sys.executable,
        *_pyspark(),
        *(f"{name}={value}" for name, value in sorted(_settings().items())),
        *(_version(Path(__file__).with_name(f"{name}.py")) for name in _CODE),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def _pyspark() -> tuple[str, str]:
    """Return PySpark's version, and the path, time and size of its main file. PySpark on the
    PYTHONPATH has no version.
    """
    found = importlib.util.find_spec("pyspark")
    try:
        version = importlib.metadata.version("pyspark")
    except importlib.metadata.PackageNotFoundError:
        version = ""
    return version, "" if found is None or found.origin is None else _version(Path(found.origin))


def _version(file: Path) -> str:
    """Return the path, the time and the size of a file, which change with its content."""
    stat = file.stat()
    return f"{file} {stat.st_mtime_ns} {stat.st_size}"


def _settings() -> Mapping[str, str]:
    """Return the environment variables with settings of Spark and Java. For variables that this
    program sets later (`connectors.set_environment`), return the later value.
    """
    ours = {
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_SUBMIT_OPTS": JVM_OPTIONS,
    }
    users = {
        name: value
        for name, value in os.environ.items()
        if name.startswith(_SETTINGS) and not name.startswith(_ADDRESS)
    }
    return ours | users
