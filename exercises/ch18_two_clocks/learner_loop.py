"""Two loops that note each step. LearnerLoop asks a learner's agenda (18-1) for the next event.

Each step of `LearnerLoop` is one question to the learner's process. It has all calls since the last
step, and then `next`. The loop checks that the answer is possible. It does not check that it is
right: the steps and the digest of the run say that.
"""

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from kafka_edu.learner.learner import Learner, LearnerFailure
from kafka_edu.sim.sim_loop import SimHandle, SimLoop, SimProcess, SimulationStalledError

MOST_STEPS: Final = 100_000
"""A run of the live part has about 10,000 steps. With a wrong order it may never come to an end."""


class LearnerStalledError(SimulationStalledError):
    """The learner's agenda has raised an error, or given an impossible answer. The run ends."""


class _Handle(SimHandle):
    """A callback that notifies its loop when it is cancelled."""

    __slots__ = ("_loop", "number")

    def __init__(
        self,
        loop: "LearnerLoop",
        number: int,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
    ) -> None:
        given = contextvars.copy_context() if context is None else context
        super().__init__(when_ns, callback, args, given)
        self._loop = loop
        self.number = number

    def cancel(self) -> None:
        if not self.is_cancelled:
            super().cancel()
            self._loop.tell("cancel", self.number)


class LoopStep(NamedTuple):
    """A callback that ran: the number of its event, its process, and the time in ns."""

    event: int
    process: str
    time: int

    def __str__(self) -> str:
        return f"event {self.event:,} of {self.process} at {self.time:,} ns"


class _LoopOfSteps(SimLoop):
    """A loop in which each callback is a step, even a callback that could run at once."""

    def call_in(self, process: SimProcess, callback: Callable[..., object], *args: object) -> None:
        self.run_in(process, callback, *args)


class CourseLoop(_LoopOfSteps):
    """The course's loop. It numbers the events, and notes each step."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[LoopStep] = []
        self._added = 0
        self._numbers: dict[SimHandle, int] = {}

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> Any:
        return self._numbered(super().call_soon(callback, *args, context=context))

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None = None,
    ) -> SimHandle:
        return self._numbered(super().call_at_ns(when_ns, callback, args, context))

    def _numbered(self, handle: SimHandle) -> SimHandle:
        self._added += 1
        self._numbers[handle] = self._added
        return handle

    def _run(self, handle: SimHandle) -> None:
        event = self._numbers.pop(handle)
        self.steps.append(LoopStep(event, handle.process.name, self.now_ns))
        super()._run(handle)

    def close(self) -> None:
        super().close()
        self._numbers.clear()


class LearnerLoop(_LoopOfSteps):
    """A SimLoop without a queue: the learner's agenda holds the waiting events."""

    def __init__(self, learner: Learner) -> None:
        super().__init__()
        self._added = 0
        """How many callbacks were added. Each one gets the next number."""
        self._agenda = learner.make()
        self._calls: list[tuple[str, tuple[int | str, ...]]] = []
        self._handles: dict[int, _Handle] = {}
        self._names: dict[SimProcess, str] = {}
        """A process that starts again is another process, and gets a different name."""
        self.steps: list[LoopStep] = []
        self.blamed = ""
        """What the learner's agenda did wrong, if the run had to end because of it."""

    def tell(self, method: str, *arguments: int | str) -> None:
        """Send a call with the next question."""
        self._calls.append((method, arguments))

    def _name(self, process: SimProcess) -> str:
        if process not in self._names:
            same = sum(one.name == process.name for one in self._names)
            self._names[process] = f"{process.name}#{same}" if same else process.name
        return self._names[process]

    def call_soon(
        self,
        callback: Callable[..., object],
        *args: object,
        context: contextvars.Context | None = None,
    ) -> Any:
        handle = self._add(self.now_ns, callback, args, context)
        self.tell("soon", handle.number, self._name(handle.process))
        return handle

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None = None,
    ) -> SimHandle:
        handle = self._add(when_ns, callback, args, context)
        self.tell("at", when_ns, handle.number, self._name(handle.process))
        return handle

    def _add(
        self,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
    ) -> _Handle:
        self._added += 1
        handle = _Handle(self, self._added, when_ns, callback, args, context)
        self._handles[handle.number] = handle
        return handle

    def kill(self, process: SimProcess) -> None:
        super().kill(process)
        self.tell("kill", self._name(process))

    def pause(self, process: SimProcess) -> None:
        super().pause(process)
        self.tell("pause", self._name(process))

    def resume(self, process: SimProcess) -> None:
        super().resume(process)
        self.tell("resume", self._name(process))

    def step(self, until_ns: int | None = None) -> bool:
        """Run the callback that the learner's agenda names. Raises LearnerStalledError."""
        if until_ns is None:
            raise SimulationStalledError("an agenda is asked for a time that has an end")
        calls, self._calls = self._calls, []
        try:
            answer = self._agenda.call_all([*calls, ("next", (until_ns,))])
        except LearnerFailure as failure:
            raise self._blame(str(failure)) from None
        if answer is None:
            self.now_ns = until_ns
            return False
        handle, self.now_ns = self._possible(answer, until_ns)
        self.steps.append(LoopStep(handle.number, handle.process.name, self.now_ns))
        self._run(handle)
        return True

    def close(self) -> None:
        super().close()
        self._handles.clear()
        self._calls.clear()

    def _blame(self, why: str) -> LearnerStalledError:
        self.blamed = why
        return LearnerStalledError(why)

    def _possible(self, answer: object, until_ns: int) -> tuple[_Handle, int]:
        """Return the callback and the time of an answer. Raises LearnerStalledError."""
        match answer:
            case (int(event), int(time)):
                pass
            case _:
                raise self._blame(f"next answered {answer!r}: (event, time) or None")
        if not self.now_ns <= time <= until_ns:
            raise self._blame(
                f"next answered the time {time:,}, and the clock is at {self.now_ns:,} and may go"
                f" to {until_ns:,}"
            )
        handle = self._handles.pop(event, None)
        if handle is None:
            raise self._blame(f"next answered event {event}, which does not wait")
        process = self._name(handle.process)
        if handle.is_cancelled:
            raise self._blame(f"next answered event {event}, which was cancelled")
        if not handle.process.alive or handle.process.paused:
            state = "paused" if handle.process.alive else "killed"
            raise self._blame(f"next answered event {event} of {process}, which is {state}")
        return handle, time

    def advance(self, ms: float) -> None:
        """Let `ms` of virtual time pass."""
        end_ns = self.now_ns + round(ms * 1e6)
        while self.step(end_ns):
            self._check_length()

    def _run_until(self, task: asyncio.Future[Any], limit_ms: float) -> None:
        end_ns = self.now_ns + round(limit_ms * 1e6)
        while not task.done():
            if not self.step(end_ns):
                raise SimulationStalledError(f"nothing is left to happen, and {task!r} is not done")
            self._check_length()

    def _check_length(self) -> None:
        if len(self.steps) > MOST_STEPS:
            raise SimulationStalledError(f"the run has not ended after {MOST_STEPS:,} steps")
