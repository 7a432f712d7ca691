"""Two unmodified producers that number their records for each partition, and keep what was acked.
What became of the records, `stored_records` says.

A record's value says all about it: producer, partition, number.

The first record of each partition goes alone. From a producer that it does not know a broker takes
any sequence (KIP-360), and librdkafka calls delivered what lies before a delivered record. So a
broker that is just becoming leader, refuses the first batch and takes the second, makes the first
one acked and lost, with Apache Kafka 2.8.2 as with this cluster; 2.0.1 answers UNKNOWN_PRODUCER_ID.
Behind an acked record there is no such gap.
"""

import itertools
import threading
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from typing import Final, NamedTuple

from confluent_kafka import KafkaError as DeliveryError
from confluent_kafka import KafkaException as ClientError
from confluent_kafka import Message, Producer
from kafka import KafkaProducer
from kafka.errors import KafkaError, KafkaTimeoutError

from kafka_edu.supervisor.cluster import ClusterError

#: Twice the time after which a record is given up: a client that takes longer hangs.
_FLUSH_TIMEOUT_S: Final = 240.0
_DELIVERY_TIMEOUT_MS: Final = 120_000
_STEP_S: Final = 0.01
UNKNOWN_OFFSET: Final = -1
"""Of a record that librdkafka calls delivered because a later one of its partition was acked:
idempotent records are stored in order, or not at all.
"""


class ClientGaveUp(ClusterError):
    """A client of the demo ended by itself."""


class Place(NamedTuple):
    """One record as its producer numbers it."""

    producer: str
    partition: int
    number: int

    @classmethod
    def parse(cls, value: bytes) -> "Place":
        producer, partition, number = value.decode().split(" ", 2)
        return cls(producer, int(partition), int(number.partition(" ")[0]))

    def value(self, size: int) -> bytes:
        return f"{self.producer} {self.partition} {self.number} ".encode().ljust(size, b".")


class NumberedProducer(ABC):
    """Sends at a steady rate to the partitions in turn, from a thread of its own, with acks=all and
    idempotence; keeps each ack.
    """

    name: str

    def __init__(self, partitions: int, records_a_second: int, record_bytes: int) -> None:
        self.sent = 0
        self.acked: dict[Place, int] = {}
        """The offset that each acked record was told to have, or UNKNOWN_OFFSET."""
        self.refused: list[str] = []
        """The reason of each record that the client gave up."""
        self.refusals: list[tuple[int, float]] = []
        """Of each of them the partition, and time.monotonic()."""
        self.ack_times: defaultdict[int, list[float]] = defaultdict(list)
        """By partition, time.monotonic() of the acks."""
        self._partitions = partitions
        self._rate = records_a_second
        self._record_bytes = record_bytes
        self._failure: Exception | None = None
        """The error on which the client ended by itself."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    @abstractmethod
    def _produce(self, place: Place, value: bytes) -> bool:
        """Give one record to the client. Later, any thread calls `_on_ack` or `_on_refusal`.

        Return False if the client has no room for it. It is then tried again.
        """

    @abstractmethod
    def _poll(self) -> None:
        """Let the client work a moment."""

    @abstractmethod
    def _flush(self) -> None:
        """Return when every record is acked or given up."""

    def start(self) -> None:
        self._thread.start()

    def check(self) -> None:
        """Raise ClientGaveUp if the client ended by itself."""
        if self._failure is not None:
            raise ClientGaveUp(f"{self.name} gave up: {self._failure}") from self._failure

    def finish(self) -> None:
        """Send no more; returns when each record's fate is known. Raises ClientGaveUp."""
        self._stop.set()
        self._thread.join()
        self.check()
        self._flush()

    def longest_silence(self) -> float:
        """The longest time between two acks of a partition, in seconds."""
        return max(
            (b - a for times in self.ack_times.values() for a, b in itertools.pairwise(times)),
            default=0.0,
        )

    def _run(self) -> None:
        try:
            self._work()
        except (ClientError, KafkaError) as error:
            self._failure = error

    def _work(self) -> None:
        while self.sent < self._partitions and not self._stop.is_set():
            self._send(self._partitions - self.sent)
            self._poll()
        while len(self.acked) + len(self.refused) < self.sent and not self._stop.is_set():
            self._poll()
        began = time.monotonic()
        while not self._stop.is_set():
            self._send(int((time.monotonic() - began) * self._rate) - self.sent)
            self._poll()

    def _send(self, records: int) -> None:
        for _ in range(records):
            number, partition = divmod(self.sent, self._partitions)
            place = Place(self.name, partition, number)
            if not self._produce(place, place.value(self._record_bytes)):
                return
            self.sent += 1

    def _on_ack(self, place: Place, offset: int) -> None:
        self.acked[place] = offset
        self.ack_times[place.partition].append(time.monotonic())

    def _on_refusal(self, place: Place, error: object) -> None:
        self.refused.append(str(error))
        self.refusals.append((place.partition, time.monotonic()))


class ConfluentProducer(NumberedProducer):
    """On librdkafka."""

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        partitions: int,
        records_a_second: int,
        record_bytes: int,
        *,
        name: str = "confluent-kafka",
        delivery_timeout_ms: int = _DELIVERY_TIMEOUT_MS,
    ) -> None:
        """`name` must hold no blank: it is part of each record's value."""
        self.name = name
        super().__init__(partitions, records_a_second, record_bytes)
        self._topic = topic
        self._client = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": delivery_timeout_ms,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            }
        )

    def _produce(self, place: Place, value: bytes) -> bool:
        def on_delivery(error: DeliveryError | None, message: Message) -> None:
            offset = message.offset()
            if error is not None:
                self._on_refusal(place, error)
            else:
                self._on_ack(place, UNKNOWN_OFFSET if offset is None else offset)

        try:
            self._client.produce(
                self._topic, value, partition=place.partition, on_delivery=on_delivery
            )
        except BufferError:
            return False
        return True

    def _poll(self) -> None:
        self._client.poll(_STEP_S)

    def _flush(self) -> None:
        try:
            self._client.flush(_FLUSH_TIMEOUT_S)
        except ClientError as error:
            raise ClientGaveUp(f"{self.name} gave up: {error}") from error
        except SystemError as error:  # `flush` of confluent-kafka loses librdkafka's fatal error
            raise ClientGaveUp(
                f"{self.name} gave up: the line with FATAL above has librdkafka's reason"
            ) from error


class PythonProducer(NumberedProducer):
    """kafka-python."""

    name = "kafka-python"

    def __init__(
        self,
        bootstrap_servers: str,
        topic: str,
        partitions: int,
        records_a_second: int,
        record_bytes: int,
    ) -> None:
        super().__init__(partitions, records_a_second, record_bytes)
        self._topic = topic
        self._client = KafkaProducer(
            bootstrap_servers=bootstrap_servers.split(","),
            acks="all",
            enable_idempotence=True,
            linger_ms=5,
            delivery_timeout_ms=_DELIVERY_TIMEOUT_MS,
            reconnect_backoff_max_ms=500,
        )

    def _produce(self, place: Place, value: bytes) -> bool:
        try:
            future = self._client.send(self._topic, value, partition=place.partition)
        except KafkaTimeoutError:  # its buffer is full, or it has no metadata
            return False
        future.add_callback(lambda record: self._on_ack(place, record.offset))
        future.add_errback(lambda error: self._on_refusal(place, error))
        return True

    def _poll(self) -> None:
        time.sleep(_STEP_S)

    def _flush(self) -> None:
        self._client.flush(_FLUSH_TIMEOUT_S)
        self._client.close()
