"""An event loop with virtual time (spec M6; models: trio's MockClock, FoundationDB's simulator).

When no callback is ready, the clock jumps to the next timer. So the real time for a simulated
minute depends only on the number of callbacks in it. The order of callbacks is fixed. Ready
callbacks run in the order in which they became ready. Timers run by their time, and timers with the
same time in the order in which they were set. The loop uses no clock, no thread and no random
number of the machine, so the same start gives the same run.

Every callback belongs to a `SimProcess`. A context variable, which tasks inherit, holds this
process. So a process can be killed. Then no line of its code runs any more, not even a `finally`,
as with kill -9. A process can also be paused. Callbacks that become due during the pause run when
it is resumed, as with SIGSTOP.
"""

import asyncio
import contextvars
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

from kafka_edu.sim.memory_file_system import SimulatedCrash

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_STEPS_AT_ONE_INSTANT: Final = 1_000_000


class SimulationStalledError(Exception):
    """The simulation cannot continue. Either code waits for something that can never happen, or
    callbacks run again and again while the virtual time stands still.
    """


class SimProcess:
    """A simulated process, which can be killed and paused as a whole. It is a broker, ZooKeeper or
    a client.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.deferred: list[SimHandle] = []

    def __repr__(self) -> str:
        return f"<SimProcess {self.name}>"


#: The code outside all simulated processes: kernels, the network, the script of the simulation.
WORLD: Final = SimProcess("world")
_process: Final[contextvars.ContextVar[SimProcess]] = contextvars.ContextVar(
    "sim_process", default=WORLD
)


def current_process() -> SimProcess:
    """Return the simulated process whose code is running."""
    return _process.get()


def context_of(process: SimProcess) -> contextvars.Context:
    """Return a new context. What runs in it, and what that starts, belongs to `process`."""
    context = contextvars.copy_context()
    context.run(_process.set, process)
    return context


class SimHandle:
    """A callback that will run later. `call_soon` and `call_at` return it."""

    __slots__ = ("_when_s", "args", "callback", "context", "is_cancelled", "process")

    def __init__(
        self,
        when_s: float,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context,
    ) -> None:
        self._when_s = when_s
        self.callback = callback
        self.args = args
        self.context = context
        self.process = context.get(_process, WORLD)
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self._when_s


class SimLoop(asyncio.BaseEventLoop):
    """An event loop with virtual time. asyncio's own Task, Future, Queue, Event, timeout and sleep
    run on it unchanged.

    It has no sockets, threads or signals.
    """

    def __init__(self) -> None:
        super().__init__()
        self._now_ns = 0
        self._ready: deque[SimHandle] = deque()
        self._timers: list[tuple[int, int, SimHandle]] = []
        self._sequence = 0
        self._running = False
        self._closed = False
        self.gate: Callable[[int], None] | None = None
        """A function that is called before each callback, and before the clock moves without one.
        It gets the virtual time in ns to which the clock is about to go. It may wait in real time,
        so that people can watch. It runs outside all simulated processes.
        """
        self.errors: list[dict[str, Any]] = []
        """The exceptions that no code caught, in asyncio's form. If there are any, the simulation
        has failed.
        """

    @property
    def now_ns(self) -> int:
        """The virtual time since the start, in ns."""
        return self._now_ns

    def time(self) -> float:
        return self._now_ns / 1e9

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Any:
        handle = SimHandle(
            self.time(), callback, args, contextvars.copy_context() if context is None else context
        )
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Any:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Any:
        return self._at(self._now_ns + max(round(delay * 1e9), 0), callback, args, context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Any:
        return self._at(max(round(when * 1e9), self._now_ns), callback, args, context)

    def _at(
        self,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None,
    ) -> SimHandle:
        handle = SimHandle(
            when_ns / 1e9,
            callback,
            args,
            contextvars.copy_context() if context is None else context,
        )
        self._sequence += 1
        heapq.heappush(self._timers, (when_ns, self._sequence, handle))
        return handle

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(
        self, coro: Any, *, name: object = None, context: contextvars.Context | None = None
    ) -> asyncio.Task[Any]:
        return asyncio.Task(
            coro, loop=self, name=None if name is None else str(name), context=context
        )

    def spawn(self, process: SimProcess, coro: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Run a coroutine as a task of `process`. All tasks and callbacks that it starts belong to
        this process too.
        """
        context = context_of(process)
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, context=context, name=process.name)
        return task

    def run_in(
        self, process: SimProcess, callback: Callable[..., object], *args: object
    ) -> SimHandle:
        """Call `callback` in one of the next turns, as part of `process`."""
        handle: SimHandle = self.call_soon(callback, *args, context=context_of(process))
        return handle

    def kill(self, process: SimProcess) -> None:
        """Stop all code of this process for ever."""
        process.alive = False
        process.deferred.clear()

    def pause(self, process: SimProcess) -> None:
        """Pause the process. Callbacks that become due for it wait."""
        process.paused = True

    def resume(self, process: SimProcess) -> None:
        process.paused = False
        self._ready.extend(process.deferred)
        process.deferred.clear()

    def step(self, until_ns: int | None = None) -> bool:
        """Run the next callback. Move the clock first if no callback is ready. Return False if no
        callback is left, or none that is due by `until_ns`.
        """
        if self.gate is not None and (next_ns := self.next_event_ns()) is not None:
            self.gate(next_ns)
        while self._ready or self._timers:
            if self._ready:
                handle = self._ready.popleft()
            else:
                # The first timers may belong to a paused process. The next one may be due later.
                if until_ns is not None and self._timers[0][0] > until_ns:
                    return False
                when_ns, _, handle = heapq.heappop(self._timers)
                if handle.is_cancelled:
                    continue
                self._now_ns = max(self._now_ns, when_ns)
            process = handle.process
            if handle.is_cancelled or not process.alive:
                continue
            if process.paused:
                process.deferred.append(handle)
                continue
            self._run(handle)
            del handle  # as in `_run`
            return True
        return False

    def _run(self, handle: SimHandle) -> None:
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            handle.context.run(handle.callback, *handle.args)
        except Exception as error:
            self.call_exception_handler(
                {
                    "message": f"callback {handle.callback!r} of {handle.process.name} raised",
                    "exception": error,
                }
            )
        finally:
            asyncio._set_running_loop(before)
            # Since Python 3.13 the traceback of an error may refer to this frame, and the arguments
            # of the handle may refer to the error. Without this line only the garbage collector
            # would find this cycle. asyncio's own loop has the same line.
            del handle

    def next_event_ns(self) -> int | None:
        """Return the virtual time in ns at which the next callback is due, or None if there is
        none.
        """
        if self._ready:
            return self._now_ns
        while self._timers and (
            self._timers[0][2].is_cancelled or not self._timers[0][2].process.alive
        ):
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, ms: float) -> None:
        """Let `ms` of virtual time pass, and run all callbacks that are due in this time."""
        end_ns = self._now_ns + round(ms * 1e6)
        steps = 0
        instant_ns = self._now_ns
        while (next_ns := self.next_event_ns()) is not None and next_ns <= end_ns:
            self.step(end_ns)
            steps = steps + 1 if self._now_ns == instant_ns else 0
            instant_ns = self._now_ns
            if steps > MAX_STEPS_AT_ONE_INSTANT:
                raise SimulationStalledError(
                    f"{steps} callbacks at {self._now_ns} ns: something waits by spinning"
                )
        if self.gate is not None:
            self.gate(end_ns)
        self._now_ns = end_ns

    def run_until_complete(
        self, future: Generator[Any, None, T] | Awaitable[T], limit_ms: float = 3_600_000
    ) -> T:
        """Run until `future` is done, and return its result. Raises SimulationStalledError if it
        can never be done, or if it is not done after `limit_ms` of virtual time.
        """
        task = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]  # typeshed's two overloads do not admit their own union
        end_ns = self._now_ns + round(limit_ms * 1e6)
        while not task.done():
            if not self.step():
                raise SimulationStalledError(f"nothing is left to happen, and {task!r} is not done")
            if self._now_ns > end_ns:
                raise SimulationStalledError(f"{task!r} is not done after {limit_ms} virtual ms")
        return task.result()

    def run_forever(self) -> None:
        raise SimulationStalledError("a simulation is run by advance, step or run_until_complete")

    def stop(self) -> None: ...

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """Drop all callbacks that were still to run."""
        self._closed = True
        self._ready.clear()
        self._timers.clear()

    async def shutdown_asyncgens(self) -> None: ...

    def get_debug(self) -> bool:
        return False

    def set_debug(self, enabled: bool) -> None: ...

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if context.get("message", "").startswith("Task was destroyed"):
            return  # A killed process leaves its tasks as they were.
        if isinstance(context.get("exception"), SimulatedCrash):
            return  # The process has died in the middle of a write.
        self.errors.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)


class SimTime:
    """The clock of a simulation (implements Time). The wall clock begins at `start_ms`, so that
    timestamps look like normal dates.
    """

    def __init__(self, loop: SimLoop, start_ms: int = 1_600_000_000_000) -> None:
        self._loop = loop
        self._start_ms = start_ms

    def jump(self, ms: int) -> None:
        """Set the wall clock forward by `ms`, or back if it is negative, as an administrator or NTP
        does. The clock for durations does not change.
        """
        self._start_ms += ms

    def milliseconds(self) -> int:
        return self._start_ms + self._loop.now_ns // 1_000_000

    def hi_res_clock_ms(self) -> int:
        return self._loop.now_ns // 1_000_000

    def nanoseconds(self) -> int:
        return self._loop.now_ns

    async def sleep(self, ms: float) -> None:
        await asyncio.sleep(max(ms, 0) / 1000)
