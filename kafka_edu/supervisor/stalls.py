"""Make processes stand still again and again, as under a busy hypervisor or during long garbage
collections.

A stall is a SIGSTOP and, a moment later, a SIGCONT. The state of the process stays "running",
because no user has paused it. The process itself does not notice the stall.
"""

import asyncio
from typing import Final, NamedTuple

from kafka_edu.supervisor.action_server import ActionRefused
from kafka_edu.supervisor.child_process import ChildProcess, ProcessState
from kafka_edu.supervisor.stall import Stall
from kafka_edu.trace.events.supervisor import ProcessStalled, ProcessStallOver
from kafka_edu.trace.tracer import Tracer

MAX_MS: Final = 600_000


class Rhythm(NamedTuple):
    """How long a process stands still in each stall, and how often."""

    stall_ms: int
    every_ms: int
    """The time from the beginning of one stall to the beginning of the next, in ms."""
    hidden: bool = False
    """Whether an exercise hides the stalls: no event is emitted, and the status does not
    show them.
    """


class Stalls:
    """Makes the stalls of all processes. The processes belong to the supervisor. Only the
    supervisor's event loop may use it.
    """

    def __init__(self, trace: Tracer) -> None:
        self._trace = trace
        self._beats: dict[str, _Beat] = {}

    def begin(self, child: ChildProcess, rhythm: Rhythm) -> str:
        """Start the stalls of a process. They continue when the process is started again. Return a
        text about what was done. Raises ActionRefused if the times in `rhythm` are not allowed.
        """
        if not 0 < rhythm.stall_ms < rhythm.every_ms <= MAX_MS:
            raise ActionRefused(
                "stall_ms and every_ms are numbers of ms: stall_ms is at least 1 and smaller than"
                f" every_ms, which is at most {MAX_MS:,}"
            )
        self.end(child)
        beat = self._beats[child.name] = _Beat(child, rhythm, self._trace)
        return str(beat.stall())

    def end(self, child: ChildProcess) -> str:
        """End the stalls of a process. Return a text about what was done."""
        beat = self._beats.pop(child.name, None)
        if beat is None:
            return f"{child.name} had no stalls"
        beat.task.cancel()
        return f"{child.name} runs without stalls"

    def end_all(self) -> None:
        """End the stalls of all processes. Call this before you stop the processes, because a
        process that stands still cannot react.
        """
        for beat in self._beats.values():
            beat.task.cancel()
        self._beats.clear()

    def known(self, *, with_hidden: bool = False) -> list[Stall]:
        """Return the stalls of all processes. Without `with_hidden`, stalls that an exercise hides
        are left out.
        """
        return [
            beat.stall() for beat in self._beats.values() if with_hidden or not beat.rhythm.hidden
        ]


class _Beat:
    """The task that makes the stalls of one process, from `begin` to `end`."""

    def __init__(self, child: ChildProcess, rhythm: Rhythm, trace: Tracer) -> None:
        self.rhythm = rhythm
        self._child = child
        self._trace = trace
        self._ended = 0
        self.task = asyncio.get_running_loop().create_task(self._run())

    def stall(self) -> Stall:
        return Stall(self._child.name, self.rhythm.stall_ms, self.rhythm.every_ms, self._ended)

    async def _run(self) -> None:
        while True:
            if self._child.state is ProcessState.RUNNING:
                await self._stand_still()
                self._ended += 1
            await asyncio.sleep((self.rhythm.every_ms - self.rhythm.stall_ms) / 1_000)

    async def _stand_still(self) -> None:
        child, for_ms, pid = self._child, self.rhythm.stall_ms, self._child.pid
        process, source = child.name, child.source
        child.freeze()
        event = 0
        if not self.rhythm.hidden:
            event = self._trace(
                ProcessStalled(process=process, child=source, pid=pid, for_ms=for_ms)
            )
        try:
            await asyncio.sleep(for_ms / 1_000)
        finally:
            if child.pid == pid:
                child.thaw()
                if not self.rhythm.hidden:
                    with self._trace.because(event):
                        self._trace(ProcessStallOver(process=process, child=source, pid=pid))
