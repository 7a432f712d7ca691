"""Two unmodified producers that number their records for each partition, and keep all acks.

`stored_records` shows the fate of the records. A record's value contains its producer, partition
and number.

The first record of each partition is sent alone, for this reason: a broker takes any sequence from
a producer that it does not know (KIP-360). And librdkafka reports all records before a delivered
record as delivered. A broker that is just becoming the leader may refuse the first batch and take
the second one. Then the first batch counts as acked but is lost. This happens with Apache Kafka
2.8.2 as with this cluster; 2.0.1 answers UNKNOWN_PRODUCER_ID. After one acked record this gap
cannot arise.
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

#: In seconds: twice the time after which a record is given up. A client that takes longer hangs.
_FLUSH_TIMEOUT_S: Final = 240.0
_DELIVERY_TIMEOUT_MS: Final = 120_000
_STEP_S: Final = 0.01
UNKNOWN_OFFSET: Final = -1
"""The offset of a record without an ack of its own.

librdkafka reports it as delivered because a later record of its partition was acked. Idempotent
records are stored in order, or not at all.
"""


class ClientGaveUp(ClusterError):
    """A client of the demo has ended by itself."""


class Place(NamedTuple):
    """The identity of one record: its producer, its partition, and its number there."""

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
    """Sends records at a steady rate to all partitions in turn, and keeps each ack.

    It uses a thread of its own, acks=all and idempotence.
    """

    name: str

    def __init__(self, partitions: int, records_a_second: int, record_bytes: int) -> None:
        self.sent = 0
        self.acked: dict[Place, int] = {}
        """Acked record → its offset according to the ack, or UNKNOWN_OFFSET."""
        self.refused: list[str] = []
        """The reason for each record that the client gave up."""
        self.refusals: list[tuple[int, float]] = []
        """The partition of each record that the client gave up, and the time.monotonic() of it."""
        self.ack_times: defaultdict[int, list[float]] = defaultdict(list)
        """Partition → the times of its acks, from time.monotonic()."""
        self._partitions = partitions
        self._rate = records_a_second
        self._record_bytes = record_bytes
        self._failure: Exception | None = None
        """The error with which the client ended by itself."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)

    @abstractmethod
    def _produce(self, place: Place, value: bytes) -> bool:
        """Hand one record to the client. Later, any thread calls `_on_ack` or `_on_refusal`.

        Return False if the client has no room for the record. The caller then tries again.
        """

    @abstractmethod
    def _poll(self) -> None:
        """Let the client handle its acks and errors for a moment."""

    @abstractmethod
    def _flush(self) -> None:
        """Wait until every record is acked or given up."""

    def start(self) -> None:
        self._thread.start()

    def check(self) -> None:
        """Raise ClientGaveUp if the client has ended by itself."""
        if self._failure is not None:
            raise ClientGaveUp(f"{self.name} gave up: {self._failure}") from self._failure

    def finish(self) -> None:
        """Stop sending, and wait until each record is acked or given up.

        Raises ClientGaveUp if the client has ended by itself.
        """
        self._stop.set()
        self._thread.join()
        self.check()
        self._flush()

    def longest_silence(self) -> float:
        """Return the longest time between two acks of the same partition, in seconds."""
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
    """A numbered producer on librdkafka (confluent-kafka)."""

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
        """Create the producer.

        `name` must not contain a blank: it is part of each record's value.
        """
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
        except SystemError as error:  # confluent-kafka's `flush` hides librdkafka's fatal error
            raise ClientGaveUp(
                f"{self.name} gave up: the line with FATAL above has librdkafka's reason"
            ) from error


class PythonProducer(NumberedProducer):
    """A numbered producer on kafka-python."""

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
        except KafkaTimeoutError:  # its buffer is full, or it has no metadata yet
            return False
        future.add_callback(lambda record: self._on_ack(place, record.offset))
        future.add_errback(lambda error: self._on_refusal(place, error))
        return True

    def _poll(self) -> None:
        time.sleep(_STEP_S)

    def _flush(self) -> None:
        self._client.flush(_FLUSH_TIMEOUT_S)
        self._client.close()
