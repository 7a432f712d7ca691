"""Clients that cause events on real clusters, for recordings and for tests of screens."""

import contextlib
import threading
import time
from types import TracebackType

from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from kafka_edu.clients.admin.new_topic import make_assigned_topic
from tests.waiting import PATIENCE_S

LINE = b"203.0.113.7 - - [10/Oct/2026:13:55:36 +0000] GET /index.html HTTP/1.1 200 2326"


def controller_of(bootstrap: str) -> int:
    """Return the id of the controller, as a client sees it."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    controller = admin.list_topics(timeout=PATIENCE_S).controller_id
    assert isinstance(controller, int)
    return controller


def create_topic(bootstrap: str, name: str, replicas: list[int], **config: str) -> None:
    """Create a topic of one partition with these replicas, the first of which will lead it."""
    configs = {key.replace("_", "."): value for key, value in config.items()}
    make_assigned_topic(bootstrap, name, {0: replicas}, configs)


def produce(bootstrap: str, topic: str, batches: int, acks: str, per_batch: int = 10) -> None:
    """Produce `batches` batches and wait until each is acknowledged."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": acks, "linger.ms": 0})
    for _ in range(batches):
        for _ in range(per_batch):
            producer.produce(topic, LINE, partition=0)
        assert producer.flush(PATIENCE_S) == 0


class Background:
    """A thread that works until the block ends."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self._thread = threading.Thread(target=self.work, daemon=True)

    def work(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> "Background":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop.set()
        self._thread.join(PATIENCE_S)


class AcksAll(Background):
    """Producers that send a few records ten times a second with acks=all. A request waits up to 30
    s for its answer.
    """

    def __init__(self, bootstrap: str, topic: str, producers: int = 4) -> None:
        super().__init__()
        self._topic = topic
        self._producers = [
            Producer(
                {
                    "bootstrap.servers": bootstrap,
                    "client.id": f"web-log-{n}",
                    "acks": "all",
                    "linger.ms": 5,
                    "request.timeout.ms": 30_000,
                    "max.in.flight.requests.per.connection": 1,
                }
            )
            for n in range(producers)
        ]

    def work(self) -> None:
        while not self.stop.is_set():
            for producer in self._producers:
                for _ in range(3):
                    with contextlib.suppress(BufferError):
                        producer.produce(self._topic, LINE, partition=0)
                producer.poll(0)
            time.sleep(0.1)  # the pace of the load
        for producer in self._producers:
            producer.purge()
            producer.flush(2)


class PatientConsumer(Background):
    """A consumer with a large fetch.min.bytes. Its fetches wait at the broker for this many
    bytes.
    """

    def __init__(self, bootstrap: str, topic: str, min_bytes: int, max_wait_ms: int) -> None:
        super().__init__()
        self._topic = topic
        self._config: dict[str, str | int] = {
            "bootstrap.servers": bootstrap,
            "client.id": "patient",
            "group.id": "patient",
            "auto.offset.reset": "earliest",
            "fetch.min.bytes": min_bytes,
            "fetch.wait.max.ms": max_wait_ms,
        }

    def work(self) -> None:
        consumer = Consumer(self._config)
        consumer.subscribe([self._topic])
        while not self.stop.is_set():
            consumer.poll(0.2)
        consumer.close()


class KeyedUpdates(Background):
    """Sends updates of a few keys to one topic, and lines without a key to another one."""

    def __init__(self, bootstrap: str, keyed: str, plain: str, keys: int) -> None:
        super().__init__()
        self._producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 10})
        self._keyed = keyed
        self._plain = plain
        self._keys = keys

    def work(self) -> None:
        sent = 0
        while not self.stop.wait(0.02):
            for _ in range(10):
                key = b"user-%d" % (sent * 7 % self._keys)
                self._producer.produce(self._keyed, LINE, key=key, partition=0)
                self._producer.produce(self._plain, LINE, partition=0)
                sent += 1
            self._producer.poll(0)
        assert self._producer.flush(PATIENCE_S) == 0
