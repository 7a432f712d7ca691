"""Judge a learner's agenda of 18-1 by the loop of the course's own simulator."""

from typing import NamedTuple

from kafka_edu.learner.learner import Learner
from kafka_edu.sim.sim_loop import SimHandle, SimLoop, SimProcess, context_of

from ..runner.mismatch import Mismatch

Answer = tuple[int, int] | None
"""An event and its time; None if no event was due."""
LINES = 12


class CourseAgenda:
    """The simulator's loop, asked as a learner's agenda is."""

    def __init__(self) -> None:
        self._loop = SimLoop()
        self._processes: dict[str, SimProcess] = {}
        self._handles: dict[int, SimHandle] = {}
        self._ran: list[int] = []

    @property
    def now(self) -> int:
        return self._loop.now_ns

    def _process(self, name: str) -> SimProcess:
        return self._processes.setdefault(name, SimProcess(name))

    def soon(self, event: int, process: str) -> None:
        self._handles[event] = self._loop.run_in(self._process(process), self._ran.append, event)

    def at(self, time: int, event: int, process: str) -> None:
        self._handles[event] = self._loop.call_at(
            time / 1e9, self._ran.append, event, context=context_of(self._process(process))
        )

    def cancel(self, event: int) -> None:
        self._handles[event].cancel()

    def kill(self, process: str) -> None:
        self._loop.kill(self._process(process))

    def pause(self, process: str) -> None:
        self._loop.pause(self._process(process))

    def resume(self, process: str) -> None:
        self._loop.resume(self._process(process))

    def next(self, until: int) -> Answer:
        if self._loop.step(until):
            return self._ran[-1], self._loop.now_ns
        self._loop.advance((until - self._loop.now_ns) / 1e6)
        return None


class Waits(NamedTuple):
    """An event, as it was added."""

    process: str
    time: int
    """When it is due. A ready event is due at once."""
    is_timer: bool


class Judged:
    """Gives the same calls to a learner's agenda and the course's agenda. Compares each `next`."""

    def __init__(self, learner: Learner) -> None:
        self._made = learner.make()
        self._right = CourseAgenda()
        self._calls: list[str] = []
        self._events: dict[int, Waits] = {}
        self._state: dict[str, str] = {}
        """`paused` or `killed`, for each process that is."""
        self._gone: dict[int, str] = {}
        """The events that have run or were cancelled."""

    def _tell(self, method: str, *arguments: int | str) -> object:
        words = (f"{one:,}" if isinstance(one, int) else repr(one) for one in arguments)
        self._calls.append(f"{method}({', '.join(words)})")
        return self._made.call(method, *arguments)

    @property
    def now(self) -> int:
        return self._right.now

    @property
    def waiting(self) -> list[int]:
        """The events that have neither run nor been cancelled."""
        return [event for event in self._events if event not in self._gone]

    @property
    def stopped(self) -> set[str]:
        """The processes that are paused or killed."""
        return set(self._state)

    def soon(self, event: int, process: str) -> None:
        self._tell("soon", event, process)
        self._right.soon(event, process)
        self._events[event] = Waits(process, self.now, is_timer=False)

    def at(self, time: int, event: int, process: str) -> None:
        self._tell("at", time, event, process)
        self._right.at(time, event, process)
        self._events[event] = Waits(process, max(time, self.now), is_timer=True)

    def cancel(self, event: int) -> None:
        self._tell("cancel", event)
        self._right.cancel(event)
        self._gone.setdefault(event, "was cancelled")

    def kill(self, process: str) -> None:
        self._tell("kill", process)
        self._right.kill(process)
        self._state[process] = "killed"

    def pause(self, process: str) -> None:
        self._tell("pause", process)
        self._right.pause(process)
        self._state.setdefault(process, "paused")

    def resume(self, process: str) -> None:
        self._tell("resume", process)
        self._right.resume(process)
        if self._state.get(process) == "paused":
            del self._state[process]

    def next(self, until: int) -> Answer:
        """Return the right answer. Raises Mismatch if the learner's answer is different."""
        before = self.now
        came = self._tell("next", until)
        right = self._right.next(until)
        if came != right:
            raise Mismatch(
                self._calls[-1],
                right,
                came,
                self._why(right, came, before, until),
                drawing=tuple(self._calls[-LINES:]),
                read="next",
            )
        if right is not None:
            self._gone[right[0]] = "has run already"
        return right

    def run(self, until: int) -> list[tuple[int, int]]:
        """Run all events up to `until`. Return (event, time) of each. Raises Mismatch."""
        ran = []
        while (answer := self.next(until)) is not None:
            ran.append(answer)
        return ran

    def _why(self, right: Answer, came: object, before: int, until: int) -> str:
        match came:
            case (int(event), int(time)) if event in self._events:
                return self._why_event(right, event, time, before, until)
            case None if right is not None:
                one = self._events[right[0]]
                return f"event {right[0]} of {one.process} is due at {right[1]:,}"
        return "an answer is (event, time), with an event that waits, or None"

    def _why_event(self, right: Answer, event: int, time: int, before: int, until: int) -> str:
        """Say why this event is not the right one, or its time is not."""
        one = self._events[event]
        if event in self._gone:
            return f"event {event} {self._gone[event]}"
        if one.process in self._state:
            return f"{one.process} is {self._state[one.process]}, so event {event} does not run"
        if right is None:
            return f"event {event} is due at {one.time:,}, and that is after {until:,}"
        wanted, at = right
        if event == wanted:
            if at == before:
                return f"the clock is at {before:,}, and event {event} need not wait"
            return f"the clock jumps to the time at which event {event} is due"
        other = self._events[wanted]
        if not one.is_timer and not other.is_timer:
            return "ready events run in the order in which they became ready"
        if one.is_timer and not other.is_timer:
            return "an event that is ready runs before every timer"
        if one.time == other.time:
            return "timers of the same time run in the order in which they were set"
        return f"event {wanted} comes first: it is due at {other.time:,}"
