"""An event loop in a thread, and calls that wait for its results.

The program's thread gives a call to the loop and waits. While the program's thread waits, the loop
may give work back to this thread: a rebalance listener runs in the program's thread, so the
listener can call the client. If Ctrl-C raises KeyboardInterrupt during the wait, the call is
cancelled, and `run` returns only when the call has ended. So the next call never begins while the
previous one still runs.
"""

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, TypeVar

from kafka_edu.clients.client_errors import ClientException
from kafka_edu.common.errors import Errors

T = TypeVar("T")
Work = Callable[[], None]
Works = SimpleQueue[Work | None]
_caller: Final[contextvars.ContextVar[Works]] = contextvars.ContextVar("caller")
"""The queue of the thread that waits for the running call. None ends the wait."""


class WrongThreadException(ClientException):
    """A callback waited for the thread in which the callback itself runs."""

    def __init__(self) -> None:
        super().__init__(
            Errors.INVALID_REQUEST,
            "A callback that runs in the client's thread cannot wait for the client.",
            "Make the call in your program's thread.",
        )


class LoopThread:
    """Runs one event loop in a thread, until `stop`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()
        self._lock = threading.Lock()
        """Held while the loop gets a function to run, so that it gets none after its end."""
        self.stopped = False

    def _serve(self) -> None:
        try:
            self._loop.run_forever()
            self._loop.run_until_complete(_end_all(asyncio.all_tasks(self._loop)))
        finally:
            self._loop.close()

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a call in the loop. Return its result, or raise its error.

        Raises WrongThreadException if a callback calls `run` in the loop's own thread. Raises
        CancelledError if another thread has stopped the loop, or stops it during the call.
        """
        if threading.current_thread() is self._thread:
            raise WrongThreadException
        queue: Works = SimpleQueue()
        ended: Future[T] = Future()
        tasks: list[asyncio.Task[T]] = []

        def start() -> None:
            task = self._loop.create_task(_call_for(call, queue))
            tasks.append(task)
            task.add_done_callback(end)

        def end(task: asyncio.Task[T]) -> None:
            if task.cancelled():
                ended.cancel()
            elif (error := task.exception()) is not None:
                ended.set_exception(error)
            else:
                ended.set_result(task.result())
            queue.put(None)

        def cancel() -> None:
            if tasks:
                tasks[0].cancel()
            else:  # Ctrl-C came before the start
                queue.put(None)

        try:
            self.call_soon(start)
            while (work := queue.get()) is not None:
                work()
        finally:
            if not ended.done():
                with suppress(CancelledError):  # the end of the loop cancels the call too
                    self.call_soon(cancel)
                    while queue.get() is not None:
                        pass
        return ended.result()

    def call_soon(self, function: Callable[[], object]) -> None:
        """Let the loop run a function soon, without waiting for it.

        Raises CancelledError if the loop is stopped.
        """
        with self._lock:
            if self.stopped:
                raise CancelledError
            self._loop.call_soon_threadsafe(function)

    def stop(self) -> None:
        """End the thread. Running calls of other threads are cancelled."""
        with self._lock:
            if self.stopped:
                return
            self.stopped = True
            self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()


async def _end_all(tasks: set[asyncio.Task[object]]) -> None:
    """Cancel the tasks and wait for them. The loop runs the callbacks that are due before this
    coroutine. So a call that has just ended can return its result.
    """
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


async def _call_for(call: Callable[[], Awaitable[T]], queue: Works) -> T:
    _caller.set(queue)
    return await call()


async def in_caller(function: Callable[[], None]) -> None:
    """Let the thread that waits for this call run a function. Raises the function's error."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def work() -> None:
        try:
            function()
        except Exception as error:  # the call raises it
            loop.call_soon_threadsafe(_fail, ended, error)
        else:
            loop.call_soon_threadsafe(_end, ended)

    _caller.get().put(work)
    await ended


def _end(future: "asyncio.Future[None]") -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: "asyncio.Future[None]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
