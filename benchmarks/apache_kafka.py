"""Run a real Apache Kafka cluster from Maven's jars, to compare kafka-edu with it.

The cluster runs on loopback in a temporary folder. At the end of the `with` block the cluster is
stopped and its folder is removed.

The jars come from the folder KAFKA_EDU_KAFKA_JARS. If this variable is not set, Maven downloads
them once into the user's cache (about 40 MB). Nothing of Apache Kafka is part of this project.
"""

import asyncio
import contextlib
import itertools
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from kafka_edu.clients.admin.topic_calls import usual_replicas
from kafka_edu.common.maven_jars import PeerMissing as PeerMissing  # For callers too.
from kafka_edu.common.maven_jars import maven_jars, require_java
from kafka_edu.common.ports import free_ports
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.supervisor.child_process import rss_anon
from kafka_edu.supervisor.cluster_spec import HOST
from kafka_edu.supervisor.readiness import wait_until_listed

VERSION: Final = "2.8.2"
#: Version of Apache Kafka → versions of Scala and ZooKeeper. Kafka 2.0.1 runs with a newer
#: ZooKeeper, because the 3.4 client of Kafka 2.0 does not start on Java 17.
RELEASES: Final = {"2.8.2": ("2.13", "3.5.9"), "2.0.1": ("2.12", "3.5.9")}
TOOL_TIMEOUT_S: Final = 300
START_TIMEOUT_S: Final = 120
#: Java options: STRONG for a broker that is measured, SMALL for a broker with little memory.
STRONG: Final = ("-Xms1g", "-Xmx1g", "-XX:+UseG1GC")
SMALL: Final = ("-Xmx192m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_LOG4J: Final = "org.apache.log4j"


def kafka_jars(version: str = VERSION) -> Path:
    """Return the folder with Apache Kafka's jars. Download them if they are missing.

    Raises PeerMissing if there is no Java, or if there are neither jars nor a Maven to download
    them.
    """
    given = os.environ.get("KAFKA_EDU_KAFKA_JARS")
    if given and version == VERSION:
        if not any(Path(given).glob("kafka-clients-*.jar")):
            raise PeerMissing(
                f"KAFKA_EDU_KAFKA_JARS is {given}, where there is no kafka-clients-*.jar"
            )
        require_java()
        return Path(given)
    log = "org.slf4j:slf4j-log4j12:1.7.30"
    scala, zookeeper = RELEASES[version]
    kafka = [
        f"org.apache.kafka:kafka_{scala}:{version}",
        f"org.apache.kafka:kafka-tools:{version}",
        f"org.apache.zookeeper:zookeeper:{zookeeper}",
    ]
    return maven_jars(f"apache-kafka-{version}", [*kafka, log])


def run_tool(jars: Path, *command: str, heap: str = "512m") -> str:
    """Run one of Kafka's Java tools until it ends, and return its output.

    Raises CalledProcessError if it fails, and TimeoutExpired after five minutes.
    """
    java = ["java", f"-Xms{heap}", f"-Xmx{heap}", "-XX:+UseG1GC", "-cp", f"{jars}/*", *command]
    return subprocess.run(
        java, check=True, text=True, capture_output=True, timeout=TOOL_TIMEOUT_S
    ).stdout


class ApacheKafka:
    """A cluster of Apache Kafka with `brokers` brokers, whose ids start at 0.

    `bootstrap` and `ports` are set when the brokers are up. The cluster gets its own ZooKeeper,
    except if `zookeeper` (host:port/chroot) names another one. In `properties`, `{port}` is
    replaced by a broker's port.
    """

    def __init__(
        self,
        jars: Path,
        brokers: int = 3,
        properties: Sequence[str] = (),
        zookeeper: str = "",
        java: Sequence[str] = STRONG,
    ) -> None:
        self.jars = jars
        self.bootstrap = ""
        self._count = brokers
        self._properties = properties
        self._zookeeper = zookeeper
        self._java = java
        self._root = Path(tempfile.mkdtemp(prefix="kafka-edu-peer-"))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.ports: list[int] = []

    @property
    def zookeeper(self) -> str:
        """Address of the cluster's ZooKeeper, as host:port/chroot."""
        return self._zookeeper

    def _spawn(self, name: str, main: str, java: Sequence[str]) -> None:
        """Start the Java class `main` with the properties file that `_write` wrote for `name`."""
        command = [
            "java",
            *java,
            f"-Dlog4j.configuration=file:{self._root}/log4j.properties",
            "-cp",
            f"{self.jars}/*",
            main,
        ]
        with open(self._root / f"{name}.out", "ab") as out:
            self._processes[name] = subprocess.Popen(
                [*command, str(self._root / f"{name}.properties")],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _write(self, name: str, properties: Mapping[str, object]) -> None:
        (self._root / f"{name}.properties").write_text(
            "".join(f"{key}={value}\n" for key, value in properties.items())
        )

    def _await_port(self, name: str, port: int, limit_s: float = START_TIMEOUT_S) -> None:
        end = time.monotonic() + limit_s
        process = self._processes[name]
        while time.monotonic() < end:
            if process.poll() is not None:
                raise PeerMissing(
                    f"{name} ended with {process.returncode}:"
                    f" {(self._root / f'{name}.out').read_text()[-2000:]}"
                )
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            time.sleep(0.05)
        raise PeerMissing(f"{name} does not listen after {limit_s} s")

    def up(self) -> None:
        """Start ZooKeeper and all brokers.

        Return when each broker lists all brokers and a controller.
        """
        self._write(
            "log4j",
            {
                "log4j.rootLogger": "WARN,o",
                "log4j.appender.o": f"{_LOG4J}.ConsoleAppender",
                "log4j.appender.o.layout": f"{_LOG4J}.SimpleLayout",
            },
        )
        ports = free_ports(HOST)
        if not self._zookeeper:
            port = next(ports)
            zookeeper = {
                "clientPort": port,
                "clientPortAddress": "127.0.0.1",
                "admin.enableServer": "false",
                "tickTime": 500,
            }
            self._write("zookeeper", {"dataDir": self._root / "zk", **zookeeper})
            self._spawn("zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain", SMALL)
            self._await_port("zookeeper", port)
            self._zookeeper = f"127.0.0.1:{port}"
        self.ports = list(itertools.islice(ports, self._count))
        for broker, port in enumerate(self.ports):
            properties: dict[str, object] = {
                "broker.id": broker,
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "zookeeper.connect": self._zookeeper,
                "log.dirs": self._root / f"data-{broker}",
                "offsets.topic.replication.factor": usual_replicas(self._count),
                "offsets.topic.num.partitions": 5,
                "group.initial.rebalance.delay.ms": 0,
            }
            for line in self._properties:
                key, _, value = line.partition("=")
                properties[key] = value.replace("{port}", str(port))
            self._write(f"broker-{broker}", properties)
            self.start(broker)
        for broker in range(self._count):
            self.await_listening(broker)
        self.wait_until_listed()
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def wait_until_listed(self) -> None:
        """Wait until each broker lists all brokers and a controller. Raises TimeoutError."""
        ports = {broker: (HOST, port) for broker, port in enumerate(self.ports)}
        asyncio.run(
            asyncio.wait_for(
                wait_until_listed(SocketTransport(), ports, list(ports)), START_TIMEOUT_S
            )
        )

    def start(self, broker: int) -> None:
        """Start a broker. Do not wait until it is ready."""
        self._spawn(f"broker-{broker}", "kafka.Kafka", self._java)

    def await_listening(self, broker: int) -> None:
        """Wait until a started broker listens.

        Raises PeerMissing if its process ends before that.
        """
        self._await_port(f"broker-{broker}", self.ports[broker])

    def kill(self, broker: int) -> None:
        """Kill a broker with SIGKILL."""
        process = self._processes.pop(f"broker-{broker}")
        process.kill()
        process.wait()

    def stop(self, broker: int) -> None:
        """Stop a broker with SIGTERM, and wait until its process has ended."""
        process = self._processes.pop(f"broker-{broker}")
        process.terminate()
        process.wait(TOOL_TIMEOUT_S)

    def log_dir(self, broker: int) -> Path:
        """Return the folder with the logs of a broker's partitions."""
        return self._root / f"data-{broker}"

    def pid(self, broker: int) -> int:
        """Return the process id of a running broker."""
        return self._processes[f"broker-{broker}"].pid

    def output(self, broker: int) -> str:
        """Return what the broker has written to its log so far: warnings and errors."""
        return (self._root / f"broker-{broker}.out").read_text(errors="replace")

    def rss_anon(self, broker: int) -> int:
        """Return the broker's anonymous memory in bytes, or 0 if /proc does not have it."""
        return rss_anon(self._processes[f"broker-{broker}"].pid) or 0

    def down(self) -> None:
        """Kill all processes of the cluster and remove its folder."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        shutil.rmtree(self._root, ignore_errors=True)


@contextlib.contextmanager
def apache_kafka(
    jars: Path,
    brokers: int = 3,
    properties: Sequence[str] = (),
    zookeeper: str = "",
    java: Sequence[str] = STRONG,
) -> Iterator[ApacheKafka]:
    """Run an Apache Kafka cluster during the block. The arguments are those of ApacheKafka."""
    kafka = ApacheKafka(jars, brokers, properties, zookeeper, java)
    try:
        kafka.up()
        yield kafka
    finally:
        kafka.down()
