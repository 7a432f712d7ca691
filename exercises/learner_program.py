"""Run a program with the learner's code in a separate process, and let it carry out orders.

    python -m exercises.learner_client 12-2=/home/me/lab/12-2/partitioner.py EVENTS-FILE CONFIG

CONFIG is a JSON object with the program's settings. Each line of standard input is an order, as
JSON, and is answered by a line when it is done. The events go to the clients that connect to the
socket in EVENTS-FILE.
"""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from select import poll
from typing import Any, Final

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.learner.learner_trace import trace_learner
from kafka_edu.learner.seams import LearnerCode, LearnerError, install
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
"""The longest start of the program's process, in seconds. No code of a learner runs in it."""
EVENTS: Final = "events"
OUTPUT: Final = "output"

Obey = Callable[..., Awaitable[object]]
"""Carries out one order, given as its name and its words, and returns the answer."""
Program = Callable[
    [Mapping[str, Any], Tracer, Callable[[], None]], AbstractAsyncContextManager[Obey]
]
"""Makes the program of a process from its settings, its tracer, and a function to call at its end.
"""


class NoAnswerError(Exception):
    """The program has not carried out an order within the time limit of the live part."""


class LearnerProgram:
    """The process of a program with the learner's code, and the listener to its events."""

    def __init__(
        self, name: str, process: "subprocess.Popen[bytes]", folder: Path, patience_s: float
    ) -> None:
        """Wait until the program takes orders. `name` is what messages call it, such as "producer".

        Raises ClusterError.
        """
        self._name = name
        self._process = process
        self._folder = folder
        self._answers = b""
        self.patience_s = patience_s
        try:
            self._line(f"the {name} has not started", START_LIMIT_S)
        except NoAnswerError as error:
            raise ClusterError(str(error)) from None
        self.listener = Listener(EventsAddress.read(str(folder / EVENTS)), since_us=0)

    def order(self, *words: object) -> object:
        """Send an order, and return the answer to it. Raises NoAnswerError and ClusterError."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the process has ended: the answer says so
            self._process.stdin.write(json.dumps(words).encode() + b"\n")
            self._process.stdin.flush()
        late = f"the {self._name} has not done its order `{words[0]}`"
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
                raise ClusterError(
                    f"the {self._name} has ended: {said[-2_000:] or 'it said nothing'}"
                )
            self._answers += came
        line, _, self._answers = self._answers.partition(b"\n")
        return line

    def judge_calls(self, seen: str) -> Step:
        """End the program. The step passes if the learner's code was called, and no call failed.

        The step shows `seen`, the result of the calls.
        """
        says = "your code did it, without an error"
        self.order("end")
        listener = self.listener
        listener.wait_for(lambda: listener.count(LearnerServed) > 0, self.patience_s)
        failed = [event for event in listener.events() if isinstance(event, LearnerFailed)]
        if failed:
            first = failed[0]
            where = f"line {first.line}: " if first.line else ""
            return Step(says, False, f"{where}{first.message} ({failed[-1].failures} times)")
        calls = sum(e.total.calls for e in listener.events() if isinstance(e, LearnerServed))
        if calls == 0:
            return Step(says, False, f"the {self._name} did not ask your class once")
        return Step(says, True, f"asked {calls:,} times; {seen}")


@contextmanager
def learner_program(
    name: str,
    module: str,
    exercise: str,
    file: Path | None,
    config: Mapping[str, object],
    patience_s: float,
) -> Iterator[LearnerProgram]:
    """Run `module` as a program with the learner's `file` for the length of a `with` block.

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
                    module,
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
        client = LearnerProgram(name, process, place, patience_s)
        stack.callback(client.listener.close)
        yield client


async def _serve(
    codes: Sequence[LearnerCode], events: str, config: Mapping[str, object], program: Program
) -> None:
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
        async with program(config, tracer, ended) as obey:
            print("ready", flush=True)
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                print(json.dumps(await obey(*json.loads(line))), flush=True)
    finally:
        running.cancel()
        server.close()


def run_program(process: str, program: Program) -> int:
    """Install the learner's code, and run the program. Return the exit code.

    `process` is the kind of process, such as "producer". It decides which code can be installed.
    """
    spec, events, config = sys.argv[1:]
    try:
        codes = install(spec, process)
    except (ValueError, LearnerError) as error:
        print(f"the {process} cannot start: {error}", file=sys.stderr)
        return 1
    try:
        asyncio.run(_serve(codes, events, json.loads(config), program))
    finally:
        for code in codes:
            code.close()
    return 0
