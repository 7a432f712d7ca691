"""The jobs of chapter 12: our own producer, whose events go to the dashboard.

    batching            sends the same records with four settings, and measures
    reorder             five records in flight, and the first request is damaged
    reorder-one         the same with max.in.flight.requests.per.connection=1
    reorder-idempotent  the same with enable.idempotence
    lost-answer         the broker's response is lost, with retries=0
    lost-answer-again   the same with retries
    lost-answer-once    the same with enable.idempotence
    numbers             sends 1 to 10 to two partitions in turn, and reads all ten back
    exit                sends ten records, and ends without close()

A job stores the log's end before it begins, and reads only the records after it. So it may be
repeated.
"""

import asyncio
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.trace.events.client import ClientListed, ClientProduced, ProducerMeasured
from kafka_edu.trace.tracer import Tracer

from ..chapter import JobPlace
from ..demo_parts.faulty_network import FaultyNetwork
from ..demo_parts.own_reader import ends_of, read_from
from . import hasty_program

JOBS: Final[Mapping[str, str]] = {
    "batching": "send the same records with four settings, and measure",
    "reorder": "damage the first of five requests in flight",
    "reorder-one": "the same with one request in flight",
    "reorder-idempotent": "the same with idempotence",
    "lost-answer": "lose a response, with retries=0",
    "lost-answer-again": "the same with retries",
    "lost-answer-once": "the same with idempotence",
    "numbers": "send 1 to 10 to two partitions, and read them",
    "exit": "end without close()",
}
#: Extra packages that the jobs need: none.
NEEDS: Final[tuple[str, ...]] = ()

TOPIC: Final = "ch12"
NUMBERS: Final = "numbers"
"""The topic of the job `numbers`. The script creates it with two partitions."""
PARTITION: Final = 0
"""All other jobs write to this one partition of TOPIC, because they compare the order."""
IN_FLIGHT: Final = 5
MEASURED: Final = 300
EVERY_S: Final = 0.01
VALUE_BYTES: Final = 100
FIRST_ATTEMPTS: Final = 10


class Setting(NamedTuple):
    """One row of the measurement."""

    client: str
    linger_ms: int
    paced: bool
    """Whether a record is sent every EVERY_S. If not, all records are sent at once."""


SETTINGS: Final = (
    Setting("linger-0", 0, True),
    Setting("linger-20", 20, True),
    Setting("linger-200", 200, True),
    Setting("burst", 0, False),
)


class Reordering(NamedTuple):
    """One way to send five records at once, of which the first is damaged."""

    idempotent: bool
    in_flight: int


REORDERINGS: Final = {
    "reorder": Reordering(False, IN_FLIGHT),
    "reorder-one": Reordering(False, 1),
    "reorder-idempotent": Reordering(True, IN_FLIGHT),
}


class LostAnswer(NamedTuple):
    """One way to send a record whose response is lost."""

    idempotent: bool
    retries: int


LOST_ANSWERS: Final = {
    "lost-answer": LostAnswer(False, 0),
    "lost-answer-again": LostAnswer(False, 10),
    "lost-answer-once": LostAnswer(True, 10),
}


@contextmanager
def open_jobs(place: JobPlace) -> Iterator[Callable[[str], None]]:
    """Yield the function that runs a job by its name."""
    jobs = ProducerJobs(place)
    yield place.runner(lambda name: partial(jobs.run, name))


class ProducerJobs:
    """The jobs of chapter 12 on one cluster."""

    def __init__(self, place: JobPlace) -> None:
        self._place = place

    async def run(self, name: str, trace: Tracer) -> None:
        """Run the job with this name to its end."""
        if name in REORDERINGS:
            await self._reorder(name, REORDERINGS[name], trace)
        elif name in LOST_ANSWERS:
            await self._lose_answer(name, LOST_ANSWERS[name], trace)
        elif name == "batching":
            for setting in SETTINGS:
                await self._measure(setting, trace)
        elif name == "numbers":
            await self._numbers(trace)
        else:
            await self._exit(trace)

    def _settings(self, client: str, **more: object) -> dict[str, object]:
        """Return the settings of a producer. `linger_ms` is linger.ms."""
        own = {key.replace("_", "."): value for key, value in more.items()}
        base = {"bootstrap.servers": self._place.bootstrap_servers, "client.id": client}
        return {**base, "acks": "all", **own}

    async def _measure(self, setting: Setting, trace: Tracer) -> None:
        """Send MEASURED records with one setting, and emit the costs."""
        network = FaultyNetwork(SocketTransport())
        settings = self._settings(setting.client, linger_ms=setting.linger_ms)
        took: list[float] = []
        loop = asyncio.get_running_loop()
        async with Producer(settings, transport=network, trace=trace) as producer:
            await _first(producer)
            network.requests = network.bytes = 0
            began = loop.time()
            for number in range(MEASURED):
                if setting.paced:
                    await asyncio.sleep(max(began + number * EVERY_S - loop.time(), 0))
                sent = loop.time()

                def acked(
                    _: RecordMetadata | None, error: KafkaException | None, sent: float = sent
                ) -> None:
                    if error is None:
                        took.append((loop.time() - sent) * 1_000)

                await producer.send(
                    TOPIC, bytes(VALUE_BYTES), partition=PARTITION, on_delivery=acked
                )
            await producer.flush()
        self._place.emit(
            ProducerMeasured(
                client=setting.client,
                linger_ms=setting.linger_ms,
                records=len(took),
                requests=network.requests,
                bytes=network.bytes,
                median_ms=round(statistics.median(took)),
            )
        )

    async def _reorder(self, name: str, how: Reordering, trace: Tracer) -> None:
        """Send five records at once, of which the first one is damaged on its way.

        Each record is a batch of its own. All five `send` calls run before the sender's next turn,
        which then sends as many requests as may be in flight.
        """
        network = FaultyNetwork(SocketTransport(), damage=b"record 1")
        settings = self._settings(
            name,
            batch_size=0,
            enable_idempotence=how.idempotent,
            max_in_flight_requests_per_connection=how.in_flight,
        )
        async with Producer(settings, transport=network, trace=trace) as producer:
            start = await _first(producer)
            values = [b"record %d" % (number + 1) for number in range(IN_FLIGHT)]
            futures = await asyncio.gather(
                *(producer.send(TOPIC, value, partition=PARTITION) for value in values)
            )
            for future in futures:
                await future
        self._list(name, await self._read(_from(start), "record"))

    async def _lose_answer(self, name: str, how: LostAnswer, trace: Tracer) -> None:
        """Send one record whose response is lost, and count how often the record is in the log."""
        network = FaultyNetwork(SocketTransport(), lose=b"payment")
        settings = self._settings(name, enable_idempotence=how.idempotent, retries=how.retries)
        async with Producer(settings, transport=network, trace=trace) as producer:
            start = await _first(producer)
            error = ""
            try:
                await (await producer.send(TOPIC, b"payment", partition=PARTITION))
            except KafkaException as failed:
                error = failed.error.name
        self._place.emit(ClientProduced(client=name, sent=1, acked=0 if error else 1, error=error))
        self._list(name, await self._read(_from(start), "payment"))

    async def _numbers(self, trace: Tracer) -> None:
        """Send 1 to 10 to the partitions in turn, and read all records with one consumer."""
        settings = self._settings("numbers", partitioner_class="RoundRobinPartitioner")
        async with Producer(settings, trace=trace) as producer:
            partitions = await producer.partitions_for(NUMBERS)
            start = await ends_of(self._place.bootstrap_servers, partitions)
            for number in range(10):
                await producer.send(NUMBERS, b"number %d" % (number + 1))
            await producer.flush()
        self._list("numbers", await self._read(start, "number"))

    async def _exit(self, trace: Tracer) -> None:
        """Run a program that sends ten records and ends. Check which of them are stored."""
        async with Producer(self._settings("before"), trace=trace) as producer:
            start = await _first(producer)
        program = await asyncio.create_subprocess_exec(
            *python_command(hasty_program.__name__, self._place.bootstrap_servers, TOPIC),
            env=python_environment(),
            stdout=asyncio.subprocess.PIPE,
        )
        printed, _ = await program.communicate()
        sent, called = map(int, printed.split())
        self._place.emit(ClientProduced(client="exit", sent=sent, acked=called, error=""))
        self._list("exit", await self._read(_from(start), "line"))

    async def _read(self, start: Mapping[TopicPartition, int], kind: str) -> list[str]:
        """Read from these offsets to the end of the log, and keep the values that begin with
        `kind`. Return the last word of each, in the order in which a consumer gets them.
        """
        values = [record.value for record in await read_from(self._place.bootstrap_servers, start)]
        return [
            value.decode().rpartition(" ")[2]
            for value in values
            if isinstance(value, bytes) and value.startswith(kind.encode())
        ]

    def _list(self, client: str, words: list[str]) -> None:
        self._place.emit(ClientListed(client=client, records=len(words), values="-".join(words)))


async def _first(producer: Producer) -> int:
    """Send a first record, so that the producer is connected. Return the record's offset plus 1.

    Raises KafkaException if no attempt succeeds. With retries=0, an attempt sends it once.
    """
    for attempt in range(FIRST_ATTEMPTS):
        try:
            metadata = await (await producer.send(TOPIC, b"first", partition=PARTITION))
        except KafkaException:
            if attempt == FIRST_ATTEMPTS - 1:
                raise
        else:
            return metadata.offset + 1
    raise AssertionError("unreachable: the loop returns or raises")


def _from(offset: int) -> dict[TopicPartition, int]:
    """Return the place to read from, in the partition that most jobs write to."""
    return {TopicPartition(TOPIC, PARTITION): offset}
