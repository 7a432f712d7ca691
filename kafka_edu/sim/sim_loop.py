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
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from typing import Any, Final, NamedTuple, TypeVar, TypeVarTuple, Unpack

from kafka_edu.sim.memory_file_system import SimulatedCrash

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

MAX_STEPS_AT_ONE_INSTANT: Final = 1_000_000
MOST_FINALLY: Final = 100
"""How often a coroutine that ends may wait again before it is left alone."""
FEW_TIMERS: Final = 100
"""With so few timers, cancelled ones stay until they are due (asyncio has the same limit)."""


class SimulationStalledError(Exception):
    """The simulation cannot continue. Either code waits for something that can never happen, or
    callbacks run again and again while the virtual time stands still.
    """


class Passage(NamedTuple):
    """A stretch of virtual time that the script of a simulation lets pass."""

    ms: float
    """How long it is. With a task: how long it may be at most."""
    task: asyncio.Future[Any] | None = None
    """It ends when this task is done."""


class SimProcess:
    """A simulated process, which can be killed and paused as a whole. It is a broker, ZooKeeper or
    a client.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.paused = False
        self.deferred: list[SimHandle] = []
        self.context = contextvars.Context()
        """Only `context_of` reads it: code may run in one context only once at a time."""
        self.context.run(_process.set, self)
        self.replaced: dict[str, Callable[..., object]] = {}
        """Exercise → what serves in this process instead of ours (`learner_parts`)."""

    def __repr__(self) -> str:
        return f"<SimProcess {self.name}>"


_process: Final[contextvars.ContextVar[SimProcess]] = contextvars.ContextVar("sim_process")
#: The code outside all simulated processes: kernels, the network, the script of the simulation.
WORLD: Final = SimProcess("world")


def current_process() -> SimProcess:
    """Return the simulated process whose code is running."""
    return _process.get(WORLD)


def context_of(process: SimProcess) -> contextvars.Context:
    """Return a new context. All code that runs in this context, and all tasks that this code
    starts, belong to `process`.
    """
    return process.context.copy()


class SimHandle:
    """A callback that will run later. `call_soon` and `call_at` return it."""

    __slots__ = ("_when_ns", "args", "callback", "context", "is_cancelled", "process", "timers")

    def __init__(
        self,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context,
    ) -> None:
        self._when_ns = when_ns
        self.callback = callback
        self.args = args
        self.context = context
        self.process = context.get(_process, WORLD)
        self.is_cancelled = False
        self.timers: _Timers | None = None
        """The timers of the loop, while this is one of them."""

    def cancel(self) -> None:
        if not self.is_cancelled:
            self.is_cancelled = True
            if self.timers is not None:
                self.timers.cancelled_one()

    def cancelled(self) -> bool:
        return self.is_cancelled

    def when(self) -> float:
        return self._when_ns / 1e9


class _Timers:
    """The timers of a loop. The first one is due next.

    A cancelled timer stays until it is due, because a heap finds only its first entry. Most time
    limits are cancelled long before they are due. So when more than half of the timers are
    cancelled, all cancelled timers are dropped at once. asyncio's own loop does the same. A timer
    costs O(log n); dropping costs O(1) for each cancelled timer.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, SimHandle]] = []
        self._sequence = 0
        self._cancelled = 0
        """How many entries of the heap are cancelled."""

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, when_ns: int, handle: SimHandle) -> None:
        self._sequence += 1
        handle.timers = self
        heapq.heappush(self._heap, (when_ns, self._sequence, handle))

    def first_ns(self) -> int:
        """Return when the first timer is due, which may be cancelled."""
        return self._heap[0][0]

    def first(self) -> SimHandle:
        return self._heap[0][2]

    def take_first(self) -> tuple[int, SimHandle]:
        when_ns, _, handle = heapq.heappop(self._heap)
        handle.timers = None
        if handle.is_cancelled:
            self._cancelled -= 1
        return when_ns, handle

    def cancelled_one(self) -> None:
        """Note that a timer was cancelled. If more than half of the timers are cancelled, drop all
        cancelled timers.
        """
        self._cancelled += 1
        if len(self._heap) > FEW_TIMERS and 2 * self._cancelled > len(self._heap):
            self._heap = [entry for entry in self._heap if not entry[2].is_cancelled]
            heapq.heapify(self._heap)
            self._cancelled = 0

    def clear(self) -> None:
        self._heap.clear()
        self._cancelled = 0


class SimLoop(asyncio.BaseEventLoop):
    """An event loop with virtual time. asyncio's own Task, Future, Queue, Event, timeout and sleep
    run on it unchanged.

    It has no sockets, threads or signals.
    """

    def __init__(self) -> None:
        super().__init__()
        self.now_ns = 0
        """The virtual time since the start, in ns. Only the loop sets it."""
        self._ready: deque[SimHandle] = deque()
        self._timers = _Timers()
        self._running = False
        self._closed = False
        self.errors: list[dict[str, Any]] = []
        """The exceptions that no code caught, in asyncio's form. If there are any, the simulation
        has failed.
        """

    def time(self) -> float:
        return self.now_ns / 1e9

    def call_soon(
        self,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Any:
        handle = SimHandle(
            self.now_ns, callback, args, contextvars.copy_context() if context is None else context
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
        return self.call_at_ns(self.now_ns + max(round(delay * 1e9), 0), callback, args, context)

    def call_at(
        self,
        when: float,
        callback: Callable[[Unpack[Ts]], object],
        *args: *Ts,
        context: contextvars.Context | None = None,
    ) -> Any:
        return self.call_at_ns(max(round(when * 1e9), self.now_ns), callback, args, context)

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[..., object],
        args: tuple[object, ...],
        context: contextvars.Context | None = None,
    ) -> SimHandle:
        """Call `callback` at this virtual time, which is not in the past. The other methods for
        timers call this one.
        """
        handle = SimHandle(
            when_ns, callback, args, contextvars.copy_context() if context is None else context
        )
        self._timers.add(when_ns, handle)
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

    def call_in(self, process: SimProcess, callback: Callable[..., object], *args: object) -> None:
        """Call `callback` as part of `process`: now, or after the callbacks that are ready now. A
        paused process calls it when it is resumed, and a killed process never calls it.

        `run_in` alone would do the same. But if no callback is ready, `run_in` would only add a
        step of the loop, and `callback` would run in the next step. That is slow, because a
        thousand pieces of data arrive in a simulated second.
        """
        if process.paused or self._ready:
            self.run_in(process, callback, *args)
        elif process.alive:
            process.context.copy().run(callback, *args)

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
        handle = self._take_next(until_ns)
        if handle is None:
            return False
        self._run(handle)
        return True

    def _take_next(self, until_ns: int | None) -> SimHandle | None:
        """Take the next callback out of its queue, and move the clock to its time. Return None if
        no callback is left, or none that is due by `until_ns`.
        """
        ready, timers = self._ready, self._timers
        while True:
            if ready:
                handle = ready.popleft()
            elif timers:
                # The first timers may belong to a paused process. The next one may be due later.
                if until_ns is not None and timers.first_ns() > until_ns:
                    return None
                when_ns, handle = timers.take_first()
                if handle.is_cancelled:
                    continue
                if when_ns > self.now_ns:
                    self.now_ns = when_ns
            else:
                return None
            process = handle.process
            if handle.is_cancelled or not process.alive:
                continue
            if process.paused:
                process.deferred.append(handle)
                continue
            return handle

    def _run(self, handle: SimHandle) -> None:
        before = asyncio._get_running_loop()
        if before is not self:  # `advance` has set it already, once for all callbacks
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
            if before is not self:
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
            return self.now_ns
        timers = self._timers
        while timers and ((first := timers.first()).is_cancelled or not first.process.alive):
            timers.take_first()
        return timers.first_ns() if timers else None

    def advance(self, ms: float) -> None:
        """Let `ms` of virtual time pass, and run all callbacks that are due in this time."""
        end_ns = self.now_ns + round(ms * 1e6)
        steps = 0
        instant_ns = self.now_ns
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)  # once for all callbacks
        try:
            while (handle := self._take_next(end_ns)) is not None:
                if self.now_ns != instant_ns:
                    steps, instant_ns = 0, self.now_ns
                steps += 1
                if steps > MAX_STEPS_AT_ONE_INSTANT:
                    raise SimulationStalledError(_spins(steps, self.now_ns))
                self._run(handle)
                del handle  # as in `_run`
        finally:
            asyncio._set_running_loop(before)
        self.now_ns = end_ns

    def turns(self, passage: Passage) -> Iterator[int]:
        """Let virtual time pass. Before each callback, and before the clock moves without one,
        yield the virtual time in ns to which the clock is about to go.

        The caller may wait there in real time, so that people can watch. It runs outside all
        simulated processes. Raises SimulationStalledError if the passage cannot end.
        """
        if passage.task is None:
            return self._turns_for(passage.ms)
        return self._turns_until(passage.task, passage.ms)

    def at_once(self, passage: Passage) -> Iterator[int]:
        """Let virtual time pass without yielding. Raises SimulationStalledError if the passage
        cannot end.
        """
        if passage.task is None:
            self.advance(passage.ms)
        else:
            self._run_until(passage.task, passage.ms)
        return iter(())

    def _turns_for(self, ms: float) -> Iterator[int]:
        end_ns, steps, instant_ns = self.now_ns + round(ms * 1e6), 0, self.now_ns
        while (next_ns := self.next_event_ns()) is not None and next_ns <= end_ns:
            yield next_ns
            self.step(end_ns)
            steps, instant_ns = steps + 1 if self.now_ns == instant_ns else 0, self.now_ns
            if steps > MAX_STEPS_AT_ONE_INSTANT:
                raise SimulationStalledError(_spins(steps, instant_ns))
        yield end_ns
        self.now_ns = end_ns

    def _turns_until(self, task: asyncio.Future[Any], limit_ms: float) -> Iterator[int]:
        end_ns = self.now_ns + round(limit_ms * 1e6)
        while not task.done():
            if (next_ns := self.next_event_ns()) is not None:
                yield next_ns
            self._step_to(task, end_ns)

    def _run_until(self, task: asyncio.Future[Any], limit_ms: float) -> None:
        end_ns = self.now_ns + round(limit_ms * 1e6)
        while not task.done():
            self._step_to(task, end_ns)

    def _step_to(self, task: asyncio.Future[Any], end_ns: int) -> None:
        """Run the next callback. Raises SimulationStalledError if the task cannot be done by
        `end_ns`.
        """
        if not self.step():
            raise SimulationStalledError(f"nothing is left to happen, and {task!r} is not done")
        if self.now_ns > end_ns:
            raise SimulationStalledError(f"{task!r} is not done after {end_ns / 1e6:g} virtual ms")

    def run_until_complete(
        self, future: Generator[Any, None, T] | Awaitable[T], limit_ms: float = 3_600_000
    ) -> T:
        """Run until `future` is done, and return its result. Raises SimulationStalledError if it
        can never be done, or if it is not done after `limit_ms` of virtual time.
        """
        task = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]  # typeshed's two overloads do not admit their own union
        self._run_until(task, limit_ms)
        return task.result()

    def run_forever(self) -> None:
        raise SimulationStalledError("a simulation is run by advance, step or run_until_complete")

    def stop(self) -> None: ...

    def is_running(self) -> bool:
        return asyncio._get_running_loop() is self

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        """End all coroutines, and drop all callbacks that were still to run.

        Without this method, Python would end a coroutine when it deletes it, at the latest when
        Python itself ends. Code in a `finally` would then find no loop, and Python would print its
        errors.
        """
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            for task in asyncio.all_tasks(self):
                _end(task.get_coro())
        finally:
            asyncio._set_running_loop(before)
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


def _end(coroutine: Coroutine[Any, Any, Any] | Generator[Any, None, Any] | None) -> None:
    """End a coroutine that waits. Its errors are ignored.

    A coroutine that awaits something in a `finally` must be closed once more, because nothing that
    it awaits will come.
    """
    for _ in range(MOST_FINALLY):
        try:
            if coroutine is not None:
                coroutine.close()
        except (Exception, asyncio.CancelledError):
            continue
        return


def _spins(steps: int, at_ns: int) -> str:
    return f"{steps} callbacks at {at_ns} ns: something waits by spinning"


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
