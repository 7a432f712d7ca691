"""The handlers: num.io.threads tasks that take requests from the channel and work on them (Kafka: KafkaRequestHandler.scala; book 001).

Most handlers are plain functions: they decide, hand what must wait to a purgatory, and return. Some wait on ZooKeeper or the controller; such a
coroutine keeps its task, so that never more than num.io.threads requests are in progress, as in Kafka. The tasks share the broker's one loop:
this is Kafka's structure, not its parallelism (docs/differences.md).
Hop before: RequestChannel. Next hop: KafkaApis.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_edu.common.time import Time
from kafka_edu.network.request_channel import Request, RequestChannel
from kafka_edu.trace.events.server import RequestDequeued, RequestHandled
from kafka_edu.trace.tracer import Tracer

Handle = Callable[[Request], Awaitable[None] | None]


class KafkaRequestHandlerPool:
    """Owns the handler tasks of one request channel. `handle` must not raise: KafkaApis turns every failure into an answer."""

    def __init__(
        self,
        channel: RequestChannel,
        handle: Handle,
        time: Time,
        trace: Tracer | None,
        *,
        num_io_threads: int,
        on_failure: Callable[[str, BaseException], None],
    ) -> None:
        self._channel = channel
        self._handle = handle
        self._time = time
        self._trace = trace
        self._num_io_threads = num_io_threads
        self._on_failure = on_failure
        self._tasks: list[asyncio.Task[None]] = []
        self.busy = 0
        """Handlers that are at work on a request right now."""

    @property
    def size(self) -> int:
        return self._num_io_threads

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        for index in range(self._num_io_threads):
            task = loop.create_task(self._run(index), name=f"kafka-request-handler-{index}")
            task.add_done_callback(self._ended)
            self._tasks.append(task)

    async def _run(self, index: int) -> None:
        while True:
            request = await self._channel.receive_request()
            self.busy += 1
            try:
                if self._trace is not None and self._trace.hops:
                    await self._handle_and_tell(index, request, self._trace)
                else:
                    waiting = self._handle(request)
                    if waiting is not None:
                        await waiting
            finally:
                self.busy -= 1

    async def _handle_and_tell(self, index: int, request: Request, trace: Tracer) -> None:
        header = request.header
        queued_us = (request.dequeued_ns - request.start_ns) // 1000
        dequeued = trace(RequestDequeued(request.connection_id, header.correlation_id, header.api_key, index, queued_us))
        began = self._time.nanoseconds()
        with trace.because(dequeued):
            waiting = self._handle(request)
        if waiting is not None:
            await waiting
        handler_us = (self._time.nanoseconds() - began) // 1000
        trace(RequestHandled(request.connection_id, header.correlation_id, header.api_key, index, handler_us, request.response_ns != 0))

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._on_failure(task.get_name(), error)

    def crash(self) -> None:
        """Drop all handlers at once."""
        for task in self._tasks:
            task.cancel()

    async def shutdown(self) -> None:
        """Cancel the handlers and return when they have ended."""
        self.crash()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
