"""The peer: a real Apache Kafka cluster from Maven's jars, on loopback, in a folder of its own, gone when the block ends.

The jars are looked for in KAFKA_EDU_KAFKA_JARS (a folder of jars), and else fetched once by Maven into the user's cache (about 40 MB).
Nothing of Apache Kafka is part of this project.
"""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

VERSION = "2.8.2"

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>peer</groupId><artifactId>peer</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>{VERSION}</version></dependency>
</dependencies></project>"""


class PeerMissing(Exception):
    """Apache Kafka cannot be run here; says what to install."""


def kafka_jars() -> Path:
    """The folder of Apache Kafka's jars. Raises PeerMissing when there is no Java, or no jars and no Maven to fetch them."""
    if shutil.which("java") is None:
        raise PeerMissing("Apache Kafka needs Java 8 or later on the PATH (Debian: apt-get install default-jre-headless)")
    given = os.environ.get("KAFKA_EDU_KAFKA_JARS")
    if given:
        if not any(Path(given).glob("kafka-clients-*.jar")):
            raise PeerMissing(f"KAFKA_EDU_KAFKA_JARS is {given}, where there is no kafka-clients-*.jar")
        return Path(given)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafka-edu" / f"apache-kafka-{VERSION}"
    if not (cache / "complete").exists():
        if shutil.which("mvn") is None:
            raise PeerMissing("set KAFKA_EDU_KAFKA_JARS to a folder of Apache Kafka's jars, or install Maven (mvn) to have them fetched (40 MB)")
        cache.mkdir(parents=True, exist_ok=True)
        (cache / "pom.xml").write_text(_POM)
        command = ["mvn", "-q", "-B", "-f", str(cache / "pom.xml"), "dependency:copy-dependencies", f"-DoutputDirectory={cache / 'jars'}"]
        subprocess.run(command, check=True)
        (cache / "complete").touch()
    return cache / "jars"


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def run_tool(jars: Path, *command: str, heap: str = "512m") -> str:
    """Run one of Kafka's Java tools to its end; returns what it printed. Raises CalledProcessError."""
    java = ["java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseG1GC", "-cp", f"{jars}/*", *command]
    return subprocess.run(java, check=True, text=True, capture_output=True).stdout


class ApacheKafka:
    """ZooKeeper and `brokers` brokers; `bootstrap` when they are up."""

    def __init__(self, jars: Path, brokers: int = 3, properties: Sequence[str] = (), heap: str = "1g") -> None:
        self.jars = jars
        self.bootstrap = ""
        self._brokers = brokers
        self._properties = properties
        self._heap = heap
        self._root = Path(tempfile.mkdtemp(prefix="kafka-edu-peer-"))
        self._processes: list[subprocess.Popen[bytes]] = []

    def _spawn(self, name: str, main: str, heap: str, properties: dict[str, object]) -> subprocess.Popen[bytes]:
        path = self._root / f"{name}.properties"
        path.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
        log4j = self._root / "log4j.properties"
        log4j.write_text(
            "log4j.rootLogger=WARN,o\nlog4j.appender.o=org.apache.log4j.ConsoleAppender\nlog4j.appender.o.layout=org.apache.log4j.SimpleLayout\n"
        )
        out: IO[bytes]
        with open(self._root / f"{name}.out", "wb") as out:
            java = ["java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseG1GC", f"-Dlog4j.configuration=file:{log4j}", "-cp", f"{self.jars}/*"]
            process = subprocess.Popen([*java, main, str(path)], stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self._processes.append(process)
        return process

    def _await_port(self, name: str, process: subprocess.Popen[bytes], port: int, limit_s: float = 60) -> None:
        end = time.monotonic() + limit_s
        while time.monotonic() < end:
            if process.poll() is not None:
                raise PeerMissing(f"{name} ended with {process.returncode}: {(self._root / f'{name}.out').read_text()[-2000:]}")
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            time.sleep(0.05)
        raise PeerMissing(f"{name} does not listen after {limit_s} s")

    def up(self) -> None:
        """Start everything; returns when each broker listens."""
        zk_port = free_port()
        zk = self._spawn(
            "zookeeper",
            "org.apache.zookeeper.server.quorum.QuorumPeerMain",
            "256m",
            {"dataDir": self._root / "zk", "clientPort": zk_port, "clientPortAddress": "127.0.0.1", "admin.enableServer": "false", "tickTime": 500},
        )
        self._await_port("zookeeper", zk, zk_port)
        ports = [free_port() for _ in range(self._brokers)]
        rf = min(3, self._brokers)
        for broker, port in enumerate(ports):
            properties: dict[str, object] = {
                "broker.id": broker,
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "zookeeper.connect": f"127.0.0.1:{zk_port}",
                "log.dirs": self._root / f"data-{broker}",
                "offsets.topic.replication.factor": rf,
                "offsets.topic.num.partitions": 5,
                "group.initial.rebalance.delay.ms": 0,
            }
            for line in self._properties:
                key, _, value = line.partition("=")
                properties[key] = value
            self._spawn(f"broker-{broker}", "kafka.Kafka", self._heap, properties)
        for broker, port in enumerate(ports):
            self._await_port(f"broker-{broker}", self._processes[broker + 1], port)
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports)

    def down(self) -> None:
        """Kill everything and remove the folder."""
        for process in self._processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        for process in self._processes:
            process.wait()
        shutil.rmtree(self._root, ignore_errors=True)


@contextlib.contextmanager
def apache_kafka(jars: Path, brokers: int = 3, properties: Sequence[str] = ()) -> Iterator[ApacheKafka]:
    """A running Apache Kafka for the time of the block."""
    kafka = ApacheKafka(jars, brokers, properties)
    try:
        kafka.up()
        yield kafka
    finally:
        kafka.down()
