"""One child process of the supervisor: a broker, a ZooKeeper server or the relay.

    stopped → running ⇄ paused
    running, paused → stopped

A child may end at any moment. All other changes of its state must be requested.
"""

import asyncio
import contextlib
import itertools
import os
import re
import signal
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from kafka_edu.common.python_process import python_command, python_environment
from kafka_edu.supervisor.patience import Patience
from kafka_edu.trace.event import Source
from kafka_edu.trace.events.supervisor import (
    ProcessEnded,
    ProcessPaused,
    ProcessResumed,
    ProcessStarted,
    how_ended,
)
from kafka_edu.trace.tracer import Tracer

REASONS: Final = (
    "the broker cannot start: ",
    "the broker has stopped, because ",
    "ZooKeeper cannot start: ",
    "ZooKeeper has stopped, because ",
)
"""The words in a child's output that come before the reason for its end."""
JAVA_REASON: Final = "Caused by: "
"""The words before the reason, in the output of a Java program that has ended with an error."""
_LOGGER_NAME: Final = re.compile(r" \([\w.]+\)$")


class ProcessState(StrEnum):
    STOPPED = "stopped"
    RUNNING = "running"
    PAUSED = "paused"


#: Each state → the states from which it may be entered.
VALID_PREVIOUS_STATES: Final[Mapping[ProcessState, frozenset[ProcessState]]] = {
    ProcessState.RUNNING: frozenset({ProcessState.STOPPED, ProcessState.PAUSED}),
    ProcessState.PAUSED: frozenset({ProcessState.RUNNING}),
    ProcessState.STOPPED: frozenset({ProcessState.RUNNING, ProcessState.PAUSED}),
}


class ProcessStateError(Exception):
    """The request is not possible in the child's current state."""


class Exit(NamedTuple):
    """How a child process ended."""

    code: int
    signal: str
    """The name of the signal that ended the child, or "" if it ended without a signal."""
    asked: bool
    reason: str = ""
    """The reason for its end that the child wrote to its output. It may have several lines. Empty
    if the end was requested.
    """

    @property
    def how(self) -> str:
        return how_ended(self.code, self.signal, "")

    def __str__(self) -> str:
        """Return in one line how the child ended, and why."""
        return how_ended(self.code, self.signal, self.reason)


_WHAT_TO_DO: Final = {ProcessState.STOPPED: "start", ProcessState.PAUSED: "resume"}


def state_trouble(process: str, state: ProcessState, ended: Exit | None = None) -> str:
    """Return why a process cannot answer, and what the user can do. Return "" if it runs. `ended`
    says how the process ended last.
    """
    todo = _WHAT_TO_DO.get(state)
    if todo is None:
        return ""
    why = f" ({ended})" if state is ProcessState.STOPPED and ended and ended.reason else ""
    return f"{process} is {state}{why}: {todo} it first"


class ChildProcess:
    """Starts, stops, kills, pauses and resumes one child. Only the supervisor's event loop may use
    it.
    """

    def __init__(
        self,
        name: str,
        source: Source,
        command: Sequence[str],
        log: Path,
        trace: Tracer,
        on_end: "Callable[[ChildProcess], None]",
    ) -> None:
        """`command` holds the arguments that follow `python -m
        kafka_edu.supervisor.supervised_child PID`. The child's output is appended to the file
        `log`.
        """
        self.name = name
        self.source = source
        self.state = ProcessState.STOPPED
        self.last_exit: Exit | None = None
        self._command = command
        self._log = log
        self._trace = trace
        self._on_end = on_end
        self._process: asyncio.subprocess.Process | None = None
        self._ended = asyncio.Event()
        self._ended.set()
        self._end_requested = False
        self._request_event = 0
        """The sequence number of the event that requested the child's end. The event ProcessEnded
        names it as its cause.
        """
        self._log_start = 0
        self._watcher: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """The process id of the child, or 0 while it is stopped."""
        return self._process.pid if self._process is not None else 0

    @property
    def ended_alone(self) -> str:
        """How and why the child ended, in one line. Empty if the child runs, or if its end was
        requested.
        """
        ended = self.last_exit
        return "" if ended is None or ended.asked else str(ended)

    def _enter(self, state: ProcessState) -> None:
        """Change the state and emit an event. No other code changes the state."""
        if self.state not in VALID_PREVIOUS_STATES[state]:
            raise ProcessStateError(f"{self.name} is {self.state}")
        before, self.state = self.state, state
        match state:
            case ProcessState.PAUSED:
                self._trace(ProcessPaused(process=self.name, child=self.source, pid=self.pid))
            case ProcessState.RUNNING if before is ProcessState.PAUSED:
                self._trace(ProcessResumed(process=self.name, child=self.source, pid=self.pid))
            case ProcessState.RUNNING:
                self._trace(ProcessStarted(process=self.name, child=self.source, pid=self.pid))
            case ProcessState.STOPPED:
                ended = self.last_exit
                if ended is not None:
                    with self._trace.because(self._request_event):
                        self._trace(
                            ProcessEnded(
                                process=self.name,
                                child=self.source,
                                pid=self.pid,
                                code=ended.code,
                                signal=ended.signal,
                                asked=ended.asked,
                                reason=ended.reason,
                            )
                        )

    async def start(self) -> None:
        """Start the child. Raises ProcessStateError if it runs already, OSError if it cannot be
        started.
        """
        if self.state is not ProcessState.STOPPED:
            raise ProcessStateError(f"{self.name} is {self.state} already, as process {self.pid}")
        command = python_command(
            "kafka_edu.supervisor.supervised_child", str(os.getpid()), *self._command
        )
        with self._log.open("ab") as log:
            self._log_start = log.tell()
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                env=python_environment(),
            )
        self._process = process
        self._end_requested = False
        self._request_event = 0
        self.last_exit = None
        self._ended.clear()
        self._enter(ProcessState.RUNNING)
        self._watcher = asyncio.create_task(self._watch(process))

    async def _watch(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        self.last_exit = Exit(
            max(code, 0),
            signal.Signals(-code).name if code < 0 else "",
            self._end_requested,
            "" if self._end_requested else self._reason(),
        )
        self._enter(ProcessState.STOPPED)
        self._process = None
        self._ended.set()
        self._on_end(self)

    async def wait(self) -> Exit | None:
        """Wait until the child is stopped. Return how it ended."""
        await self._ended.wait()
        return self.last_exit

    def _signal(self, number: signal.Signals) -> None:
        if self._process is None or self.state is ProcessState.STOPPED:
            raise ProcessStateError(f"{self.name} is stopped")
        self._process.send_signal(number)

    async def stop(
        self, patience_s: float, others: Callable[[], Iterable[int]] = tuple
    ) -> Exit | None:
        """Send SIGTERM, and after `patience_s` seconds SIGKILL. Return how the child ended. A child
        that is paused or frozen is resumed after the SIGTERM, because otherwise it could not react.

        Time in which the child waited for a core does not count. The same is true for the processes
        of `others`, which the child needs when it stops.
        """
        self._end_requested = True
        self._request_event = self._trace.cause
        self._signal(signal.SIGTERM)
        if self.state is ProcessState.PAUSED:
            self.resume()
        else:
            self.thaw()
        patience = Patience(patience_s, lambda: (self.pid, *others()))
        while patience.left_s() > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience.slice_s()):
                    return await self.wait()
        return await self.kill()

    async def kill(self) -> Exit | None:
        """Send SIGKILL, and return how the child ended. The process cannot flush its files or close
        its ZooKeeper session.
        """
        self._end_requested = True
        self._request_event = self._trace.cause
        if self.state is not ProcessState.STOPPED:
            self._signal(signal.SIGKILL)
        return await self.wait()

    def pause(self) -> None:
        """Stop the process with SIGSTOP, and set the state to paused."""
        if self.state is not ProcessState.RUNNING:
            raise ProcessStateError(f"{self.name} is {self.state}")
        self._signal(signal.SIGSTOP)
        self._enter(ProcessState.PAUSED)

    def resume(self) -> None:
        """Continue a paused process with SIGCONT."""
        if self.state is not ProcessState.PAUSED:
            raise ProcessStateError(f"{self.name} is {self.state}")
        self._signal(signal.SIGCONT)
        self._enter(ProcessState.RUNNING)

    def freeze(self) -> None:
        """Make the process stand still with SIGSTOP, without changing its state. `thaw` continues
        it. Do nothing if the process is paused or has ended.
        """
        if self.state is ProcessState.RUNNING:
            self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Continue the process after `freeze`, unless it was paused meanwhile."""
        if self.state is ProcessState.RUNNING:
            self._signal(signal.SIGCONT)

    def rss_anon(self) -> int | None:
        """Return the anonymous resident memory of the child in bytes. Return None if the child is
        stopped, or if the system has no /proc.
        """
        if self._process is None:
            return None
        return rss_anon(self.pid)

    def _reason(self) -> str:
        """Return the reason for its end that the child has written to its output since its last
        start, or "" if it has written none.
        """
        lines = self._said().splitlines()
        for number, line in enumerate(lines):
            for mark in REASONS:
                _, found, why = line.partition(mark)
                if found:
                    rest = itertools.takewhile(
                        lambda later: not later.startswith("["), lines[number + 1 :]
                    )
                    return "\n".join([_LOGGER_NAME.sub("", why), *rest])
        causes = [line for line in lines if line.startswith(JAVA_REASON)]
        return causes[-1].removeprefix(JAVA_REASON) if causes else ""

    def last_words(self, lines: int = 15) -> str:
        """Return the last lines of the child's output since its last start."""
        return "\n".join(self._said().splitlines()[-lines:])

    def _said(self) -> str:
        """Return the child's output since its last start, at most the last 16 KiB."""
        try:
            with self._log.open("rb") as log:
                log.seek(max(self._log_start, self._log.stat().st_size - 16_384))
                return log.read().decode("utf-8", "replace")
        except OSError:
            return ""


def rss_anon(pid: int) -> int | None:
    """Return the anonymous resident memory (RssAnon) of a process in bytes, or None if it is not
    known.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return None
