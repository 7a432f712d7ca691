"""The queue between processors and handlers (Kafka: RequestChannel.scala; book 001, request path).

Processors put requests in, and handlers take them out. All of them share one bounded queue
(queued.max.requests, 500). If the queue is full, a processor must wait, and reads from none of its
connections. So the TCP buffers fill up, and the clients must wait too. A response goes back to the
processor that owns the connection.

Next, for a request: `KafkaRequestHandlerPool`; for a response: `Processor.process_new_responses`.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from kafka_edu.common.time import Time
from kafka_edu.common.transport import Part
from kafka_edu.network.request import Request
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.trace.tracer import Tracer


class RequestChannel:
    """The queue of requests in the broker's event loop; `capacity` is queued.max.requests."""

    def __init__(self, time: Time, capacity: int, trace: Tracer | None = None) -> None:
        self._time = time
        self._trace = trace
        self.capacity = capacity
        self._queue: deque[Request] = deque()
        self._takers: deque[asyncio.Future[Request]] = deque()
        self._putters: deque[asyncio.Future[None]] = deque()
        self._promised = 0
        """The number of free places that are promised to waiting processors and not used yet."""
        self._handling = False
        self._to_wake: list[Callable[[], None]] = []
        self.requests_total = 0

    @property
    def queue_size(self) -> int:
        return len(self._queue)

    def try_send_request(self, request: Request) -> bool:
        """Put a request into the queue and return True, or return False if it must wait. O(1).

        A request must wait if the queue is full, or if other processors already wait for room.
        """
        if self._putters or len(self._queue) + self._promised >= self.capacity:
            return False
        self._put(request)
        return True

    def _put(self, request: Request) -> None:
        self.requests_total += 1
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(request)
                return
        self._queue.append(request)

    async def send_request(self, request: Request) -> None:
        """Put a request into the queue as soon as there is room.

        Callers get room in the order in which they called.
        """
        if not self.try_send_request(request):
            await self._wait_for_room()
            self._promised -= 1
            self._put(request)

    async def _wait_for_room(self) -> None:
        """Wait until one place in the queue is promised to the caller."""
        putter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._putters.append(putter)
        try:
            await putter
        except asyncio.CancelledError:
            if putter.done() and not putter.cancelled():  # the next caller gets our place
                self._promised -= 1
                self._promise()
            raise

    def _promise(self) -> None:
        """Promise free places in the queue to waiting callers, in the order of their calls."""
        while self._putters and len(self._queue) + self._promised < self.capacity:
            putter = self._putters.popleft()
            if not putter.done():
                self._promised += 1
                putter.set_result(None)

    async def receive_request(self) -> Request:
        """Wait for the next request and return it; the oldest request comes first."""
        if self._queue:
            request = self._queue.popleft()
            self._promise()
        else:
            taker: asyncio.Future[Request] = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                request = await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._put_back(taker.result())  # this request must not be lost
                raise
        request.dequeued_ns = self._time.nanoseconds()
        return request

    def _put_back(self, request: Request) -> None:
        """Give a request to a handler that waits for one. If no handler waits, put the request back
        at the head of the queue.
        """
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(request)
                return
        self._queue.appendleft(request)

    def begin_handling(self) -> None:
        """Record that a handler begins to handle a request.

        Until `end_handling`, responses are only queued, even responses to other clients.
        """
        self._handling = True

    def end_handling(self) -> None:
        """Wake, once each, the processors that got responses since `begin_handling`.

        (Kafka: selector.wakeup.) So if a follower's fetch completes a produce, the response to the
        produce leaves after the fetch has been handled.
        """
        self._handling = False
        if self._to_wake:
            to_wake, self._to_wake = self._to_wake, []
            for wake in to_wake:
                wake()

    def send_response(self, request: Request, parts: list[Part] | None) -> None:
        """Queue a response at the processor that owns the connection, and wake the processor.

        `parts` are the whole response with its size prefix. None means that no response is sent
        (Produce with acks=0). In that case the connection only continues with its next request.
        """
        request.response_ns = self._time.nanoseconds()
        trace = self._trace
        if trace is not None and trace.cause:
            request.cause = trace.cause
        wake = request.channel.enqueue_response(request, parts)
        if wake is not None:
            if self._handling:
                self._to_wake.append(wake)
            else:
                asyncio.get_running_loop().call_soon(wake)

    def let_next_start(self, request: Request) -> None:
        """Allow the connection's next produce to start, although this request waits in a purgatory.

        If `edu.max.pipelined.requests` is 1, which is Kafka's behaviour, this method does nothing.
        See `KafkaChannel`.
        """
        if request.channel.max_pipelined_requests > 1:
            request.may_be_followed = True
            request.channel.start_next()

    def refuse(self, request: Request, rule: str) -> None:
        """Close the connection whose request breaks `rule`. The log names request and rule."""
        header = request.header
        came = (
            f"{ApiKey(header.api_key).name} ({header.api_key}) version {header.api_version},"
            f" correlation id {header.correlation_id}, {len(request.frame)} bytes"
        )
        request.channel.refuse(rule, came)

    def close_connection(self, request: Request, reason: str) -> None:
        """Close the request's connection, for `reason`."""
        request.channel.close(reason)


class DataPlaneRequestChannel(RequestChannel):
    """The data plane's queue in a broker with a control plane (KIP-291; book 001; spec C10).

    This queue lets the event loop do other work between any two requests.

    In Apache Kafka the control plane has its own threads, and the kernel runs them even if the data
    plane is busy. In this project both planes share one event loop. Without a pause, the handlers
    would first empty a full data queue, and during that time nobody would read the control plane's
    sockets. So after each request of the data plane, the loop checks all sockets.

    The pause takes two turns of the loop for each request, about 20 µs. A broker without a control
    plane uses the plain RequestChannel and saves this time.
    """

    def __init__(self, time: Time, capacity: int, trace: Tracer | None = None) -> None:
        super().__init__(time, capacity, trace)
        self._turn = asyncio.Lock()

    async def receive_request(self) -> Request:
        """Wait for the next request and return it, after one turn of the event loop.

        Only one handler waits at a time. This handler handles its request before the next handler
        gets a request.
        """
        async with self._turn:
            await asyncio.sleep(0)
            return await super().receive_request()
