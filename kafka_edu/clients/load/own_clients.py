"""The clients of `kafka-edu load`: our own producers and consumers.

The clients use the load's tracer, so dashboards and recordings get their events and samples. The
clients are tasks of the event loop that also calls `Load.tick` and serves the load's events.
"""

import asyncio
import random
from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import Final

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer, ConsumerStateException
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
from kafka_edu.clients.pace import Pace
from kafka_edu.clients.producer.producer import Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.tasks import report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Transport
from kafka_edu.trace.tracer import Tracer

_STEP_S: Final = 0.005
_POLL_MS: Final = 100
_AT_ONCE: Final = 500
"""After this many records, a producer lets other tasks of the event loop run."""
_ERROR_PAUSE_S: Final = 0.1
_BATCH: Final = 16_384
_LARGE_BATCH: Final = 131_072
"""batch.size for more than _FAST records a second. Below that, Kafka's default is used. On a busy
machine this larger size raised the highest possible rate by a factor of 1.5 to 2.5 (measured).
"""
_FAST: Final = 10_000


def own_clients(
    spec: LoadSpec,
    bootstrap_servers: str,
    clock: Time,
    trace: Tracer,
    transport: Transport | None = None,
    chance: random.Random | None = None,
    first: int | None = None,
) -> LoadClients:
    """Return our own producers and consumers. They start on the running event loop.

    A simulation hands in its network, its random numbers, and the number of the first record.
    """
    first = first_number() if first is None else first
    outcomes: deque[Outcome] = deque()
    producers = [
        OwnProducer(
            Producer(
                {
                    "bootstrap.servers": bootstrap_servers,
                    "client.id": f"load-producer-{i + 1}",
                    "acks": spec.acks,
                    "enable.idempotence": spec.acks == "all",
                    "linger.ms": 5,
                    "batch.size": _BATCH if spec.rate <= _FAST else _LARGE_BATCH,
                    "delivery.timeout.ms": 120_000,
                    "metadata.max.age.ms": 1_000,
                    "reconnect.backoff.max.ms": 500,
                },
                time=clock,
                trace=trace,
                transport=transport,
                chance=chance,
            ),
            spec,
            first + i,
            outcomes,
            clock,
        )
        for i in range(spec.producers)
    ]
    consumers = [
        OwnConsumer(
            Consumer(
                {
                    "bootstrap.servers": bootstrap_servers,
                    "client.id": f"load-consumer-{i + 1}",
                    "group.id": spec.group,
                    "auto.offset.reset": "earliest",
                    "auto.commit.interval.ms": 1_000,
                    "session.timeout.ms": 10_000,
                    "reconnect.backoff.max.ms": 500,
                },
                time=clock,
                trace=trace,
                transport=transport,
                chance=chance,
            ),
            spec.topic,
            outcomes,
        )
        for i in range(spec.consumers)
    ]
    return LoadClients(producers, consumers, outcomes, first)


class OwnProducer:
    """Send records at a steady rate.

    The records have the numbers `first`, `first + spec.producers`, and so on, so that several
    producers never use the same number.
    """

    def __init__(
        self,
        client: Producer,
        spec: LoadSpec,
        first: int,
        outcomes: "deque[Outcome]",
        clock: Time,
    ) -> None:
        self.waiting: dict[int, int] = {}
        """Number of each unanswered record → the clock's ms when it was sent, the oldest first."""
        self.sent = 0
        self._client = client
        self._spec = spec
        self._first = first
        self._outcomes = outcomes
        self._clock = clock
        self._pace = Pace(spec.rate / spec.producers, MOST_BEHIND_S)
        self._stop = asyncio.Event()
        self._failure = ""
        self._failed_early: KafkaException | None = None
        """The error of the record that is being sent, if it failed before `send` returned."""
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = _started("producer", self._run(), self._outcomes)

    async def _run(self) -> None:
        await self._client.start()
        while not self._stop.is_set():
            await self._turn()
            self._note_failure()
            await asyncio.sleep(_STEP_S)

    async def _turn(self) -> None:
        """Send the records that are due."""
        now_s = self._clock.hi_res_clock_ms() / 1000
        for done in range(1, self._pace.due(self.sent, now_s) + 1):
            if self._stop.is_set() or len(self.waiting) >= MAX_WAITING or not await self._send():
                return
            if done % _AT_ONCE == 0:
                await asyncio.sleep(0)

    async def _send(self) -> bool:
        """Send the next record. Return False if the producer had no memory or no metadata for it.
        In this case, the record counts as not sent.
        """
        spec = self._spec
        number = self._first + self.sent * spec.producers
        self.waiting[number] = self._clock.hi_res_clock_ms()
        try:
            future = await self._client.send(
                spec.topic,
                record_value(number, spec.size),
                key=b"key-%d" % (number % spec.keys) if spec.keys else None,
                on_delivery=partial(self._on_delivery, number),
            )
        except BaseException:
            self.waiting.pop(number, None)  # it is not sent, so it does not wait
            raise
        failed, self._failed_early = self._failed_early, None
        if not future.in_batch:
            self.waiting.pop(number, None)
            self._outcomes.append(Refused(-1, str(future.exception())))
            return False
        self.sent += 1
        if failed is not None:
            self._on_delivery(number, None, failed)
        return True

    def _on_delivery(
        self, number: int, metadata: RecordMetadata | None, error: KafkaException | None
    ) -> None:
        if metadata is not None:
            self.waiting.pop(number, None)
            if metadata.offset < 0:
                self._outcomes.append(Sent(metadata.partition))
            else:
                record = StoredRecord(metadata.partition, metadata.offset, number)
                self._outcomes.append(Acked(record))
        elif number < self._first + self.sent * self._spec.producers:
            self.waiting.pop(number, None)
            self._outcomes.append(Refused(number, str(error)))
        else:
            self._failed_early = error

    def _note_failure(self) -> None:
        """Store the reason why a connection was lost as the load's last error."""
        failure = self._client.last_failure
        if failure and failure != self._failure:
            self._outcomes.append(Refused(-1, failure))
        self._failure = failure

    def oldest(self) -> int | None:
        """Return when the oldest unanswered record was sent, in ms of the clock, or None."""
        return next(iter(self.waiting.values()), None)

    async def finish(self, timeout_s: float) -> int:
        """Stop sending, and wait for the answers.

        Return the number of records without an answer. Each of these records fails with an error.
        """
        self._stop.set()
        end_s = asyncio.get_running_loop().time() + timeout_s
        if self._task is not None:
            await asyncio.wait([self._task], timeout=timeout_s)
        left_s = max(end_s - asyncio.get_running_loop().time(), 0)
        try:
            async with asyncio.timeout(left_s):
                await self._client.flush()
        except TimeoutError:
            pass  # the remaining records fail now
        left = len(self.waiting)
        await self._client.close(timeout_s=0)
        if self._task is not None:
            await asyncio.wait([self._task])
        return left


class OwnConsumer:
    """Read the topic as a member of a group.

    It begins at the group's committed offsets. If there are none, it begins at the start of the
    topic.
    """

    def __init__(self, client: Consumer, topic: str, outcomes: "deque[Outcome]") -> None:
        self._client = client
        self._topic = topic
        self._outcomes = outcomes
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = _started("consumer", self._run(), self._outcomes)

    async def _run(self) -> None:
        await self._client.start()
        self._client.subscribe([self._topic])
        while not self._stop.is_set():
            try:
                records = await self._client.poll(_POLL_MS)
            except ConsumerStateException:
                raise  # a bug has ended the consumer: the load closes it only after this task
            except ClientException as error:
                self._outcomes.append(Refused(-1, str(error)))
                await asyncio.sleep(_ERROR_PAUSE_S)
                continue
            for record in records:
                number = number_of(record.value if isinstance(record.value, bytes) else None)
                if number is not None:
                    found = StoredRecord(record.partition, record.offset, number)
                    self._outcomes.append(Found(found))
            await asyncio.sleep(0)

    async def finish(self) -> None:
        """Commit, leave the group and stop. This takes LEAVE_S at most."""
        self._stop.set()
        if self._task is not None:
            await asyncio.wait([self._task])
        await self._client.close(timeout_s=LEAVE_S)


def _started(
    client: str, run: Coroutine[None, None, None], outcomes: "deque[Outcome]"
) -> asyncio.Task[None]:
    """Start the task of a client. If a bug ends the task, the load gets the outcome Broken, and
    the event loop gets the exception: it logs a traceback, and a simulation counts it as a fault.
    """

    def note(name: str, error: BaseException) -> None:
        bug = error.__cause__ or error  # a closed client raises an error that the bug has caused
        broken = Broken.by(bug, name)
        outcomes.append(broken)
        context = {"message": f"a load: {broken.error}", "exception": bug}
        asyncio.get_running_loop().call_exception_handler(context)

    task = asyncio.create_task(run, name=client)
    report_failure(task, note)
    return task
