"""Bring what kazoo's thread reads onto an asyncio loop (kazoo: IHandler, IAsyncResult).

A handler is kazoo's public interface for its surroundings: sockets, waiting, and the place where
callbacks run. kazoo has handlers for threads, gevent and eventlet. This one is for asyncio.

kazoo's thread puts each answer, watch and session change into one queue, so they reach the loop in
the order in which kazoo read them. The loop is woken when there is nothing more to read. So all the
answers that have arrived enter the loop in one step. That matters for more than the cost of waking:
a leader that hears of a thousand changed ISRs in one step wakes its waiting fetches once.
"""

import asyncio
import os
import select
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

from kazoo.handlers.threading import SequentialThreadingHandler  # type: ignore[import-untyped]
from kazoo.protocol.states import Callback  # type: ignore[import-untyped]  # kazoo has no types

MAX_STEPS: Final = 1000
"""The loop is woken for this many steps even if there is more to read."""
Step = Callable[[], None]


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class Result:
    """The answer to one request (kazoo: IAsyncResult). Its callbacks run on the loop."""

    def __init__(self, enter: Callable[[Step], None]) -> None:
        self._enter = enter
        self._callbacks: list[Callable[[Result], None]] = []
        self.value: Any = None
        self.exception: BaseException | None = None

    def set(self, value: object = None) -> None:
        self.value = value
        self._enter(self._complete)

    def set_exception(self, exception: BaseException) -> None:
        self.exception = exception
        self._enter(self._complete)

    def get(self) -> object:
        """Return the value or raise the exception. Called by kazoo's own callbacks only."""
        if self.exception is not None:
            raise self.exception
        return self.value

    def rawlink(self, callback: "Callable[[Result], None]") -> None:
        """Add a callback. This never comes too late, because `_complete` runs in a later turn of
        the loop.
        """
        self._callbacks.append(callback)

    def _complete(self) -> None:
        for callback in self._callbacks:
            callback(self)
        # kazoo's callbacks, and the frames that a raised exception holds, refer to this object.
        # This ends the cycles, which only the garbage collector would find.
        self._callbacks.clear()
        self.value = self.exception = None


class PipeEnd:
    """One end of a pipe, with a socket's methods as far as kazoo uses them."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def send(self, data: bytes) -> int:
        return os.write(self._fd, data)

    def recv(self, size: int) -> bytes:
        return os.read(self._fd, size)

    def close(self) -> None:
        os.close(self._fd)


class LoopHandler(SequentialThreadingHandler):  # type: ignore[misc]  # kazoo has no types
    """kazoo's handler for one asyncio loop. It needs none of kazoo's worker threads."""

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._steps: deque[Step] = deque()
        self._is_waking = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Use this loop. Called on the loop, before kazoo's thread starts."""
        self._loop = loop
        self._loop_thread = threading.get_ident()

    def enter(self, step: Step) -> None:
        """Run `step` in a later turn of the loop, after all earlier steps.

        In kazoo's thread, the loop is woken by the next `select` that finds nothing, or by `flush`.
        """
        self._steps.append(step)
        if len(self._steps) >= MAX_STEPS or threading.get_ident() == self._loop_thread:
            self.flush()

    def flush(self) -> None:
        """Wake the loop for the steps that wait, if any."""
        if (
            self._steps
            and not self._is_waking
            and self._loop is not None
            and not self._loop.is_closed()
        ):
            self._is_waking = True
            self._loop.call_soon_threadsafe(self._run_steps)

    def _run_steps(self) -> None:
        self._is_waking = False  # before the steps: one that is added from here on wakes again
        while self._steps:
            self._steps.popleft()()

    def start(self) -> None:
        """Start no worker threads."""

    def stop(self) -> None:
        """There are no worker threads to stop."""

    def async_result(self) -> Result:
        return Result(self.enter)

    def dispatch_callback(self, callback: Callback) -> None:
        """Run a watch's callback in kazoo's thread. It enters the loop by itself."""
        callback.func(*callback.args)

    def create_socket_pair(self) -> tuple[PipeEnd, PipeEnd]:
        """Return the pair through which the loop wakes kazoo's thread, with a byte for each
        request.

        While kazoo reconnects it reads none of these bytes. kazoo's own pair is made of sockets,
        which are full after some 280 bytes. The next request would then block the loop until
        ZooKeeper is back. A pipe has room for 65,536.
        """
        read, write = os.pipe()
        return PipeEnd(read), PipeEnd(write)

    def select(
        self,
        readers: Sequence[HasFileno],
        writers: Sequence[HasFileno],
        _: Sequence[HasFileno],
        timeout: float | None = None,
    ) -> tuple[list[HasFileno], list[HasFileno], list[HasFileno]]:
        """Wait until a file is ready. Before that, wake the loop for what was read.

        kazoo calls this four times for each request. Its own version opens and closes an epoll
        object in each call.
        """
        poll = select.poll()
        for reader in readers:
            poll.register(reader, select.POLLIN)
        for writer in writers:
            poll.register(writer, select.POLLOUT)
        found = poll.poll(0)
        if not found:
            self.flush()
            found = poll.poll(None if timeout is None else timeout * 1000)
        ready = {fd for fd, _ in found}
        return (
            [reader for reader in readers if reader.fileno() in ready],
            [writer for writer in writers if writer.fileno() in ready],
            [],
        )
