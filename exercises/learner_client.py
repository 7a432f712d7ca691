"""Our producer in a process of its own, with one of its parts replaced by the learner's code.

    python -m exercises.learner_client 12-2=/home/me/lab/12-2/partitioner.py EVENTS-FILE CONFIG

CONFIG is a JSON object with the producer's settings. Each line of standard input is an order, as
JSON, and is answered by a line when it is done:

    ["send", [[topic, partition | null, key | null, value, callback], …]]   all are in batches
    ["flush"]      each record has its outcome: [[partition, offset] | "error", …]
    ["called"]     the callbacks that were called: [[value, [partition, offset] | "error"], …]
    ["end"]        the producer is closed

The events go to the clients that connect to the socket in EVENTS-FILE.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from select import poll
from typing import Any, Final, NamedTuple

from kafka_edu.clients.producer.producer import FutureRecordMetadata, Producer
from kafka_edu.clients.producer.producer_batch import RecordMetadata
from kafka_edu.common.errors import KafkaException
from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import PRODUCER, LearnerCode, LearnerError, install
from kafka_edu.supervisor.cluster import ClusterError
from kafka_edu.trace.event import CLIENT
from kafka_edu.trace.events.learner import LearnerFailed, LearnerServed
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_client import EventsAddress
from kafka_edu.trace.tracer import Tracer

from .learner_broker import Listener
from .runner.verdict import Step

_LOOK_EVERY_MS: Final = 100


START_LIMIT_S: Final = 120.0
"""The longest start of the producer's process, in seconds. No code of a learner runs in it."""
EVENTS: Final = "events"
OUTPUT: Final = "output"


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


class NoAnswerError(Exception):
    """The producer has not carried out an order within the time limit of the live part."""


class LearnerClient:
    """The process of a producer with the learner's code, and the listener to its events."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path, patience_s: float) -> None:
        """Wait until the producer takes orders. Raises ClusterError."""
        self._process = process
        self._folder = folder
        self._answers = b""
        self.patience_s = patience_s
        try:
            self._line("the producer has not started", START_LIMIT_S)
        except NoAnswerError as error:
            raise ClusterError(str(error)) from None
        self.listener = Listener(EventsAddress.read(str(folder / EVENTS)), since_us=0)

    def send(self, records: Sequence[Record]) -> None:
        """Let the producer put these records into batches, in this order. Raises NoAnswerError."""
        self._order("send", records)

    def flush(self) -> list[Outcome]:
        """Wait for the outcomes of all records since the last flush. Raises NoAnswerError."""
        outcomes = self._order("flush")
        assert isinstance(outcomes, list)
        return [one if isinstance(one, str) else Stored(*one) for one in outcomes]

    def called(self) -> list[tuple[str, Outcome]]:
        """Return the callbacks that were called since the last time, each with the value of its
        record, in their order. Raises NoAnswerError.
        """
        called = self._order("called")
        assert isinstance(called, list)
        return [(value, end if isinstance(end, str) else Stored(*end)) for value, end in called]

    def _order(self, *words: object) -> object:
        """Write an order, and return its answer. Raises NoAnswerError and ClusterError."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended: the answer says so
            self._process.stdin.write(json.dumps(words).encode() + b"\n")
            self._process.stdin.flush()
        late = f"the producer has not done its order `{words[0]}`"
        return json.loads(self._line(late, self.patience_s))

    def _line(self, late: str, patience_s: float) -> bytes:
        """Return the next line that the process prints. Raises NoAnswerError and ClusterError."""
        assert self._process.stdout is not None
        poller = poll()
        poller.register(self._process.stdout)
        end = time.monotonic() + patience_s
        while b"\n" not in self._answers:
            if not poller.poll(_LOOK_EVERY_MS):
                if time.monotonic() > end:
                    raise NoAnswerError(f"{late} after {patience_s:.0f} s")
                continue
            came = os.read(self._process.stdout.fileno(), 1 << 16)
            if not came:
                said = (self._folder / OUTPUT).read_text(encoding="utf-8").strip()
                raise ClusterError(f"the producer has ended: {said[-2_000:] or 'it said nothing'}")
            self._answers += came
        line, _, self._answers = self._answers.partition(b"\n")
        return line

    def judge_calls(self, seen: str) -> Step:
        """Close the producer. The step passes if the learner's code was called, and no call failed.

        The step shows `seen`, the result of the calls.
        """
        says = "your code did it, without an error"
        self._order("end")
        listener = self.listener
        listener.wait_for(lambda: listener.count(LearnerServed) > 0, self.patience_s)
        failed = [event for event in listener.events() if isinstance(event, LearnerFailed)]
        if failed:
            first = failed[0]
            where = f"line {first.line}: " if first.line else ""
            return Step(says, False, f"{where}{first.message} ({failed[-1].failures} times)")
        calls = sum(e.total.calls for e in listener.events() if isinstance(e, LearnerServed))
        if calls == 0:
            return Step(says, False, "the producer did not ask your class once")
        return Step(says, True, f"asked {calls:,} times; {seen}")


@contextmanager
def learner_client(
    exercise: str, file: Path | None, config: Mapping[str, object], patience_s: float
) -> Iterator[LearnerClient]:
    """Run a producer with the learner's `file` for the length of a `with` block.

    If `file` is None, it runs the course's own code. Raises ClusterError.
    """
    with (
        tempfile.TemporaryDirectory(prefix="kafka-edu-", ignore_cleanup_errors=True) as folder,
        ExitStack() as stack,
    ):
        place = Path(folder)
        with (place / OUTPUT).open("wb") as output:
            process = subprocess.Popen(
                python_command(
                    "kafka_edu.supervisor.supervised_child",
                    str(os.getpid()),
                    __spec__.name if __spec__ is not None else __name__,
                    f"{exercise}={file.absolute()}" if file is not None else "",
                    str(place / EVENTS),
                    json.dumps(config),
                ),
                env=python_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
            )
        stack.callback(process.communicate)
        stack.callback(process.kill)
        client = LearnerClient(process, place, patience_s)
        stack.callback(client.listener.close)
        yield client


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
        """Note that the callback of the record with this value was called."""
        self._called.append((value, _end(metadata, error)))


def _end(metadata: RecordMetadata | None, error: KafkaException | None) -> Outcome:
    """Return the outcome of a record: the two arguments of its callback."""
    if metadata is None:
        return error.error.name if error is not None else "nothing"
    return Stored(metadata.partition, metadata.offset)


def _outcome(future: FutureRecordMetadata) -> Outcome:
    error = future.exception()
    return _end(future.result() if error is None else None, error)


async def _serve(codes: Sequence[LearnerCode], events: str, config: Mapping[str, object]) -> None:
    """Publish the events, and carry out the orders of standard input until it is closed."""
    clock, transport = SystemTime(), SocketTransport()
    tracer = Tracer(CLIENT, clock)
    server = EventServer(tracer, transport, clock, secrets.token_hex(16))
    if not await server.publish(events):
        raise OSError(f"the events cannot be published in {events}")
    running = asyncio.create_task(server.run())
    ended = trace_learner(codes, tracer)
    loop = asyncio.get_running_loop()
    try:
        async with Producer(config, trace=tracer) as producer:
            program = _Program(producer, ended)
            print("ready", flush=True)
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                print(json.dumps(await program.obey(*json.loads(line))), flush=True)
    finally:
        running.cancel()
        server.close()


def main() -> int:
    """Install the learner's code, and then run the producer. Return the exit code."""
    spec, events, config = sys.argv[1:]
    try:
        codes = install(spec, PRODUCER)
    except (ValueError, LearnerError) as error:
        print(f"the producer cannot start: {error}", file=sys.stderr)
        return 1
    try:
        asyncio.run(_serve(codes, events, json.loads(config)))
    finally:
        for code in codes:
            code.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
