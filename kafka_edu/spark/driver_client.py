"""Use the warm JVM of Spark's labs, which `driver_service` keeps. Start that service if needed.

There is one service for each user of this machine, in the folder spark-driver of the user's state
(`user_files.state_folder`). `borrow` never fails: if there is no warm JVM to be had, it returns the
reason, and the caller starts a JVM of its own.
"""

import fcntl
import hashlib
import importlib.metadata
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

from kafka_edu.common.busy_machine import Allowance
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.user_files import state_folder
from kafka_edu.spark.driver_keeper import IDLE, IDLE_S
from kafka_edu.spark.driver_service import JVM_OPTIONS, LOG, STATE
from kafka_edu.spark.start_limit import StartLimit

FOLDER: Final = "spark-driver"
MODULE: Final = "kafka_edu.spark.driver_service"
LENDING: Final = Allowance(processor_s=200.0, idle_s=60.0, clock_s=200.0)
"""The limits of the service when it starts a JVM for a user."""
ANSWERING: Final = Allowance(processor_s=60.0, idle_s=20.0, clock_s=60.0)
"""The limits of the service when it starts, or answers a question about itself."""
LOOK_EVERY_S: Final = 0.25
_PRIVATE: Final = ("KAFKA_EDU_LEARNER_", "PYTEST_")
"""The judge's variables. A learner's job could read them in the JVM."""


#: The services that this process has started. They may run longer than this process, and Python
#: would warn about that if it dropped such an object.
_STARTED: Final[list["subprocess.Popen[bytes]"]] = []


class NoDriver(Exception):
    """Raised if the service cannot be used. The text says why."""


class ServiceState(NamedTuple):
    """The content of the service's state file."""

    pid: int
    port: int
    token: str
    fingerprint: str


class Loan:
    """The warm JVM, for one user. It ends with `close`, or with this process."""

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
        """The environment variables by which PySpark finds the JVM."""

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
        self.folder = folder if folder is not None else state_folder() / FOLDER
        self.idle_s = idle_s if idle_s is not None else float(os.environ.get(IDLE) or IDLE_S)

    def running(self) -> ServiceState | None:
        """Return the state that the service has written; None if there is no such process."""
        try:
            state = ServiceState(**json.loads((self.folder / STATE).read_bytes()))
            os.kill(state.pid, 0)
        except (OSError, ValueError, TypeError):
            return None
        return state

    def borrow(self) -> Loan | NoDriver:
        """Return the warm JVM, or the reason why there is none. It may take as long as the start of
        a JVM.
        """
        if self.idle_s <= 0:
            return NoDriver(f"{IDLE} is 0")
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
        """Return the state of the JVM as the service reports it; None if no service runs."""
        return self._ask("status")

    def end(self) -> Mapping[str, Any] | None:
        """End the service, and wait for its end. If somebody uses the JVM, it ends after that, and
        the answer's `in_use` is true. Return None if no service runs.
        """
        state, answer = self.running(), self._ask("end")
        if state is not None and answer is not None and not answer["in_use"]:
            limit = StartLimit([state.pid], ANSWERING)
            while self.running() == state:
                time.sleep(LOOK_EVERY_S / 10)  # it is not our child, so nothing reports its end
                if limit.is_over():
                    _kill(state.pid)
                    break
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
        """Return a connection to the service, on which the JVM was asked for. A service of another
        version or a dead one is replaced. Raises NoDriver and OSError.
        """
        state = self.running()
        if state is not None and state.fingerprint != fingerprint():
            self.end()  # its present user keeps it to the end
            state = None
        if state is not None:
            with suppress(OSError):
                return state, self._connect(state, "lend")
        state = self._start()
        return state, self._connect(state, "lend")

    def _connect(self, state: ServiceState, question: str) -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", state.port))
        try:
            connection.sendall(json.dumps({"token": state.token, "ask": question}).encode() + b"\n")
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
        """Return the service's answer. A service that hangs is killed, so the next user gets
        another one. Raises NoDriver, OSError and ValueError.
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
                _kill(state.pid)
                raise NoDriver("the service did not answer")
        answer: Mapping[str, Any] = json.loads(said)
        return answer


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _kill(pid: int) -> None:
    """Kill the service, unless another program has its process id now."""
    shown = subprocess.run(
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout
    if MODULE in shown:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def fingerprint() -> str:
    """Return a short text that is the same for two processes only if one can use the JVM of the
    other: with the same Python, PySpark, code, and options of the JVM.
    """
    parts: Sequence[str] = (
        sys.executable,
        importlib.metadata.version("pyspark"),
        str(Path(__file__)),
        os.environ.get("SPARK_SUBMIT_OPTS", JVM_OPTIONS),
        os.environ.get("JAVA_HOME", ""),
    )
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
