"""The service with a warm JVM, and the processes that use it. A JVM of Python stands for Java's."""

import asyncio
import itertools
import json
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
from kafka_edu.spark import driver_client
from kafka_edu.spark.driver_client import Drivers, Loan, NoDriver
from kafka_edu.spark.driver_keeper import BUSY, DriverKeeper
from kafka_edu.spark.driver_service import DriverService, serve
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

    def clean(self) -> None:
        if self.stuck.is_set():
            self.too_long.set()
            self.killed.wait()
        if self.killed.is_set():
            raise ConnectionError("there is no JVM")
        self._note("cleaned")

    def _note(self, what: str) -> None:
        with self._news:
            self.history.append(what)
            self._news.notify_all()

    def wait_until_clean(self) -> None:
        """Wait until the JVM was cleaned after it was lent the last time."""
        with self._news:
            self._news.wait_for(lambda: self.history[-1:] == ["cleaned"])

    def limit(self) -> Limit:
        return Limit(self.too_long)

    def kill(self) -> None:
        self.killed.set()

    def wait(self) -> int:
        self.killed.wait()
        return 0

    def lent(self) -> Mapping[str, object]:
        self._note("lent")
        return {"jvm": self.pid, "port": 1, "secret": "s"}


class Service:
    """The service in a thread of this process, with JVMs that are none."""

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
        self._service = DriverService(DriverKeeper(0.0, 1e12), self.start_jvm, TOKEN)
        self._loop = asyncio.get_running_loop()
        await self._service.run(self._listening)

    def _listening(self, port: int) -> None:
        state = {
            "pid": os.getpid(),
            "port": port,
            "token": TOKEN,
            "fingerprint": driver_client.fingerprint(),
        }
        (self._folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
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
        state = {
            "pid": asleep.pid,
            "port": silent.getsockname()[1],
            "token": TOKEN,
            "fingerprint": driver_client.fingerprint(),
        }
        (drivers.folder / "state.json").write_text(json.dumps(state), encoding="utf-8")
        over = threading.Event()
        over.set()
        monkeypatch.setattr(driver_client, "StartLimit", lambda *_: Limit(over))
        refused = drivers.borrow()
    assert isinstance(refused, NoDriver)
    assert str(refused) == "the service did not answer"
    assert asleep.wait() == -signal.SIGKILL
    assert asleep.stdin is not None
    asleep.stdin.close()


if __name__ == "__main__":  # the service, with a JVM that is none
    from kafka_edu.spark import warm_jvm

    assert "KAFKA_EDU_LEARNER_RESULTS" not in os.environ
    vars(warm_jvm)["start_warm_jvm"] = lambda _: FakeJvm(os.getpid())
    asyncio.run(serve(Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3]))
