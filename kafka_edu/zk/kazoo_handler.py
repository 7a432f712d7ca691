"""Pass what kazoo's thread reads to an asyncio loop (kazoo: IHandler, IAsyncResult).

In kazoo, a handler provides the sockets, the waiting, and the place where callbacks run. kazoo has
handlers for threads, gevent and eventlet. This handler is for asyncio.

kazoo's thread puts each answer, watch event and session change into one queue, so the loop gets
them in the order in which kazoo read them. The thread wakes the loop when there is nothing more to
read. So all answers that have arrived reach the loop in one step. This saves more than only
wake-ups of the loop. For example, a leader that gets a thousand changed ISRs in one step wakes its
waiting fetches only once.

On the way from a broker's death to the new leader, `LoopHandler` passes the watch event to the
loop. The next step is `KazooZkClient._notify` (kazoo_zk_client.py).
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
"""If this many steps wait, kazoo's thread wakes the loop, even if there is more to read."""
Step = Callable[[], None]


class HasFileno(Protocol):
    def fileno(self) -> int: ...


class Result:
    """The answer to one request, which may arrive later (kazoo: IAsyncResult). Its callbacks run on
    the loop.
    """

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
        """Return the answer, or raise the request's exception. Only callbacks of kazoo itself call
        this method.
        """
        if self.exception is not None:
            raise self.exception
        return self.value

    def rawlink(self, callback: "Callable[[Result], None]") -> None:
        """Add a function that is called with the result. It can be added at any time after the
        request, because `_complete` runs in a later turn of the loop.
        """
        self._callbacks.append(callback)

    def _complete(self) -> None:
        for callback in self._callbacks:
            callback(self)
        # kazoo's callbacks refer to this object, and so do the frames that a raised exception
        # holds. Clearing the references frees the memory at once, without the garbage collector.
        self._callbacks.clear()
        self.value = self.exception = None


class PipeEnd:
    """One end of a pipe. It has the socket methods that kazoo needs."""

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
    """kazoo's handler for one asyncio loop. kazoo then needs no worker threads for its
    callbacks.
    """

    def __init__(self) -> None:
        super().__init__()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._loop_thread = 0
        self._steps: deque[Step] = deque()
        self._is_waking = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Set the loop on which the steps run. Called on that loop, before kazoo's thread
        starts.
        """
        self._loop = loop
        self._loop_thread = threading.get_ident()

    def enter(self, step: Step) -> None:
        """Run the function `step` on the loop, in a later turn, after all earlier steps.

        If kazoo's thread calls this, the loop is woken later: by the next `select` that finds
        nothing to read, or by `flush`.
        """
        self._steps.append(step)
        if len(self._steps) >= MAX_STEPS or threading.get_ident() == self._loop_thread:
            self.flush()

    def flush(self) -> None:
        """Wake the loop if steps wait for it."""
        if (
            self._steps
            and not self._is_waking
            and self._loop is not None
            and not self._loop.is_closed()
        ):
            self._is_waking = True
            self._loop.call_soon_threadsafe(self._run_steps)

    def _run_steps(self) -> None:
        self._is_waking = False  # set first, so that a step added from now on wakes the loop
        while self._steps:
            self._steps.popleft()()

    def start(self) -> None:
        """Do nothing. kazoo expects this method to start worker threads, but this handler has
        none.
        """

    def stop(self) -> None:
        """Do nothing, because there are no worker threads to stop."""

    def async_result(self) -> Result:
        return Result(self.enter)

    def dispatch_callback(self, callback: Callback) -> None:
        """Run a watch's callback at once, in kazoo's thread. The callback itself puts its work into
        the loop's queue.
        """
        callback.func(*callback.args)

    def create_socket_pair(self) -> tuple[PipeEnd, PipeEnd]:
        """Return the two ends of the pipe with which the loop wakes kazoo's thread. The loop writes
        one byte for each request.

        While kazoo reconnects, it reads none of these bytes. kazoo's own version uses a pair of
        sockets, which is full after about 280 bytes. The next request would then block the loop
        until ZooKeeper is back. A pipe has room for 65,536 bytes.
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
        """Wait until a file is ready. Before the wait, wake the loop for all answers and events
        that were read.

        kazoo calls this method four times for each request. kazoo's own version is slower, because
        it opens and closes an epoll object in each call.
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
