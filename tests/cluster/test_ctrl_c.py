"""Ctrl-C at a terminal: one line, exit code 130, and no process is left.

The tests send Ctrl-C when the command's output or files show that it has reached a certain moment.
Like a terminal, they send SIGINT to all processes of the command's process group.
"""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kafka_edu.common.python_process import checkout
from kafka_edu.supervisor.cluster import Cluster, running_cluster
from tests.cluster.processes import (
    children_of,
    cpu_seconds,
    processes_of,
    wait_until_gone,
    wait_until_none,
)
from tests.waiting import wait_for

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        not Path("/proc/self/stat").exists(), reason="these tests look for processes in /proc"
    ),
]


_STYLE = re.compile(r"\x1b\[[0-9;]*m")


class Command:
    """`./kafka-edu …` in a process group of its own."""

    def __init__(
        self,
        home: Path,
        *arguments: str,
        stdin: int = subprocess.DEVNULL,
        environment: dict[str, str] | None = None,
    ) -> None:
        root = checkout()
        assert root is not None
        env = (
            os.environ
            | {"KAFKA_EDU_HOME": str(home), "KAFKA_EDU_VENV": sys.prefix, "PYTHONUNBUFFERED": "1"}
            | (environment or {})
        )
        self._output = home.parent / f"{home.name}.out"
        with self._output.open("wb") as output:
            self.process = subprocess.Popen(
                [str(root / "kafka-edu"), *arguments],
                stdin=stdin,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._output.read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[int]:
        """Return the processes that the command has started. The shell script that becomes the
        command first starts processes such as `readlink`, which do not count.
        """
        program = os.readlink(f"/proc/{self.process.pid}/exe")
        return children_of(self.process.pid) if "python" in Path(program).name else []

    def wait_for(self, moment: Callable[[], object], what: str) -> None:
        def reached() -> bool:
            return bool(moment()) or self.process.poll() is not None

        wait_for(reached, lambda: f"{what} is not there yet: {self.output}")
        assert self.process.poll() is None, self.output

    def wait_for_output(self, pattern: str) -> None:
        self.wait_for(lambda: re.search(pattern, self.output), pattern)

    def interrupt(self) -> tuple[int, str]:
        """Send Ctrl-C. Return the exit code and the output after it."""
        before = len(self.output)
        os.killpg(self.process.pid, signal.SIGINT)
        code = self.process.wait(120)
        return code, self.output[before:]


def assert_stopped(home: Path, code: int, said: str) -> None:
    assert code == 130, said
    assert "Traceback" not in said
    assert "Exception" not in said
    assert [line for line in _STYLE.sub("", said).splitlines() if line.strip()][-1] == "stopped"
    wait_until_none(str(home))
    assert not processes_of(str(home))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


DEMOS = [
    (["demo"], "cluster demo ready"),
    (["demo"], "topic web: "),
    (["demo"], "kill -9"),
    (["demo", "kills"], "."),
    (["demo", "eight-rules"], "."),
    (["demo", "follower-fetch"], "."),
    (["demo", "shutdown"], "."),
    (["demo", "transactions"], "."),
    (["demo", "watches"], "."),
    (["demo", "control-plane"], "."),
    (["demo", "proxy"], "."),
    (["chapter", "02", "--fast", "--plain"], "A second timer"),
]


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    DEMOS,
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_in_the_middle_of_what_it_shows(home: Path, arguments: list[str], pattern: str) -> None:
    command = Command(home, *arguments)
    command.wait_for_output(pattern)
    assert_stopped(home, *command.interrupt())


def test_a_benchmark_with_a_process_beside_it(home: Path) -> None:
    command = Command(home, "bench", "file-to-socket", "--repeats", "1000000")
    command.wait_for(command.children, "the reader")
    reader = command.children()
    code, said = command.interrupt()
    assert_stopped(home, code, said)
    wait_until_gone(reader)


def test_a_benchmark_that_only_counts(home: Path) -> None:
    """This benchmark prints nothing until it is done. So the test gives it very much work, and
    interrupts it after two seconds of CPU time.
    """
    command = Command(home, "bench", "codecs", "--repeats", "1000000")
    command.wait_for(lambda: cpu_seconds(command.process.pid) > 2, "two seconds of work")
    assert_stopped(home, *command.interrupt())


def test_a_demo_that_waits_for_ps(home: Path) -> None:
    tools = home / "bin"
    tools.mkdir()
    ps = tools / "ps"
    ps.write_text(f"#!/bin/sh\n: >{home}/asked\nexec sleep 600\n")
    ps.chmod(0o755)
    command = Command(
        home, "demo", "ps-pitfall", environment={"PATH": f"{tools}:{os.environ['PATH']}"}
    )
    command.wait_for((home / "asked").exists, "ps")
    assert_stopped(home, *command.interrupt())


@pytest.mark.parametrize("file", ["supervisor.log", "broker-0/broker.log", "broker-2/events.json"])
def test_while_a_cluster_starts(home: Path, file: str) -> None:
    """The cluster's ZooKeeper accepts connections but answers nothing. So the cluster never gets
    ready, and Ctrl-C always comes during the start.
    """
    with socket.create_server(("127.0.0.1", 0)) as silent:
        zookeeper = f"127.0.0.1:{silent.getsockname()[1]}"
        words = ("cluster", "up", "--cluster", "hasty", "--zookeeper", zookeeper)
        command = Command(home, *words)
        command.wait_for(lambda: (home / "clusters" / "hasty" / file).exists(), file)
        assert_stopped(home, *command.interrupt())


def test_while_a_cluster_with_its_zookeeper_starts(home: Path) -> None:
    command = Command(home, "cluster", "up", "--cluster", "hasty")
    log = home / "clusters" / "hasty" / "supervisor.log"
    command.wait_for(log.exists, "the supervisor's log")
    assert_stopped(home, *command.interrupt())


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with running_cluster(
        "ctrl-c",
        brokers=1,
        props={"offsets.topic.replication.factor": "1", "offsets.topic.num.partitions": "1"},
    ) as cluster:
        yield cluster


def test_console_clients(home: Path, cluster: Cluster) -> None:
    servers = cluster.bootstrap_servers
    producer = Command(
        home, "console-producer", "--broker-list", servers, "--topic", "t", stdin=subprocess.PIPE
    )
    assert producer.process.stdin is not None
    producer.process.stdin.write(b"one\n")
    producer.process.stdin.flush()
    consumer_home = home.parent / "consumer"
    consumer_home.mkdir()
    consumer = Command(
        consumer_home,
        "console-consumer",
        "--bootstrap-server",
        servers,
        "--topic",
        "t",
        "--from-beginning",
    )
    producer.wait_for_output(">>")
    assert_stopped(home, *producer.interrupt())
    consumer.wait_for_output("one")
    code, said = consumer.interrupt()
    assert code == 130
    assert said.endswith("Processed a total of 1 messages\n")  # Kafka's own line replaces ours
    wait_until_none(str(consumer_home))
    producer.process.stdin.close()


def test_a_proxy(home: Path, cluster: Cluster) -> None:
    command = Command(
        home, "proxy", "--listen", "127.0.0.1:0", "--target", cluster.bootstrap_servers
    )
    command.wait_for_output("127.0.0.1:")
    code, said = command.interrupt()
    assert code in (0, 130)
    assert "Traceback" not in said


def test_the_test_suite(home: Path) -> None:
    command = Command(home, "test", "tests/unit/log")
    command.wait_for_output("%")
    code, said = command.interrupt()
    assert code == 130, said
    assert "Traceback" not in said
    assert "KeyboardInterrupt" not in said
    assert re.search(r"!+ .*by Ctrl-C !+\n=+ \d+ passed.* =+\n$", said), said


_INTERRUPTED_IN_ITS_SET_UP = """
import os, signal
import pytest

@pytest.fixture
def interrupted(tmp_path):
    os.kill(os.getpid(), signal.SIGINT)

def test_nothing(interrupted):
    pass
"""


def test_the_set_up_of_a_test(tmp_path: Path) -> None:
    """Ctrl-C comes in a fixture, after pytest's fixture `tmp_path` was set up."""
    file = tmp_path / "test_interrupted.py"
    file.write_text(_INTERRUPTED_IN_ITS_SET_UP)
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.conftest", "-q", str(file)],
        cwd=checkout(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == pytest.ExitCode.INTERRUPTED
    assert "by Ctrl-C !!!" in ended.stdout
    assert "KeyError" not in ended.stdout + ended.stderr


def test_a_set_up(home: Path) -> None:
    """Ctrl-C comes while an installer, which never returns, fetches packages."""
    tools = home / "bin"
    tools.mkdir()
    uv = tools / "uv"
    uv.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && exit 0\necho installing {home}\nexec sleep 600\n'
    )
    uv.chmod(0o755)
    venv = home / "venv"
    environment = {"KAFKA_EDU_VENV": str(venv), "PATH": f"{tools}:{os.environ['PATH']}"}
    command = Command(home, "setup", environment=environment)
    command.wait_for_output("installing")
    code, said = command.interrupt()
    assert (code, said) == (
        130,
        "kafka-edu: stopped. Fetched packages are kept, and the next start continues.\n",
    )
    wait_until_none(str(home))
