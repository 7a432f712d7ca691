"""Two unmodified clients for demos, each in a thread of its own.

One is a producer on librdkafka (confluent-kafka), the other a consumer in Python (kafka-python).
Every record carries its own number in a header, so it can be recognised everywhere. All acked
records and all read records are kept, and compared in `Verdict`.
"""

import concurrent.futures
import contextlib
import itertools
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, NamedTuple

from confluent_kafka import KafkaError as DeliveryError
from confluent_kafka import KafkaException as ClientError
from confluent_kafka import Message, Producer
from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from kafka_edu.cli.progress import Progress, Standstill
from kafka_edu.clients.paced_producer import PacedProducer
from kafka_edu.clients.web_log.records import LogLine

from .numbered_clients import ClientGaveUp

ID_HEADER: Final = "id"
#: In ms. A client gives up a record after 120 s. A client that takes twice as long hangs.
_MESSAGE_TIMEOUT_MS: Final = 120_000
_FLUSH_TIMEOUT_S: Final = 240.0
_POLL_MS: Final = 100


class Acked(NamedTuple):
    """One acknowledged record, with the facts that the ack gave to the producer."""

    partition: int
    offset: int
    at: float
    """The time of the ack, from time.monotonic(), in seconds."""


class LogProducer:
    """Sends the web log at a steady rate with acks=all and idempotence, and keeps each ack."""

    def __init__(
        self, bootstrap_servers: str, topic: str, lines: Iterator[LogLine], records_a_second: int
    ) -> None:
        self.acked: dict[int, Acked] = {}
        self.failed: list[str] = []
        self.produced_status: Counter[int] = Counter()
        self._topic = topic
        self._lines = lines
        self._line: LogLine | None = None
        """A line that librdkafka had no room for yet. It is sent first."""
        # idempotence takes care of retries, acks and order; a record is given up only after it has
        # waited for two minutes
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "client.id": "web-server",
                "acks": "all",
                "enable.idempotence": True,
                "linger.ms": 5,
                "message.timeout.ms": _MESSAGE_TIMEOUT_MS,
                "topic.metadata.refresh.interval.ms": 1_000,
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
            },
        )
        self._failure: ClientError | None = None
        """The error with which the client ended by itself."""
        self._paced = PacedProducer(self._producer, records_a_second, self._send, "producer")

    @property
    def produced(self) -> int:
        return self._paced.sent

    def start(self) -> None:
        self._paced.start()

    def _send(self, number: int) -> bool:
        """Hand one record to librdkafka.

        Return False if its queue is full, or if there are no more lines.
        """

        def on_delivery(error: DeliveryError | None, message: Message) -> None:
            partition, offset = message.partition(), message.offset()
            if error is not None or partition is None or offset is None:
                self.failed.append(str(error))
            else:
                self.acked[number] = Acked(partition, offset, time.monotonic())

        line = self._line or next(self._lines, None)
        if line is None:
            return False
        try:
            self._producer.produce(
                self._topic,
                value=line.record.value,
                key=line.record.key,
                headers={ID_HEADER: str(number).encode()},
                on_delivery=on_delivery,
            )
        except BufferError:
            self._line = line
            return False
        except ClientError as error:
            self._failure = error
            return False
        self._line = None
        self.produced_status[line.status] += 1
        return True

    def check(self) -> None:
        """Raise ClientGaveUp if the client has ended by itself."""
        if self._failure is not None:
            raise ClientGaveUp(f"the producer gave up: {self._failure}") from self._failure

    def finish(self) -> None:
        """Stop sending, and wait until all sent records are acked.

        Raises ClientGaveUp if the client has ended by itself.
        """
        self.check()
        self._paced.finish(_FLUSH_TIMEOUT_S)

    def abandon(self) -> None:
        """Stop at once, and drop the records that are not acked."""
        self._paced.abandon()


class Read(NamedTuple):
    """One record, as the consumer received it."""

    partition: int
    offset: int
    number: int
    status: int


class LogConsumer:
    """Reads all partitions from the beginning while the producer writes, and keeps each record."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self.read: list[Read] = []
        self._bootstrap_servers = bootstrap_servers.split(",")
        self._partitions = [TopicPartition(topic, p) for p in range(partitions)]
        self._stop = threading.Event()
        self._to_the_end = threading.Event()
        self._worker = ThreadPoolExecutor(1, "consumer")
        self._work: Future[None] | None = None

    def start(self) -> None:
        self._work = self._worker.submit(self._run)

    def _run(self) -> None:
        """Create and use the consumer in this thread only: kafka-python is not thread-safe."""
        consumer = KafkaConsumer(
            bootstrap_servers=self._bootstrap_servers,
            client_id="web-analyst",
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            metadata_max_age_ms=1_000,
            reconnect_backoff_max_ms=500,
        )
        try:
            consumer.assign(self._partitions)
            while not self._stop.is_set() and not self._at_end(consumer):
                self._poll(consumer)
        finally:
            consumer.close()

    def _poll(self, consumer: KafkaConsumer) -> None:
        for records in consumer.poll(timeout_ms=_POLL_MS).values():
            for record in records:
                number = next(int(value) for name, value in record.headers if name == ID_HEADER)
                status = int(record.value.split(b'" ', 2)[1].split(b" ", 1)[0])
                self.read.append(Read(record.partition, record.offset, number, status))

    def _at_end(self, consumer: KafkaConsumer) -> bool:
        """Return whether the consumer may stop: `finish` was called, and all is read."""
        if not self._to_the_end.is_set():
            return False
        with contextlib.suppress(KafkaError):  # a leader has just changed: ask again later
            ends = consumer.end_offsets(self._partitions)
            return all(consumer.position(partition) >= end for partition, end in ends.items())
        return False

    def finish(self) -> None:
        """Read on to the end of every partition, or until no more records come.

        Raises ClientGaveUp if the consumer has ended by itself.
        """
        self._to_the_end.set()
        progress = Progress("the consumer to reach the ends of its partitions")
        while self._work is not None and not self._work.done():
            try:
                progress.note(f"{len(self.read):,} records read")
            except Standstill:
                return  # missing records count as lost in the verdict
            concurrent.futures.wait([self._work], _POLL_MS / 1000)
        self.check()

    def check(self) -> None:
        """Raise ClientGaveUp if the consumer has ended by itself."""
        if self._work is not None and self._work.done():
            try:
                self._work.result()
            except KafkaError as error:
                raise ClientGaveUp(f"the consumer gave up: {error}") from error

    def abandon(self) -> None:
        """Stop reading, and wait until the thread has ended."""
        self._stop.set()
        self._worker.shutdown(wait=True)


class Verdict(NamedTuple):
    """The comparison of the acknowledged records with the records that were read."""

    produced: int
    acked: int
    failed: int
    consumed: int
    lost: int
    """The number of acked records that were not read at the offset that the ack named."""
    duplicates: int
    """The number of surplus copies that were read at other offsets."""
    unacked_but_read: int
    """The number of records that were read but never acked.

    They are allowed: an ack can get lost.
    """
    statuses_agree: bool
    """Whether the status codes of the records that were read are those that the generator counted.

    It is True only if every record was acked.
    """


def compare(
    produced: int, acked: dict[int, Acked], failed: int, truth: Counter[int], read: list[Read]
) -> Verdict:
    """Compare the records that were produced, acked and read. O(records)."""
    places: defaultdict[int, set[tuple[int, int]]] = defaultdict(set)
    for record in read:
        places[record.number].add((record.partition, record.offset))
    lost = sum((ack.partition, ack.offset) not in places[number] for number, ack in acked.items())
    duplicates = sum(len(where) - 1 for where in places.values() if len(where) > 1)
    strangers = sum(1 for number, where in places.items() if where and number not in acked)
    first = {record.number: record.status for record in read}
    agree = len(acked) == produced and Counter(first.values()) == truth
    return Verdict(produced, len(acked), failed, len(read), lost, duplicates, strangers, agree)


def longest_silence(acked: dict[int, Acked], partitions: frozenset[int], around: float) -> float:
    """Return the longest time without an ack on one of these partitions, in seconds.

    On each partition, the search begins at the last ack before the time `around`.
    """
    longest = 0.0
    for partition in sorted(partitions):
        times = sorted(ack.at for ack in acked.values() if ack.partition == partition)
        before = [at for at in times if at <= around]
        after = [at for at in times if at > around]
        if before and after:
            # Acks that the leader sent before it died may still arrive. So the result is
            # the longest gap after the last ack before the death.
            steps = [before[-1], *after]
            longest = max(longest, max(b - a for a, b in itertools.pairwise(steps)))
    return longest
