"""The service with a warm JVM, and the processes that use it. The tests use Python objects instead
of JVMs.
"""

import asyncio
import importlib.metadata
import itertools
import json
import logging
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from click.testing import CliRunner

from exercises import spark_command
from kafka_edu.common.busy_machine import began_at
from kafka_edu.common.user_files import write_private_json
from kafka_edu.spark import driver_client, java_gateway
from kafka_edu.spark.driver_client import Drivers, Loan, NoDriver
from kafka_edu.spark.driver_keeper import BUSY, IDLE, DriverKeeper
from kafka_edu.spark.driver_service import (
    LOG_FORMAT,
    DriverService,
    idle_s_in,
    serve_and_exit,
)
from kafka_edu.spark.java_gateway import SparkStartError

pytest.importorskip("pyspark", reason="PySpark is not installed: ./kafka-edu setup spark")

TOKEN = "secret"


class Limit:
    """A limit that is over when the test says so."""

    def __init__(self, over: threading.Event) -> None:
        self._over = over

    def is_over(self) -> bool:
        return self._over.is_set()


class FakeJvm:
    """Stands for a JVM. `clean` waits as long as the JVM is stuck."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.history: list[str] = []
        self._news = threading.Condition()
        self.stuck = threading.Event()
        self.too_long = threading.Event()
        self.killed = threading.Event()
        self.dies = threading.Event()
        """Whether the JVM ends in the middle of its next cleaning, which does not notice it."""
        self._gone = threading.Event()

    def clean(self) -> None:
        if self.stuck.is_set():
            self.too_long.set()
            self.killed.wait()
        if self.dies.is_set():
            self.killed.set()
            self._gone.wait()  # until the service has noticed it
            return
        if self.killed.is_set():
            raise ConnectionError("there is no JVM")
        self._note("cleaned")

    def _note(self, what: str) -> None:
        with self._news:
            self.history.append(what)
            self._news.notify_all()

    def wait_until_clean(self) -> None:
        """Wait until the JVM has been cleaned after its last loan."""
        with self._news:
            self._news.wait_for(lambda: self.history[-1:] == ["cleaned"])

    def limit(self) -> Limit:
        return Limit(self.too_long)

    def kill(self) -> None:
        self.killed.set()
        self._gone.set()

    def wait(self) -> int:
        self.killed.wait()
        return 0

    def lent(self) -> Mapping[str, object]:
        self._note("lent")
        return {"jvm": self.pid, "port": 1, "secret": "s"}


def state_of(pid: int, port: int, user: int = 0) -> dict[str, object]:
    """The state that a service of this version writes."""
    return {
        "pid": pid,
        "began": began_at(pid),
        "port": port,
        "token": TOKEN,
        "fingerprint": driver_client.fingerprint(),
        "user": user,
    }


class Service:
    """The service in a thread of this process. Its JVMs are only Python objects."""

    def __init__(self, folder: Path) -> None:
        self.jvms: list[FakeJvm] = []
        self.refuse = ""
        self._listens = threading.Event()
        self._folder = folder
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def start_jvm(self) -> FakeJvm:
        if self.refuse:
            raise SparkStartError(self.refuse)
        self.jvms.append(FakeJvm(1000 + len(self.jvms)))
        return self.jvms[-1]

    async def _run(self) -> None:
        log = self._folder / "log"
        self._service = DriverService(DriverKeeper(0.0, 1e12), self.start_jvm, TOKEN, log)
        self._loop = asyncio.get_running_loop()
        await self._service.run(self._note)

    def _note(self, port: int, user: int) -> None:
        write_private_json(self._folder / "state.json", state_of(os.getpid(), port, user))
        self._listens.set()

    def __enter__(self) -> "Service":
        self._thread.start()
        self._listens.wait()
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(RuntimeError):  # the service has ended already
            self._loop.call_soon_threadsafe(self._service.end)
        self.join()

    def join(self) -> None:
        """Wait until the service has ended."""
        self._thread.join()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with Service(tmp_path) as service:
        yield service


@pytest.fixture
def drivers(tmp_path: Path) -> Drivers:
    return Drivers(tmp_path, idle_s=60.0)


def test_the_process_id_of_a_service_may_be_another_programs(drivers: Drivers) -> None:
    state = state_of(os.getpid(), 1)
    file = drivers.folder / "state.json"
    file.write_text(json.dumps(state), encoding="utf-8")
    assert drivers.running() is not None
    began = int(str(state["began"]))
    if not began:
        pytest.skip("this system does not say when a process began")
    file.write_text(json.dumps({**state, "began": began - 1}), encoding="utf-8")
    assert drivers.running() is None


def test_a_variable_that_keeps_the_jvm_from_being_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused() -> str:
        answer = Drivers(tmp_path / "none").borrow()
        assert isinstance(answer, NoDriver)
        assert not (tmp_path / "none").exists(), "no service was started"
        return str(answer)

    monkeypatch.setenv(IDLE, "10m")
    assert refused().startswith(f"{IDLE} is '10m', which is not a number of seconds: set it to one")
    monkeypatch.setattr(spark_command, "Drivers", lambda: Drivers(tmp_path / "none"))
    for word, code in (("up", 1), ("status", 0), ("down", 0)):
        result = CliRunner().invoke(spark_command.spark, [word])
        assert result.exit_code == code, result.output
    monkeypatch.delenv(IDLE)
    monkeypatch.setenv("PYSPARK_PIN_THREAD", "false")
    assert refused() == "PYSPARK_PIN_THREAD is not true: unset it"


def test_a_service_is_of_this_version_and_of_these_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = driver_client.fingerprint()
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    assert driver_client.fingerprint() == first, "these are set by this program itself"
    found = {first}
    for name in ("SPARK_CONF_DIR", "PYSPARK_PIN_THREAD", "HADOOP_HOME", "JDK_JAVA_OPTIONS"):
        monkeypatch.setenv(name, "other")
        found.add(driver_client.fingerprint())
    assert len(found) == 5

    def missing(_: str) -> str:
        raise importlib.metadata.PackageNotFoundError

    with monkeypatch.context() as patch:
        patch.setattr(importlib.metadata, "version", missing)
        found.add(driver_client.fingerprint())
    monkeypatch.setattr(driver_client, "_CODE", ("driver_client", "warm_jvm"))
    found.add(driver_client.fingerprint())
    assert len(found) == 7, "PySpark on the PYTHONPATH; other code"


@contextmanager
def borrowed(drivers: Drivers) -> Iterator[Loan]:
    """The warm JVM, as long as the block runs."""
    loan = drivers.borrow()
    assert isinstance(loan, Loan), loan
    try:
        yield loan
    finally:
        loan.close()


def test_one_jvm_serves_one_user_after_the_other(service: Service, drivers: Drivers) -> None:
    for _ in range(3):
        with borrowed(drivers) as loan:
            assert loan.environment == {"PYSPARK_GATEWAY_PORT": "1", "PYSPARK_GATEWAY_SECRET": "s"}
            assert (loan.jvm, loan.service) == (1000, os.getpid())
    (jvm,) = service.jvms
    jvm.wait_until_clean()
    steps = [step for step, _ in itertools.groupby(jvm.history)]
    assert steps == ["cleaned", "lent"] * 3 + ["cleaned"], "clean for each user, and at the end"


def test_a_second_user_at_once_gets_none(service: Service, drivers: Drivers) -> None:
    with borrowed(drivers):
        refused = drivers.borrow()
        assert isinstance(refused, NoDriver)
        assert str(refused) == BUSY
    with borrowed(drivers):
        assert len(service.jvms) == 1


def test_a_dead_jvm_is_replaced(service: Service, drivers: Drivers) -> None:
    with borrowed(drivers):
        service.jvms[0].killed.set()
    with borrowed(drivers) as loan:
        assert loan.jvm == 1001


def test_a_stuck_jvm_is_killed_and_replaced(service: Service, drivers: Drivers) -> None:
    with borrowed(drivers):
        service.jvms[0].stuck.set()
    with borrowed(drivers) as loan:
        assert loan.jvm == 1001
    assert service.jvms[0].killed.is_set()


def test_a_jvm_that_ends_just_after_it_was_cleaned_is_not_lent(
    service: Service, drivers: Drivers
) -> None:
    with borrowed(drivers):
        pass
    service.jvms[0].wait_until_clean()
    service.jvms[0].dies.set()
    with borrowed(drivers) as loan:
        assert loan.jvm == 1001


def test_the_user_is_known_as_long_as_it_waits_or_has_the_jvm(
    service: Service, drivers: Drivers
) -> None:
    def user() -> int:
        state = drivers.running()
        assert state is not None
        return state.user

    assert user() == 0
    service.refuse = "Spark needs Java 17"
    drivers.borrow()
    service.refuse = ""
    with borrowed(drivers):
        assert user() == os.getpid()
        drivers.borrow()
        assert user() == os.getpid(), "another one was refused"
    service.jvms[0].wait_until_clean()
    assert user() == 0


def test_the_idle_time_comes_with_each_user(service: Service, drivers: Drivers) -> None:
    with borrowed(drivers):
        status = drivers.status()
        assert status is not None
        assert status["idle_s"] == 60.0
    for wrong in (float("nan"), float("inf"), "soon"):
        with pytest.raises(ValueError, match=r"idle time|convert"):
            idle_s_in({"idle_s": wrong})


def test_the_notices_of_the_workers_reach_the_user(service: Service, drivers: Drivers) -> None:
    log = drivers.folder / "log"

    def logs(name: str, said: str, end: str = "\n") -> None:
        record = logging.LogRecord(name, logging.WARNING, "", 0, said, None, None)
        with log.open("a", encoding="utf-8") as file:
            file.write(logging.Formatter(LOG_FORMAT).format(record) + end)

    logs(java_gateway.__name__, "for a user before")
    with borrowed(drivers) as loan:
        assert loan.notices() == []
        logs(java_gateway.__name__, "records are lost: 5")
        logs("kafka_edu.spark.driver_service", "no notice")
        logs(java_gateway.__name__, "half a", end="")
        assert loan.notices() == ["records are lost: 5"]
        log.open("a", encoding="utf-8").write(" line\n")
        assert loan.notices() == ["half a line"]
        log.unlink()
        assert loan.notices() == []


def test_a_jvm_that_does_not_start(service: Service, drivers: Drivers) -> None:
    service.refuse = "Spark needs Java 17"
    refused = drivers.borrow()
    assert isinstance(refused, NoDriver)
    assert str(refused) == "Spark needs Java 17"
    service.refuse = ""
    with borrowed(drivers) as loan:
        assert loan.jvm == 1000


def test_the_status_and_the_end(service: Service, drivers: Drivers) -> None:
    status = drivers.status()
    assert status is not None
    assert (status["state"], status["jvm"], status["in_use"]) == ("none", None, False)
    with borrowed(drivers):
        status = drivers.status()
        assert status is not None
        assert (status["state"], status["jvm"], status["loans"]) == ("lent", 1000, 1)
        assert drivers.end() == {"in_use": True}
    service.join()
    assert service.jvms[0].killed.is_set()
    assert drivers.status() is None


def test_the_commands_say_what_runs_and_end_it(
    service: Service, drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spark_command, "Drivers", lambda: drivers)
    monkeypatch.setattr(spark_command, "rss_anon", lambda _: 3 << 20)

    def said(word: str) -> str:
        result = CliRunner().invoke(spark_command.spark, [word])
        assert result.exit_code == 0
        return result.output

    assert said("status").startswith("Spark's JVM does not run now. It ends after ")
    with borrowed(drivers):
        assert said("status").startswith("Spark's JVM is in use (process 1000, ")
        assert said("status").count(" MB of memory; times lent: 1). It ends after ") == 1
        assert said("down") == "A check uses Spark's JVM. The JVM ends with that check.\n"
    service.join()
    assert said("status") == ("No JVM of Spark is kept. The next check of a Spark lab starts it.\n")
    assert said("down") == "No JVM of Spark is kept.\n"


def test_a_user_without_the_token_gets_no_answer(service: Service, drivers: Drivers) -> None:
    state = drivers.running()
    assert state is not None
    for said in (b'{"token": "guess", "ask": "lend"}\n', b"GET / HTTP/1.1\n", b"\n", b"[]\n"):
        with socket.create_connection(("127.0.0.1", state.port)) as connection:
            connection.sendall(said)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""
    assert service.jvms == []


def test_no_idle_time_means_no_warm_jvm(tmp_path: Path) -> None:
    refused = Drivers(tmp_path / "none", idle_s=0.0).borrow()
    assert isinstance(refused, NoDriver)
    assert not (tmp_path / "none").exists()


def test_the_service_starts_by_itself_and_its_state_is_private(
    drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_client, "MODULE", f"{__name__}")
    monkeypatch.setenv("KAFKA_EDU_LEARNER_RESULTS", "/tmp/results")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    with borrowed(drivers):
        state = drivers.running()
        assert state is not None
        assert stat.S_IMODE((drivers.folder / "state.json").stat().st_mode) == 0o600
    os.kill(state.pid, signal.SIGKILL)
    os.waitpid(state.pid, 0)
    with borrowed(drivers) as loan:
        assert loan.service != state.pid, "a dead service is replaced"
    monkeypatch.setenv("SPARK_SUBMIT_OPTS", "-Xmx9g")
    with borrowed(drivers) as other:
        assert other.service != loan.service, "its JVM has other options"
        assert drivers.end() == {"in_use": True}
    os.waitpid(loan.service, 0)
    os.waitpid(other.service, 0)
    assert drivers.running() is None
    assert not (drivers.folder / "state.json").exists()


def test_a_service_that_hangs_is_killed(drivers: Drivers, monkeypatch: pytest.MonkeyPatch) -> None:
    asleep = subprocess.Popen(
        [sys.executable, "-c", "input()", driver_client.MODULE], stdin=subprocess.PIPE
    )
    with socket.create_server(("127.0.0.1", 0)) as silent:
        state = state_of(asleep.pid, silent.getsockname()[1])
        (drivers.folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
        over = threading.Event()
        over.set()
        monkeypatch.setattr(driver_client, "StartLimit", lambda *_: Limit(over))
        refused = drivers.borrow()
    assert isinstance(refused, NoDriver)
    assert str(refused) == "the service did not answer"
    assert not (drivers.folder / "state.json").exists(), "the next user does not wait for it"
    assert asleep.wait() == -signal.SIGKILL
    assert asleep.stdin is not None
    asleep.stdin.close()


def test_the_service_does_not_wait_for_a_jvm_that_starts(
    drivers: Drivers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver_client, "MODULE", f"{__name__}")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    monkeypatch.setenv("A_JVM_THAT_NEVER_STARTS", "1")
    states: list[object] = []
    user = threading.Thread(target=lambda: states.append(drivers.borrow()))
    user.start()
    while (status := drivers.status()) is None or status["state"] != "starting":
        user.join(0.01)
        assert user.is_alive(), states
    state = drivers.running()
    assert state is not None
    (service,) = [one for one in driver_client._STARTED if one.pid == state.pid]
    service.terminate()
    try:
        assert service.wait(60) == 0
    finally:
        service.kill()
        user.join()
    assert str(states[0]) == "the service has ended"


if __name__ == "__main__":  # the service, with a JVM that is none
    from kafka_edu.spark import warm_jvm

    assert "KAFKA_EDU_LEARNER_RESULTS" not in os.environ

    def start(_: Path) -> FakeJvm:
        if "A_JVM_THAT_NEVER_STARTS" in os.environ:
            threading.Event().wait()
        return FakeJvm(os.getpid())

    vars(warm_jvm)["start_warm_jvm"] = start
    asyncio.run(serve_and_exit(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]))
