"""Our consumer in a separate process, with one part replaced by the learner's code. `Reader` runs
the process.

The program polls all the time, and gives the records to workers. A worker finishes a record when
the live part orders it. These are the orders:

    ["subscribe", [topic, …]]                    read as a member of the group
    ["assign", [[topic, partition], …]]          read these partitions
    ["state"]                                    see `State`
    ["finish", [[topic, partition, offset], …]]  workers end these records
    ["commit", now_ms]                           commit if it is due; what was committed
    ["seek", topic, partition, place]            "beginning", "end", or ms since 1970
    ["forget"]                                   forget the records that poll() has returned
    ["end"]                                      the consumer is closed
"""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer import record_progress
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.clients.consumer.consumer_record import ConsumerRecord
from kafka_edu.clients.consumer.subscription_state import OffsetAndMetadata
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.seams import CONSUMER
from kafka_edu.trace.tracer import Tracer

from .learner_program import LearnerProgram, NoAnswerError, Obey, learner_program, run_program

VALUES: Final[Mapping[str, object]] = {"value.deserializer": bytes.decode}
COMMIT_INTERVAL_MS: Final = 1_000
POLL_MS: Final = 100
LOOK_EVERY_S: Final = 0.05
Place = tuple[str, int, int]
"""A topic, a partition, and an offset."""


class State(NamedTuple):
    """The state of the program."""

    pid: int
    assigned: list[list[Any]]
    """[topic, partition] of each partition that the consumer has."""
    polled: list[list[Any]]
    """[topic, partition, offset, value] of each record that poll() has returned."""
    rebalances: int
    """How often partitions were assigned or revoked."""
    errors: list[str]
    """The errors that poll() and the commits in a rebalance have raised, each once."""


class Reader:
    """The process of a consumer, and the orders to it."""

    def __init__(self, program: LearnerProgram) -> None:
        self._order = program.order
        self.judge_calls = program.judge_calls
        self.listener = program.listener
        self.patience_s = program.patience_s

    def state(self) -> State:
        """Return the state of the program. Raises NoAnswerError."""
        came = self._order("state")
        assert isinstance(came, list)
        return State(*came)

    def wait_for(self, done: Callable[[State], bool], late: str) -> State:
        """Wait until `done` accepts the program's state. Raises NoAnswerError with `late`."""
        end = time.monotonic() + self.patience_s
        while not done(state := self.state()):
            if time.monotonic() > end:
                errors = f"; its errors: {', '.join(state.errors)}" if state.errors else ""
                raise NoAnswerError(f"{late} within {self.patience_s:.0f} s{errors}")
            time.sleep(LOOK_EVERY_S)
        return state

    def subscribe(self, topic: str) -> None:
        """Read a topic as a member of the group."""
        self._order("subscribe", [topic])

    def assign(self, topic: str, partitions: Iterable[int]) -> None:
        """Read these partitions of a topic."""
        self._order("assign", [[topic, partition] for partition in partitions])

    def finish(self, records: Sequence[Place]) -> None:
        """Let workers finish these records, in this order."""
        self._order("finish", records)

    def commit(self, now_ms: int) -> dict[tuple[str, int], int]:
        """Let the program commit if a commit is due at `now_ms`. Return the committed offsets."""
        came = self._order("commit", now_ms)
        assert isinstance(came, list)
        return {(topic, partition): offset for topic, partition, offset in came}

    def seek(self, topic: str, partition: int, place: str | int) -> None:
        """Go to the "beginning", to the "end", or to a time in ms."""
        self._order("seek", topic, partition, place)

    def forget(self) -> None:
        """Forget the records that poll() has returned so far."""
        self._order("forget")

    def kill(self) -> None:
        """End the process with SIGKILL, as `kill -9` does."""
        os.kill(self.state().pid, signal.SIGKILL)


@contextmanager
def reader(
    exercise: str, file: Path | None, config: Mapping[str, object], patience_s: float
) -> Iterator[Reader]:
    """Run a consumer with the learner's `file` for the length of a `with` block.

    If `file` is None, it runs the course's own code. Raises ClusterError.
    """
    module = __spec__.name if __spec__ is not None else __name__
    with learner_program("consumer", module, exercise, file, config, patience_s) as program:
        yield Reader(program)


class _Program:
    """The consumer's process: it polls, and carries out the orders."""

    def __init__(self, consumer: Consumer, end: Callable[[], None]) -> None:
        self._consumer = consumer
        self._end = end
        self._progress = record_progress.RecordProgress(COMMIT_INTERVAL_MS)
        self._polled: list[ConsumerRecord] = []
        self._polling: asyncio.Task[None] | None = None
        self._rebalances = 0
        self._errors: dict[str, None] = {}

    async def obey(self, order: str, *words: Any) -> object:
        """Carry out one order, and return its answer."""
        match order:
            case "subscribe":
                self._consumer.subscribe(
                    words[0],
                    on_assigned=self._assigned,
                    on_revoked=self._revoked,
                    on_lost=self._lost,
                )
                self._begin()
            case "assign":
                chosen = [TopicPartition(topic, partition) for topic, partition in words[0]]
                self._consumer.assign(chosen)
                self._progress.assigned(chosen)
                self._begin()
            case "state":
                return self._state()
            case "finish":
                for topic, partition, offset in words[0]:
                    self._progress.done(TopicPartition(topic, partition), offset)
            case "commit":
                return await self._commit(words[0])
            case "seek":
                self._seek(TopicPartition(words[0], words[1]), words[2])
            case "forget":
                self._polled.clear()
            case "end":
                await self.close()
            case _:
                raise ValueError(f"there is no order {order!r}")
        return None

    def _begin(self) -> None:
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())

    async def close(self) -> None:
        """End the polling, and close the consumer."""
        if self._polling is not None:
            self._polling.cancel()
            with suppress(asyncio.CancelledError):
                await self._polling
            self._polling = None
        await self._consumer.close()
        self._end()

    async def _poll(self) -> None:
        while True:
            try:
                records = await self._consumer.poll(POLL_MS)
            except ClientException as error:
                self._note(error)
                await asyncio.sleep(POLL_MS / 1_000)
                continue
            offsets: dict[TopicPartition, list[int]] = {}
            for record in records:
                tp = TopicPartition(record.topic, record.partition)
                offsets.setdefault(tp, []).append(record.offset)
            for tp, some in offsets.items():
                self._progress.polled(tp, some)
            self._polled += records

    def _note(self, error: ClientException) -> None:
        self._errors[f"{type(error).__name__}: {error.message}"] = None

    def _assigned(self, partitions: Sequence[TopicPartition]) -> None:
        self._rebalances += 1
        self._progress.assigned(partitions)

    async def _revoked(self, partitions: Sequence[TopicPartition]) -> None:
        self._rebalances += 1
        offsets = self._progress.revoked(partitions)
        try:
            await self._consumer.commit(_committed(offsets))
        except ClientException as error:
            self._note(error)

    def _lost(self, partitions: Sequence[TopicPartition]) -> None:
        self._rebalances += 1
        self._progress.lost(partitions)

    async def _commit(self, now_ms: int) -> list[Place]:
        offsets = self._progress.due(now_ms)
        if not offsets:
            return []
        try:
            await self._consumer.commit(_committed(offsets))
        except ClientException as error:
            self._note(error)
            self._progress.answered(False)
            return []
        self._progress.answered(True)
        return [(tp.topic, tp.partition, offset) for tp, offset in offsets.items()]

    def _seek(self, tp: TopicPartition, place: str | int) -> None:
        if place == "beginning":
            self._consumer.seek_to_beginning([tp])
        elif place == "end":
            self._consumer.seek_to_end([tp])
        else:
            self._consumer.seek_to_time(int(place), [tp])

    def _state(self) -> State:
        return State(
            os.getpid(),
            [list(tp) for tp in self._consumer.assignment()],
            [[one.topic, one.partition, one.offset, one.value] for one in self._polled],
            self._rebalances,
            [*self._errors],
        )


def _committed(offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, OffsetAndMetadata]:
    return {tp: OffsetAndMetadata(offset) for tp, offset in offsets.items()}


@asynccontextmanager
async def _program(
    config: Mapping[str, Any], trace: Tracer, ended: Callable[[], None]
) -> AsyncIterator[Obey]:
    async with Consumer({**VALUES, **config}, trace=trace) as consumer:
        program = _Program(consumer, ended)
        yield program.obey


if __name__ == "__main__":
    sys.exit(run_program(CONSUMER, _program))
