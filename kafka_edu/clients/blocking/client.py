"""A client of asyncio with its own thread, and functions that make its methods blocking."""

import functools
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from types import TracebackType
from typing import Concatenate, Generic, ParamSpec, Self, TypeVar

from kafka_edu.clients.blocking.loop_thread import LoopThread
from kafka_edu.clients.client_errors import ClientException

C = TypeVar("C")
P = ParamSpec("P")
T = TypeVar("T")


class BlockingClient(ABC, Generic[C]):
    """A client of asyncio, used by a thread without an event loop."""

    def __init__(
        self, client: C, name: str, start: Callable[[], Awaitable[C]], closed: ClientException
    ) -> None:
        self.client = client
        """The client that does the work. Only its own thread may use it."""
        self._closed = closed
        """The error that each call after `close` raises."""
        self._thread = LoopThread(name)
        self._thread.run(start)

    def run(self, call: Callable[[], Awaitable[T]]) -> T:
        """Run a call in the client's thread, and wait for it."""
        self.check_open()
        try:
            return self._thread.run(call)
        except CancelledError:  # another thread has closed the client
            raise self._closed from None

    def call_soon(self, function: Callable[[], object]) -> None:
        """Let the client's thread run a function soon, and do not wait for it."""
        try:
            self._thread.call_soon(function)
        except CancelledError:  # another thread has closed the client
            raise self._closed from None

    def check_open(self) -> None:
        """Raise an error if the client is closed."""
        if self._thread.stopped:
            raise self._closed

    async def prepare(self) -> None:
        """Prepare the client for any call except `close`. Runs in the client's thread."""

    def _close(self, close: Callable[[], Awaitable[None]]) -> None:
        """Close the client and end its thread. A second call does nothing."""
        if self._thread.stopped:
            return
        try:
            with suppress(CancelledError):  # another thread has closed the client at the same time
                self._thread.run(close)
        finally:
            self._thread.stop()

    @abstractmethod
    def close(self) -> None:
        """Close the client and end its thread. A second call does nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def waiting(
    method: Callable[Concatenate[C, P], Awaitable[T]],
) -> Callable[Concatenate[BlockingClient[C], P], T]:
    """Return a method that runs `method` in the client's thread, and waits for its result."""

    @functools.wraps(method)
    def wait(self: BlockingClient[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def call() -> T:
            await self.prepare()
            return await method(self.client, *args, **kwargs)

        return self.run(call)

    return wait


def at_once(
    method: Callable[Concatenate[C, P], T],
) -> Callable[Concatenate[BlockingClient[C], P], T]:
    """Like `waiting`, for a method of the client that is no coroutine function."""

    @functools.wraps(method)
    def wait(self: BlockingClient[C], /, *args: P.args, **kwargs: P.kwargs) -> T:
        async def call() -> T:
            await self.prepare()
            return method(self.client, *args, **kwargs)

        return self.run(call)

    return wait
