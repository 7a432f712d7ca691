"""Give a client process of a cluster its own number, and serve the events that it emits.

A program with an event loop gives its producers and consumers the tracer of `client_tracer`, as
`kafka-edu load` does. A process whose main thread belongs to another library, such as Spark, emits
its events with `client_trace`.
"""

import asyncio
import contextlib
import fcntl
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Final, TypeVar

from kafka_edu.common.socket_transport import SocketTransport
from kafka_edu.common.time import SystemTime
from kafka_edu.supervisor.cluster_folder import ClusterFolder
from kafka_edu.trace.event import Event, Source, SourceKind
from kafka_edu.trace.socket_sink import EventServer
from kafka_edu.trace.trace_ring import SMALL_BYTES
from kafka_edu.trace.tracer import Tracer

#: The maximum number of client processes with events that can run on one cluster at the same time.
MAX_CLIENTS: Final = 16
#: Seconds to wait at the end, so that the server can still send the last events.
LAST_EVENTS_S: Final = 0.15


T = TypeVar("T")


class NoClientNumber(Exception):
    """No number is free, or the cluster's folder cannot be written.

    The message says what the user can do.
    """


@contextlib.contextmanager
def client_number(folder: ClusterFolder) -> Iterator[int]:
    """Reserve the first free client number of this cluster, and free it at the end of the block.

    Raises NoClientNumber if no number can be reserved.
    """
    for number in range(1, MAX_CLIENTS + 1):
        path = folder.client(number)
        try:
            path.mkdir(parents=True, exist_ok=True)
            opened = (path / "lock").open("w")
        except OSError as error:
            raise NoClientNumber(
                f"{path} cannot be written: {error.strerror}; a load keeps its events there. Free"
                " some space, or set KAFKA_EDU_HOME to another folder"
            ) from error
        with opened as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            try:
                yield number
            finally:
                folder.client_events(number).unlink(missing_ok=True)
            return
    raise NoClientNumber(
        f"{MAX_CLIENTS} loads run on cluster '{folder.name}' already; stop one of them"
    )


class ClientTrace:
    """The events of a client process. A separate thread serves them.

    All methods may be called from any other thread.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, trace: Tracer) -> None:
        self._loop = loop
        self._trace = trace

    def emit(self, event: Event) -> None:
        """Emit an event soon."""
        self._loop.call_soon_threadsafe(self._trace, event)

    def run(self, program: Callable[[Tracer], Coroutine[object, object, T]]) -> T:
        """Run a program in the thread's event loop, and return its result.

        The program gets the tracer of this process. Pass the tracer to each client, so that the
        client emits its events to it.
        """
        return asyncio.run_coroutine_threadsafe(program(self._trace), self._loop).result()


@contextlib.asynccontextmanager
async def client_tracer(folder: ClusterFolder) -> AsyncIterator[Tracer]:
    """Serve the events of this process on the running event loop during the block.

        async with client_tracer(ClusterFolder.of("default")) as trace:
            async with Producer(settings, trace=trace) as producer:
                ...

    Dashboards and recordings of the cluster show these clients. Raises NoClientNumber if no client
    number is free.
    """
    with client_number(folder) as number:
        trace, events = _server(folder, number)
        await events.publish(folder.client_events(number))
        serving = asyncio.create_task(events.run())
        try:
            yield trace
            await asyncio.sleep(LAST_EVENTS_S)
        finally:
            serving.cancel()
            events.close()


def _server(folder: ClusterFolder, number: int) -> tuple[Tracer, EventServer]:
    clock = SystemTime()
    trace = Tracer(Source(SourceKind.CLIENT, number), clock)
    return trace, EventServer(
        trace,
        SocketTransport(),
        clock,
        secrets.token_hex(16),
        cluster=folder.name,
        ring_bytes=SMALL_BYTES,
    )


@contextlib.contextmanager
def client_trace(folder: ClusterFolder) -> Iterator[ClientTrace]:
    """Serve the events of this process from a thread during the block.

    Raises NoClientNumber if no client number is free.
    """
    with client_number(folder) as number:
        trace, events = _server(folder, number)
        loop = asyncio.new_event_loop()
        loop.run_until_complete(events.publish(folder.client_events(number)))
        serving = loop.create_task(events.run())
        thread = threading.Thread(target=_run_until_cancelled, args=(loop, serving), daemon=True)
        thread.start()
        try:
            yield ClientTrace(loop, trace)
        finally:
            loop.call_soon_threadsafe(_end_soon, loop, serving)
            thread.join()
            events.close()
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


def _run_until_cancelled(loop: asyncio.AbstractEventLoop, serving: "asyncio.Task[None]") -> None:
    with contextlib.suppress(asyncio.CancelledError):
        loop.run_until_complete(serving)


def _end_soon(loop: asyncio.AbstractEventLoop, serving: "asyncio.Task[None]") -> None:
    loop.call_later(LAST_EVENTS_S, serving.cancel)
