"""Our consumers in a separate process, with one part replaced by the learner's code.

`learner_program` runs the process. Each consumer is polled all the time. The process carries out
these orders:

    ["open", name, config, [topic, …]]   a consumer reads these topics from now on
    ["close", name]                      it is closed, and has left its group
    ["members"]    {name: [member id, generation, [[topic, partition], …], error]}
    ["read"]       the records since the last time: [[name, topic, partition, offset], …]
    ["end"]        all are closed
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.clients.consumer.consumer import Consumer
from kafka_edu.common.topic_partition import TopicPartition
from kafka_edu.learner.seams import CONSUMER
from kafka_edu.trace.tracer import Tracer

from .learner_program import LearnerProgram, Obey, learner_program, run_program

POLL_MS: Final = 200


class Membership(NamedTuple):
    """One consumer of the learner's process at one moment."""

    member_id: str
    generation: int
    partitions: tuple[TopicPartition, ...]
    error: str
    """The error that has ended the consumer; empty if it works."""


class Read(NamedTuple):
    """A record that a consumer of the learner's process has read."""

    name: str
    partition: TopicPartition
    offset: int


class LearnerConsumers:
    """A process that runs consumers with the learner's code. The methods send it orders."""

    def __init__(self, program: LearnerProgram) -> None:
        self.order = program.order
        self.judge_calls = program.judge_calls
        self.listener = program.listener
        self.patience_s = program.patience_s

    def open(self, name: str, config: Mapping[str, object], topics: Sequence[str]) -> None:
        """Let a consumer read these topics. Raises NoAnswerError."""
        self.order("open", name, config, topics)

    def close(self, name: str) -> None:
        """Let a consumer leave its group, and close it. Raises NoAnswerError."""
        self.order("close", name)

    def members(self) -> dict[str, Membership]:
        """Return each consumer's membership. Raises NoAnswerError."""
        found = self.order("members")
        assert isinstance(found, dict)
        return {
            name: Membership(member, generation, tuple(TopicPartition(*one) for one in has), error)
            for name, (member, generation, has, error) in found.items()
        }

    def read(self) -> list[Read]:
        """Return the records that the consumers have read since the last call. Raises
        NoAnswerError.
        """
        found = self.order("read")
        assert isinstance(found, list)
        return [
            Read(name, TopicPartition(topic, number), offset)
            for name, topic, number, offset in found
        ]

    def wait_for(self, done: Callable[[], bool]) -> bool:
        """Wait until `done` returns True. Return False if that takes more than `patience_s`
        seconds.
        """
        return self.listener.wait_for(done, self.patience_s)


@contextmanager
def learner_consumers(
    exercise: str, file: Path | None, patience_s: float
) -> Iterator[LearnerConsumers]:
    """Run a process of consumers with the learner's `file` for the length of a `with` block.

    If `file` is None, they run the course's own code. Raises ClusterError.
    """
    module = __spec__.name if __spec__ is not None else __name__
    with learner_program("consumer", module, exercise, file, {}, patience_s) as program:
        yield LearnerConsumers(program)


class _One:
    """One consumer, and the task that polls it."""

    def __init__(self, consumer: Consumer, note: Callable[[Sequence[Any]], None]) -> None:
        self.consumer = consumer
        self.error = ""
        self._note = note
        self.task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            while True:
                self._note(await self.consumer.poll(POLL_MS))
        except ClientException as error:
            self.error = str(error)

    async def close(self) -> None:
        """End the task, and then the consumer."""
        self.task.cancel()
        await asyncio.wait([self.task])
        await self.consumer.close()

    def row(self) -> list[object]:
        """Return the consumer's membership as a list."""
        group = self.consumer.group_metadata()
        has = [list(one) for one in self.consumer.assignment()]
        return [group.member_id, group.generation_id, has, self.error]


class _Program:
    """The consumers' process: it carries out the orders."""

    def __init__(self, trace: Tracer, end: Callable[[], None]) -> None:
        self._trace = trace
        self._end = end
        self._all: dict[str, _One] = {}
        self._read: list[list[object]] = []

    async def obey(self, order: str, *words: Any) -> object:
        """Carry out one order, and return its answer."""
        match order:
            case "open":
                name, config, topics = words
                consumer = Consumer(config, trace=self._trace)
                await consumer.start()
                consumer.subscribe(topics)
                self._all[name] = _One(consumer, lambda records: self._note(name, records))
                return None
            case "close":
                await self._all.pop(words[0]).close()
                return None
            case "members":
                return {name: one.row() for name, one in self._all.items()}
            case "read":
                found, self._read = self._read, []
                return found
            case "end":
                await self.close()
                self._end()
                return None
        raise ValueError(f"there is no order {order!r}")

    def _note(self, name: str, records: Sequence[Any]) -> None:
        self._read += [[name, one.topic, one.partition, one.offset] for one in records]

    async def close(self) -> None:
        """Close all consumers."""
        while self._all:
            await self._all.popitem()[1].close()


@asynccontextmanager
async def _program(
    config: Mapping[str, Any], trace: Tracer, ended: Callable[[], None]
) -> AsyncIterator[Obey]:
    program = _Program(trace, ended)
    try:
        yield program.obey
    finally:
        await program.close()


if __name__ == "__main__":
    sys.exit(run_program(CONSUMER, _program))
