"""The jobs of chapter 08: a metadata proxy in its own process, and unmodified clients.

The clients bootstrap on the proxy: they get the brokers' addresses from it.

    bootstrap    starts the proxy, lets clients bootstrap on it and send records
    stop    stops the proxy; the clients send more records, and a new client tries to bootstrap
    wrong   replays metadata with a wrong host from a proxy, and lets a client bootstrap on it

The proxy's events and the clients' reports become events of the cluster.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient
from kafka import KafkaProducer
from kafka.errors import KafkaError as PythonError

from kafka_edu.clients.proxy.recording import read_recording, write_recording
from kafka_edu.supervisor.cluster import attach
from kafka_edu.supervisor.running_proxy import RunningProxy, running_proxy
from kafka_edu.trace.events.client import BytesCounted, ClientBooted, ClientProduced
from kafka_edu.trace.events.proxy import (
    MetadataCopied,
    ProxyAnswered,
    ProxyRefused,
    ProxyStarted,
    ProxyStopped,
    TargetStateChanged,
)
from kafka_edu.trace.events.spark import JobStarted

from ..chapter import JobPlace
from .proxy import bytes_into

JOBS: Final[Mapping[str, str]] = {
    "boot": "start a proxy, and let clients start with it",
    "stop": "stop the proxy, and let the clients continue",
    "wrong": "play back metadata with a host that does not exist",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()

TOPIC: Final = "ch08"
RECORDS: Final = 200
VALUE: Final = b"x" * 100
WRONG_HOST: Final = "kafka-new.invalid"
"""A host name that no resolver may resolve (RFC 6761)."""
PATIENCE_S: Final = 60.0
GIVE_UP_S: Final = 4.0
"""How many seconds a client tries if it cannot succeed."""
_TOLD: Final = (
    ProxyStarted | MetadataCopied | TargetStateChanged | ProxyAnswered | ProxyRefused | ProxyStopped
)


class C:
    """A client of librdkafka, the C library, through confluent-kafka."""

    name = "librdkafka"

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._producer = Producer(
            {"bootstrap.servers": servers, "client.id": self.name, "acks": -1}
        )

    def boot(self) -> int:
        """Bootstrap, and return how many partitions of the topic the client then knows.

        Raises KafkaException if it gets no metadata.
        """
        known = self._producer.list_topics(TOPIC, timeout=PATIENCE_S)
        return len(known.topics[TOPIC].partitions)

    def send(self, count: int, patience_s: float = PATIENCE_S) -> tuple[int, str]:
        """Send `count` records.

        Return how many were acknowledged, and the text of the last error.
        """
        acked, error = 0, ""

        def done(failed: KafkaError | None, _: object) -> None:
            nonlocal acked, error
            acked += failed is None
            error = error if failed is None else str(failed)

        for number in range(count):
            self._producer.produce(TOPIC, VALUE, partition=number % 3, on_delivery=done)
        self._producer.flush(patience_s)
        return acked, error

    def close(self) -> None:
        self._producer.purge()
        self._producer.flush(PATIENCE_S)


class Python:
    """A client of kafka-python."""

    name = "kafka-python"

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self._producer = KafkaProducer(
            bootstrap_servers=servers,
            client_id=self.name,
            acks="all",
            enable_idempotence=False,
            max_block_ms=round(PATIENCE_S * 1_000),
        )

    def boot(self) -> int:
        """Bootstrap, and return how many partitions of the topic the client then knows.

        Raises kafka-python's KafkaError if it gets no metadata.
        """
        return len(self._producer.partitions_for(TOPIC) or ())

    def send(self, count: int, patience_s: float = PATIENCE_S) -> tuple[int, str]:
        """Send `count` records.

        Return how many were acknowledged, and the text of the last error.
        """
        sent = [self._producer.send(TOPIC, VALUE, partition=n % 3) for n in range(count)]
        with contextlib.suppress(PythonError):
            self._producer.flush(patience_s)
        failed = [one.exception for one in sent if one.failed()]
        return sum(one.succeeded() for one in sent), str(failed[-1]) if failed else ""

    def close(self) -> None:
        self._producer.close(0)


CLIENTS: Final = (C, Python)
Client = C | Python


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name.

    The proxy and its clients live until the block ends or the next `boot` runs.
    """
    with ExitStack() as stack:
        jobs = ProxyJobs(place, stack)
        yield jobs.run


class ProxyJobs:
    """The jobs of chapter 08 on one cluster."""

    def __init__(self, place: JobPlace, stack: ExitStack) -> None:
        self._place = place
        self._stack = stack
        self._proxy: RunningProxy | None = None
        self._address = ""
        self._emitted = 0
        self._clients: list[Client] = []

    def run(self, name: str) -> None:
        """Run the job with this name to its end."""
        jobs: Mapping[str, Callable[[], None]] = {
            "boot": self._boot,
            "stop": self._stop,
            "wrong": self._wrong,
        }
        self._place.emit(JobStarted(job=name))
        jobs[name]()

    def _start(self, name: str, *options: str) -> str:
        """Start a proxy, and return its address. Raises ClusterError if it does not start."""
        folder = self._place.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        self._emitted = 0
        self._proxy, self._address = self._stack.enter_context(
            running_proxy(folder, *options, "--target-versions")
        )
        self._tell()
        return self._address

    def _tell(self) -> None:
        """Emit the proxy's events since the last call as events of the cluster."""
        assert self._proxy is not None
        events = self._proxy.events()
        for one in events[self._emitted :]:
            if isinstance(one.event, _TOLD):
                self._place.emit(one.event)
        self._emitted = len(events)

    def _boot(self) -> None:
        self._close_clients()
        self._start("proxy", "--target", self._place.bootstrap_servers)
        before = self._bytes()
        for kind in CLIENTS:
            client = self._boots(kind, self._address)
            if client is not None:
                self._clients.append(client)
                self._sends(client, RECORDS)
        self._tell()
        self._count(before)

    def _stop(self) -> None:
        if self._proxy is None:
            self._boot()
        assert self._proxy is not None
        self._proxy.stop()
        self._tell()
        for client in self._clients:
            self._sends(client, RECORDS)
        self._tries(self._address)

    def _wrong(self) -> None:
        tape = self._place.folder / "metadata.json"
        recorder = self._place.folder / "recorder"
        recorder.mkdir(parents=True, exist_ok=True)
        servers = self._place.bootstrap_servers
        with running_proxy(recorder, "--target", servers, "--record", str(tape)):
            copy = read_recording(tape.read_bytes())
        for broker in copy.response.brokers:
            broker.host = WRONG_HOST
        tape.write_bytes(write_recording(copy))
        client = self._boots(C, self._start("replay", "--replay", str(tape)))
        if client is not None:
            self._sends(client, 1, GIVE_UP_S)
            client.close()
        self._tell()

    def _boots(self, kind: type[Client], servers: str) -> Client | None:
        """Let a client bootstrap, and emit what it then knows.

        Return the client, or None if it failed.
        """
        try:
            client = kind(servers)
            partitions = client.boot()
        except (PythonError, KafkaException) as error:
            self._booted(kind.name, servers, 0, str(error))
            return None
        self._booted(kind.name, servers, partitions, "")
        return client

    def _tries(self, servers: str) -> None:
        """Let a new client try to bootstrap for GIVE_UP_S seconds."""
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        try:
            known = admin.list_topics(TOPIC, timeout=GIVE_UP_S)
        except KafkaException as error:
            self._booted("a new client", servers, 0, str(error.args[0]))
        else:
            self._booted("a new client", servers, len(known.topics[TOPIC].partitions), "")

    def _booted(self, client: str, servers: str, partitions: int, error: str) -> None:
        self._place.emit(
            ClientBooted(client=client, servers=servers, partitions=partitions, error=error)
        )

    def _sends(self, client: Client, count: int, patience_s: float = PATIENCE_S) -> None:
        acked, error = client.send(count, patience_s)
        self._place.emit(ClientProduced(client=client.name, sent=count, acked=acked, error=error))

    def _bytes(self) -> int:
        """Return how many bytes the brokers have received so far."""
        with contextlib.closing(attach(self._place.cluster)) as cluster:
            return bytes_into(cluster)

    def _count(self, before: int) -> None:
        """Emit how many bytes the brokers received.

        The proxy reports its own bytes when it stops.
        """
        self._place.emit(BytesCounted(what="the brokers", bytes_in=self._bytes() - before))

    def _close_clients(self) -> None:
        for client in self._clients:
            client.close()
        self._clients.clear()
