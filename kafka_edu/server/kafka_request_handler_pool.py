"""The pool of request handlers: num.io.threads tasks that take requests from the channel and carry
them out (Kafka: KafkaRequestHandler.scala; book 001).

Most handlers of APIs are plain functions. They carry out the request, or put a waiting operation
into a purgatory, and return at once. Some are coroutines that wait for ZooKeeper or the controller.
Such a coroutine occupies its task. So at most num.io.threads requests are in progress, as in Kafka.
All tasks share the broker's one event loop. This is Kafka's structure, but not its parallelism
(docs/differences.md). Requests come from RequestChannel and go on to KafkaApis.
"""

import asyncio
from collections.abc import Awaitable, Callable

from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.trace.events.server import HandlerPoolResized, RequestDequeued, RequestHandled
from kafka_edu.trace.tracer import Tracer

Handle = Callable[[Request], Awaitable[None] | None]


class KafkaRequestHandlerPool:
    """Owns the tasks that handle the requests of one request channel. `handle` must not raise.
    KafkaApis turns every failure into an answer.
    """

    def __init__(
        self,
        channel: RequestChannel,
        handle: Handle,
        time: Time,
        trace: Tracer | None,
        *,
        num_io_threads: int,
        on_failure: OnFailure,
        name: str = "kafka-request-handler",
    ) -> None:
        self._channel = channel
        self._handle = handle
        self._time = time
        self._trace = trace
        self._num_io_threads = num_io_threads
        self._on_failure = on_failure
        self._name = name
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._at_work: set[int] = set()
        self.busy = 0
        """The number of tasks that handle a request now."""

    @property
    def size(self) -> int:
        return self._num_io_threads

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        for index in range(self._num_io_threads):
            if index not in self._tasks:
                task = loop.create_task(self._run(index), name=f"{self._name}-{index}")
                task.add_done_callback(lambda done, index=index: self._ended(index, done))  # type: ignore[misc]
                report_failure(task, self._on_failure)
                self._tasks[index] = task

    def resize(self, num_io_threads: int) -> None:
        """Change the number of tasks. If the number becomes smaller, surplus tasks stop: idle tasks
        now, and busy tasks after their current request.
        """
        before, self._num_io_threads = self._num_io_threads, num_io_threads
        if self._trace:
            self._trace(HandlerPoolResized(before=before, after=num_io_threads))
        for index in [
            index for index in self._tasks if index >= num_io_threads and index not in self._at_work
        ]:
            self._tasks.pop(index).cancel()
        self.start()

    async def _run(self, index: int) -> None:
        while index < self._num_io_threads:
            request = await self._channel.receive_request()
            self.busy += 1
            self._at_work.add(index)
            waiting: Awaitable[None] | None = None
            try:
                if self._trace is not None and (self._trace.hops or request.cause):
                    await self._handle_and_tell(index, request, self._trace)
                else:
                    waiting = self._start(request)
                    if waiting is not None:
                        await waiting
            finally:
                if request.memory:
                    request.release_memory()
                self.busy -= 1
                self._at_work.discard(index)
            # Release the last request, which may hold 100 MB. Otherwise an idle task would keep the
            # request in memory.
            del request, waiting

    def _start(self, request: Request) -> Awaitable[None] | None:
        self._channel.begin_handling()
        try:
            return self._handle(request)
        finally:
            self._channel.end_handling()

    async def _handle_and_tell(self, index: int, request: Request, trace: Tracer) -> None:
        header = request.header
        queued_us = (request.dequeued_ns - request.start_ns) // 1000
        with trace.because(request.cause):
            dequeued = trace(
                RequestDequeued(
                    connection_id=request.connection_id,
                    correlation_id=header.correlation_id,
                    api_key=header.api_key,
                    handler=index,
                    queued_us=queued_us,
                ),
                trace.level_of_cause,
            )
        began = self._time.nanoseconds()
        with trace.because(dequeued):
            waiting = self._start(request)
        if waiting is not None:
            await trace.carry(dequeued, waiting)
        handler_us = (self._time.nanoseconds() - began) // 1000
        with trace.because(dequeued):
            trace(
                RequestHandled(
                    connection_id=request.connection_id,
                    correlation_id=header.correlation_id,
                    api_key=header.api_key,
                    handler=index,
                    handler_us=handler_us,
                    answered=request.response_ns != 0,
                ),
                trace.level_of_cause,
            )

    def _ended(self, index: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(index) is task:
            del self._tasks[index]

    def crash(self) -> None:
        """Drop all tasks at once."""
        for task in self._tasks.values():
            task.cancel()

    async def shutdown(self) -> None:
        """Cancel the tasks. Return when they have ended."""
        self.crash()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
