"""Our producer in a separate process, with one part replaced by the learner's code.

`learner_program` runs the process, which carries out these orders:

    ["send", [[topic, partition | null, key | null, value, callback], …]]   all are in batches
    ["flush"]      each record has its outcome: [[partition, offset] | "error", …]
    ["called"]     the callbacks that were called: [[value, [partition, offset] | "error"], …]
    ["end"]        the producer is closed
"""

import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kafka_edu.clients.producer.producer import FutureRecordMetadata, Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.learner.seams import PRODUCER
from kafka_edu.trace.tracer import Tracer

from .learner_program import LearnerProgram, NoAnswerError, Obey, learner_program, run_program

__all__ = ["LearnerClient", "NoAnswerError", "Outcome", "Record", "Stored", "learner_client"]


class Record(NamedTuple):
    """A record for the learner's producer."""

    topic: str
    partition: int | None
    """The partition; None if the partitioner chooses it."""
    key: str | None
    value: str
    callback: bool = False


class Stored(NamedTuple):
    """The place of an acknowledged record in the log."""

    partition: int
    offset: int


Outcome = Stored | str
"""The outcome for a record: where it is stored, or the name of its error."""


class LearnerClient:
    """A process that runs a producer with the learner's code. The methods send it orders."""

    def __init__(self, program: LearnerProgram) -> None:
        self.order = program.order
        self.judge_calls = program.judge_calls
        self.listener = program.listener
        self.patience_s = program.patience_s

    def send(self, records: Sequence[Record]) -> None:
        """Let the producer put these records into batches, in this order. Raises NoAnswerError."""
        self.order("send", records)

    def flush(self) -> list[Outcome]:
        """Wait for the outcomes of all records since the last flush. Raises NoAnswerError."""
        outcomes = self.order("flush")
        assert isinstance(outcomes, list)
        return [one if isinstance(one, str) else Stored(*one) for one in outcomes]

    def called(self) -> list[tuple[str, Outcome]]:
        """Return the callbacks that the producer has called since the last call of this method,
        each with the value of its record, in the order of the callbacks. Raises NoAnswerError.
        """
        called = self.order("called")
        assert isinstance(called, list)
        return [(value, end if isinstance(end, str) else Stored(*end)) for value, end in called]


@contextmanager
def learner_client(
    exercise: str, file: Path | None, config: Mapping[str, object], patience_s: float
) -> Iterator[LearnerClient]:
    """Run a producer with the learner's `file` for the length of a `with` block.

    If `file` is None, it runs the course's own code. Raises ClusterError.
    """
    module = __spec__.name if __spec__ is not None else __name__
    with learner_program("producer", module, exercise, file, config, patience_s) as program:
        yield LearnerClient(program)


class _Program:
    """The producer's process: it carries out the orders."""

    def __init__(self, producer: Producer, end: Callable[[], None]) -> None:
        self._producer = producer
        self._end = end
        self._sent: list[FutureRecordMetadata] = []
        self._called: list[tuple[str, Outcome]] = []

    async def obey(self, order: str, *words: Sequence[Sequence[Any]]) -> object:
        """Carry out one order, and return its answer."""
        match order:
            case "send":
                for topic, partition, key, value, callback in words[0]:
                    future = await self._producer.send(
                        topic,
                        value=value,
                        key=key,
                        partition=partition,
                        on_delivery=partial(self._note, value) if callback else None,
                    )
                    self._sent.append(future)
                return len(words[0])
            case "flush":
                await self._producer.flush()
                sent, self._sent = self._sent, []
                return [_outcome(future) for future in sent]
            case "called":
                called, self._called = self._called, []
                return called
            case "end":
                await self._producer.close()
                self._end()
                return None
        raise ValueError(f"there is no order {order!r}")

    def _note(
        self, value: str, metadata: RecordMetadata | None, error: KafkaException | None
    ) -> None:
        """Store that the callback of the record with this value was called."""
        self._called.append((value, _end(metadata, error)))


def _end(metadata: RecordMetadata | None, error: KafkaException | None) -> Outcome:
    """Return the outcome of a record: the two arguments of its callback."""
    if metadata is None:
        return error.error.name if error is not None else "nothing"
    return Stored(metadata.partition, metadata.offset)


def _outcome(future: FutureRecordMetadata) -> Outcome:
    error = future.exception()
    return _end(future.result() if error is None else None, error)


@asynccontextmanager
async def _program(
    config: Mapping[str, Any], trace: Tracer, ended: Callable[[], None]
) -> AsyncIterator[Obey]:
    async with Producer(config, trace=trace) as producer:
        yield _Program(producer, ended).obey


if __name__ == "__main__":
    sys.exit(run_program(PRODUCER, _program))
