"""Unmodified clients for a load. They use librdkafka (confluent-kafka), each in its own thread.

The labs use them, because an independent client should judge the learner's broker. The command
`load` uses this project's own clients (`own_clients`).

A thread puts the result of each record into a deque, whose `append` and `popleft` are atomic. Only
the load's event loop takes results out and counts them.
"""

import asyncio
import threading
from collections import deque
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, Producer

from kafka_edu.clients.load.load import LoadClients, LoadSpec, first_number
from kafka_edu.clients.load.load_outcomes import (
    LEAVE_S,
    MAX_WAITING,
    MOST_BEHIND_S,
    Acked,
    Broken,
    Found,
    Outcome,
    Refused,
    Sent,
    number_of,
    record_value,
)
from kafka_edu.clients.load.load_tally import StoredRecord
from kafka_edu.clients.paced_producer import PacedProducer
from kafka_edu.common.time import Time

_POLL_S: Final = 0.1
_MAX_BATCH: Final = 500
#: The load shows its clients' errors itself, so librdkafka does not need to print them too.
_QUIET: Final = {"reconnect.backoff.max.ms": 500, "log_level": 0}


class LoadProducer:
    """Send records at a steady rate.

    The records have the numbers `first`, `first` + `step`, and so on, so that several producers
    never use the same number.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        client_id: str,
        topic: str,
        acks: str,
        rate: float,
        keys: int,
        size: int,
        first: int,
        step: int,
        outcomes: "deque[Outcome]",
        clock: Time,
    ) -> None:
        """`rate` is in records per second.

        `keys` is the number of different keys, or 0 for no keys.
        """
        self.waiting: dict[int, int] = {}
        """Number of each unanswered record → the clock's ms when it was sent.

        The oldest record is first.
        """
        self._clock = clock
        self._topic, self._keys, self._size = topic, keys, size
        self._first, self._step = first, step
        self._outcomes = outcomes
        settings: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "client.id": client_id,
            "acks": acks,
            "enable.idempotence": acks == "all",
            "linger.ms": 5,
            "message.timeout.ms": 120_000,
            "topic.metadata.refresh.interval.ms": 1_000,
            **_QUIET,
        }
        self._client = Producer(settings, error_cb=self._on_error)
        self._paced = PacedProducer(
            self._client, rate, self._send, client_id, most_behind_s=MOST_BEHIND_S
        )

    @property
    def sent(self) -> int:
        return self._paced.sent

    def start(self) -> None:
        self._paced.start()

    def _on_error(self, error: KafkaError) -> None:
        self._outcomes.append(Refused(-1, error.str()))

    def _send(self, sent: int) -> bool:
        number = self._first + sent * self._step
        if len(self.waiting) >= MAX_WAITING:
            return False
        try:
            self._client.produce(
                self._topic,
                record_value(number, self._size),
                key=b"key-%d" % (number % self._keys) if self._keys else None,
                on_delivery=lambda error, message: self._on_delivery(number, error, message),
            )
        except BufferError:  # librdkafka's queue is full while no leader accepts records
            return False
        self.waiting[number] = self._clock.hi_res_clock_ms()
        return True

    def _on_delivery(self, number: int, error: KafkaError | None, message: Message) -> None:
        self.waiting.pop(number, None)
        partition, offset = message.partition(), message.offset()
        if error is not None or partition is None:
            self._outcomes.append(Refused(number, error.str() if error is not None else "no place"))
        elif offset is None:
            self._outcomes.append(Sent(partition))
        else:
            self._outcomes.append(Acked(StoredRecord(partition, offset, number)))

    def oldest(self) -> int | None:
        """Return when the oldest unanswered record was sent, in ms of the clock, or None."""
        while True:
            try:
                return next(iter(self.waiting.values()), None)
            except RuntimeError:  # the producer's thread has just added or removed an entry
                continue

    async def finish(self, timeout_s: float) -> int:
        """Stop sending, and wait for the answers.

        Return the number of records without an answer.
        """
        return await asyncio.to_thread(self._finish, timeout_s)

    def _finish(self, timeout_s: float) -> int:
        left = self._paced.finish(timeout_s)
        if left:
            self._paced.drop()
        return left


class LoadConsumer:
    """Read the topic as a member of a group.

    It begins at the group's committed offsets. If there are none, it begins at the start of the
    topic.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        client_id: str,
        topic: str,
        group: str,
        outcomes: "deque[Outcome]",
    ) -> None:
        self._topic = topic
        self._outcomes = outcomes
        self._stop = threading.Event()
        settings: dict[str, str | int | bool] = {
            "bootstrap.servers": bootstrap_servers,
            "client.id": client_id,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": 1_000,
            "session.timeout.ms": 10_000,
            **_QUIET,
        }
        self._client = Consumer(settings, error_cb=self._on_error)
        self._thread = threading.Thread(target=self._run, name=client_id, daemon=True)

    def start(self) -> None:
        self._client.subscribe([self._topic])
        self._thread.start()

    def _on_error(self, error: KafkaError) -> None:
        self._outcomes.append(Refused(-1, error.str()))

    def _run(self) -> None:
        try:
            self._read()
        except Exception as bug:
            self._outcomes.append(Broken.by(bug, "consumer"))
            raise
        finally:
            self._client.close()

    def _read(self) -> None:
        while not self._stop.is_set():
            for message in self._client.consume(_MAX_BATCH, _POLL_S):
                value, partition, offset = message.value(), message.partition(), message.offset()
                if message.error() is not None or partition is None or offset is None:
                    continue
                number = number_of(value if isinstance(value, bytes) else None)
                if number is not None:
                    self._outcomes.append(Found(StoredRecord(partition, offset, number)))

    async def finish(self) -> None:
        """Commit, leave the group and stop.

        If no broker can be reached, librdkafka tries for ever. So after LEAVE_S seconds this method
        returns, and the consumer's thread ends with the process.
        """
        self._stop.set()
        if self._thread.is_alive():
            await asyncio.to_thread(self._thread.join, LEAVE_S)


def unmodified_clients(spec: LoadSpec, bootstrap_servers: str, clock: Time) -> LoadClients:
    """Return producers and consumers that use librdkafka. They have not started yet."""
    first = first_number()
    outcomes: deque[Outcome] = deque()
    producers = [
        LoadProducer(
            bootstrap_servers,
            f"load-producer-{i + 1}",
            spec.topic,
            spec.acks,
            spec.rate / spec.producers,
            spec.keys,
            spec.size,
            first + i,
            spec.producers,
            outcomes,
            clock,
        )
        for i in range(spec.producers)
    ]
    consumers = [
        LoadConsumer(bootstrap_servers, f"load-consumer-{i + 1}", spec.topic, spec.group, outcomes)
        for i in range(spec.consumers)
    ]
    return LoadClients(producers, consumers, outcomes, first)
