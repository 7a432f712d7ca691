"""An event loop with virtual time (spec M6; models: trio's MockClock, FoundationDB's simulator).

When nothing is ready, the clock jumps to the next timer. So a simulated minute costs only what
happens in it. Callbacks run in one order: ready ones in the order in which they became ready,
timers by (time, order in which they were set). Nothing here asks the machine for the time, a thread
or a random number, so the same start gives the same run.

Every callback belongs to a `SimProcess`, found by a context variable that tasks inherit. So a
process can be killed. Then no line of its code runs any more, not even a `finally`, as with kill
-9. A process can also be paused. What comes due meanwhile runs when it is resumed, as with SIGSTOP.
"""

import asyncio
import contextvars
import heapq
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_STEPS_AT_ONE_INSTANT: Final = 1_000_000


class SimulationStalledError(Exception):
    """Nothing is left that could ever happen, yet something is awaited. Or time does not move,
    while callbacks go on for ever.
    """


class SimProcess:
    """A part that can be killed and paused as a whole: a broker, ZooKeeper, a client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.deferred: list[SimHandle] = []

    def __repr__(self) -> str:
        return f"<SimProcess {self.name}>"


#: The world outside all processes: kernels, the network, the script of the simulation.
WORLD: Final = SimProcess("world")
_process: Final[contextvars.ContextVar[SimProcess]] = contextvars.ContextVar(
    "sim_process", default=WORLD
)


def current_process() -> SimProcess:
    """Return the process whose code is running."""
    return _process.get()


class SimHandle:
    """A callback that is to run. `call_soon` and `call_at` return it."""

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
    """A loop on which asyncio's own Task, Future, Queue, Event, timeout and sleep run unchanged.

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
        self.errors: list[dict[str, Any]] = []
        """Exceptions that nobody caught, as asyncio reports them. A simulation with any of these
        has failed.
        """

    @property
    def now_ns(self) -> int:
        """Virtual time since the start."""
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
        """Run a coroutine as `process`. Everything it starts belongs to that process too."""
        context = contextvars.copy_context()
        context.run(_process.set, process)
        task: asyncio.Task[T] = asyncio.Task(coro, loop=self, context=context, name=process.name)
        return task

    def run_in(
        self, process: SimProcess, callback: Callable[..., object], *args: object
    ) -> SimHandle:
        """Call `callback` soon, as part of `process`."""
        context = contextvars.copy_context()
        context.run(_process.set, process)
        handle: SimHandle = self.call_soon(callback, *args, context=context)
        return handle

    def kill(self, process: SimProcess) -> None:
        """Stop all code of this process for ever."""
        process.alive = False
        process.deferred.clear()

    def pause(self, process: SimProcess) -> None:
        """Let the process stand still. What comes due for it waits."""
        process.paused = True

    def resume(self, process: SimProcess) -> None:
        process.paused = False
        self._ready.extend(process.deferred)
        process.deferred.clear()

    def step(self) -> bool:
        """Run the next callback, and move the clock if needed. Return False when nothing is left to
        happen.
        """
        while self._ready or self._timers:
            if self._ready:
                handle = self._ready.popleft()
            else:
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
            # Since Python 3.13 the traceback of an error may hold this frame, and the arguments of
            # the handle the error. This ends the cycle, which only the garbage collector would
            # find. asyncio's own loop does the same.
            del handle

    def next_event_ns(self) -> int | None:
        """Return when the next callback is due, or None when there is none."""
        if self._ready:
            return self._now_ns
        while self._timers and (
            self._timers[0][2].is_cancelled or not self._timers[0][2].process.alive
        ):
            heapq.heappop(self._timers)
        return self._timers[0][0] if self._timers else None

    def advance(self, ms: float) -> None:
        """Let `ms` of virtual time pass, with all that happens in it."""
        end_ns = self._now_ns + round(ms * 1e6)
        steps = 0
        instant_ns = self._now_ns
        while (next_ns := self.next_event_ns()) is not None and next_ns <= end_ns:
            self.step()
            steps = steps + 1 if self._now_ns == instant_ns else 0
            instant_ns = self._now_ns
            if steps > MAX_STEPS_AT_ONE_INSTANT:
                raise SimulationStalledError(
                    f"{steps} callbacks at {self._now_ns} ns: something waits by spinning"
                )
        self._now_ns = end_ns

    def run_until_complete(
        self, future: Generator[Any, None, T] | Awaitable[T], limit_ms: float = 3_600_000
    ) -> T:
        """Run until `future` is done. Raises SimulationStalledError when it can never be done, or
        is not done after `limit_ms` of virtual time.
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
        """Drop everything that was still to happen."""
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
        self.errors.append(context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.call_exception_handler(context)


class SimTime:
    """The clock of a simulation (implements Time). Wall time begins at `start_ms`, so timestamps
    look like those of any other day.
    """

    def __init__(self, loop: SimLoop, start_ms: int = 1_600_000_000_000) -> None:
        self._loop = loop
        self._start_ms = start_ms

    def milliseconds(self) -> int:
        return self._start_ms + self._loop.now_ns // 1_000_000

    def hi_res_clock_ms(self) -> int:
        return self._loop.now_ns // 1_000_000

    def nanoseconds(self) -> int:
        return self._loop.now_ns

    async def sleep(self, ms: float) -> None:
        await asyncio.sleep(max(ms, 0) / 1000)
