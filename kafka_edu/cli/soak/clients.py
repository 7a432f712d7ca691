"""The soak's two unmodified clients: a producer, and a consumer in a group. Both use librdkafka.
librdkafka does not belong to this project, because the tested code must not judge itself.

Every record contains its number. Two bytes of memory per record are enough to know which records
were acked and which were read, so an hour at 500 records/s costs 4 MB. librdkafka writes a log line
if a broker did not answer in time ("Timed out 56 in-flight …"). Both clients keep these lines.
"""

import logging
import re
import threading
import time
from collections import Counter
from typing import Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from kafka_edu.clients.paced_producer import PacedProducer

RECORD_BYTES: Final = 100
SOCKET_TIMEOUT_MS: Final = 60_000
"""librdkafka's default in ms.

It closes a connection on which a request waits longer for its answer.
"""
_POLL_S: Final = 0.1
_TIMED_OUT: Final = re.compile(r"Timed out (\d+) in-flight")
LOG_LINES_KEPT: Final = 50


class TimeoutLog(logging.Handler):
    """Keep librdkafka's log lines about requests that had no answer within socket.timeout.ms."""

    def __init__(self, client: str) -> None:
        super().__init__()
        self.client = client
        self.lines: list[str] = []
        self.logger = logging.Logger(f"soak-{client}")
        self.logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        found = _TIMED_OUT.search(text)
        if found and int(found[1]) > 0:
            self.lines.append(f"{time.strftime('%H:%M:%S')} {self.client}: {text}")


class Flags:
    """One flag (set or not set) for each record number. It grows as needed, one byte per number."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self.count = 0

    def set(self, number: int) -> bool:
        """Set the flag of a number. Return False if it was set already."""
        if number >= len(self._bytes):
            self._bytes.extend(bytes(number + 65_536 - len(self._bytes)))
        if self._bytes[number]:
            return False
        self._bytes[number] = 1
        self.count += 1
        return True

    def __contains__(self, number: int) -> bool:
        return number < len(self._bytes) and self._bytes[number] == 1

    def missing_in(self, other: "Flags") -> list[int]:
        """Return the numbers whose flag is set in this object but not in `other`. O(numbers)."""
        return [
            number for number, is_set in enumerate(self._bytes) if is_set and number not in other
        ]


class SoakProducer:
    """Send records at a steady rate with acks=all and linger.ms=5, in a thread."""

    def __init__(self, bootstrap_servers: str, topic: str, records_a_second: int) -> None:
        self.log = TimeoutLog("producer")
        self.acked = Flags()
        self.refused: Counter[str] = Counter()
        self._topic = topic
        self._client = Producer(
            {
                "bootstrap.servers": bootstrap_servers,
                "client.id": "soak-producer",
                "acks": "all",
                "linger.ms": 5,
                "socket.timeout.ms": SOCKET_TIMEOUT_MS,
                "reconnect.backoff.max.ms": 500,
                "log_level": 4,
            },
            logger=self.log.logger,
        )
        self._paced = PacedProducer(self._client, records_a_second, self._send, "soak-producer")

    @property
    def sent(self) -> int:
        return self._paced.sent

    def start(self) -> None:
        self._paced.start()

    def finish(self, timeout_s: float) -> int:
        """Stop sending and wait for the last acks.

        Return the number of records without an answer.
        """
        return self._paced.finish(timeout_s)

    def _send(self, number: int) -> bool:
        def on_delivery(error: KafkaError | None, _: Message) -> None:
            if error is None:
                self.acked.set(number)
            else:
                self.refused[error.str()] += 1

        try:
            self._client.produce(
                self._topic,
                b"%d " % number + b"." * (RECORD_BYTES - len(b"%d " % number)),
                on_delivery=on_delivery,
            )
        except BufferError:
            return False
        return True


class SoakConsumer:
    """Read the topic as the only member of a group, and commit once a second."""

    def __init__(self, bootstrap_servers: str, topic: str, group: str) -> None:
        self.log = TimeoutLog("consumer")
        self.read = Flags()
        self.read_again = 0
        """Number of records that were read again.

        They were sent twice, or the consumer went back to an earlier offset.
        """
        self.assignments = 0
        self._stop = threading.Event()
        self._settings: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "client.id": "soak-consumer",
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1000,
            "socket.timeout.ms": SOCKET_TIMEOUT_MS,
            "reconnect.backoff.max.ms": 500,
            "log_level": 4,
        }
        self._topic = topic
        self._client = Consumer(self._settings, logger=self.log.logger)
        self._thread = threading.Thread(target=self._run, name="soak-consumer", daemon=True)

    def start(self) -> None:
        self._client.subscribe([self._topic], on_assign=self._on_assign)
        self._thread.start()

    def _on_assign(self, _: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignments += bool(partitions)

    def _run(self) -> None:
        while not self._stop.is_set():
            for message in self._client.consume(500, _POLL_S):
                self._take(message)
        self._client.close()

    def _take(self, message: Message) -> None:
        value = message.value()
        if message.error() is None and isinstance(value, bytes):
            self.read_again += not self.read.set(int(value.split(b" ", 1)[0]))

    def drain(self, acked: Flags, timeout_s: float) -> list[int]:
        """Read until every acked record has been read, at most `timeout_s` seconds. After that,
        stop.

        Return the numbers of the acked records that the group did not read.
        """
        end = time.monotonic() + timeout_s
        while time.monotonic() < end and self.read.count < acked.count:
            time.sleep(_POLL_S)
        while time.monotonic() < end and acked.missing_in(
            self.read
        ):  # more records were read than acked, so their numbers must be compared
            time.sleep(_POLL_S)
        self._stop.set()
        self._thread.join()
        return acked.missing_in(self.read)

    def read_everything(self, partitions: int, timeout_s: float) -> Flags:
        """Read the whole topic again without a group, and return the numbers of the records in it.

        An acked record that is missing in the result is lost. Call this method after `drain`.
        """
        found = Flags()
        client = Consumer(
            {**self._settings, "group.id": "soak-check", "enable.auto.commit": False},
            logger=self.log.logger,
        )
        wanted = [
            TopicPartition(self._topic, number, OFFSET_BEGINNING) for number in range(partitions)
        ]
        try:
            ends = {
                number: client.get_watermark_offsets(
                    TopicPartition(self._topic, number), timeout_s
                )[1]
                for number in range(partitions)
            }
            client.assign(wanted)
            end = time.monotonic() + timeout_s
            while time.monotonic() < end and ends:
                for message in client.consume(5000, _POLL_S):
                    value, partition, offset = (
                        message.value(),
                        message.partition(),
                        message.offset(),
                    )
                    if message.error() is None and isinstance(value, bytes):
                        found.set(int(value.split(b" ", 1)[0]))
                        if (
                            partition in ends
                            and offset is not None
                            and offset + 1 >= ends[partition]
                        ):
                            del ends[partition]
                for number in [number for number, last in ends.items() if last == 0]:
                    del ends[number]
        finally:
            client.close()
        return found
