"""The queue between processors and handlers (Kafka: RequestChannel.scala; book 001, request path).

Processors put requests in, handlers take them out; one bounded queue for all (queued.max.requests,
500). When it is full the processor that wants to put one waits, reads none of its connections
meanwhile, and so the pressure reaches the clients through TCP. A response goes back to the
processor that owns the connection. Next hop of a request: KafkaRequestHandler; of a response:
Processor.
"""

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from kafka_edu.common.time import Time
from kafka_edu.common.transport import Part
from kafka_edu.protocol.api_keys import ApiKey
from kafka_edu.protocol.headers import RequestHeader
from kafka_edu.trace.tracer import Tracer

if TYPE_CHECKING:
    from kafka_edu.network.channel import KafkaChannel
    from kafka_edu.network.processor import Processor


class Request:
    """One request on its way, with a stamp (monotonic ns) for each hop it has passed."""

    __slots__ = (
        "body_offset",
        "cause",
        "channel",
        "client_address",
        "connection_id",
        "dequeued_ns",
        "frame",
        "header",
        "listener_name",
        "local_done_ns",
        "may_be_followed",
        "memory",
        "response_ns",
        "response_parts",
        "response_sent_from_ns",
        "start_ns",
        "timeout_ms",
    )

    def __init__(
        self,
        channel: "KafkaChannel",
        header: RequestHeader,
        frame: bytes,
        body_offset: int,
        start_ns: int,
    ) -> None:
        self.channel = channel
        self.header = header
        self.frame = frame
        """The whole request without its size prefix; the body starts at `body_offset`."""
        self.body_offset = body_offset
        self.connection_id = channel.connection_id
        self.client_address = channel.client_address
        self.listener_name = channel.listener_name
        self.start_ns = start_ns
        self.cause = 0
        """The fact that brings about the next hop: RequestReceived, then what made the answer. 0 if
        neither was told.
        """
        self.dequeued_ns = 0
        self.local_done_ns = 0
        """When the handler had done its part: set by whoever leaves the request to a purgatory; 0
        if it was answered at once.
        """
        self.may_be_followed = False
        """The handler has done its part: the connection's next produce may start
        (`edu.max.pipelined.requests`).
        """
        self.response_parts: list[Part] | None = None
        """The response, while it waits for the responses of earlier requests to leave."""
        self.response_ns = 0
        self.response_sent_from_ns = 0
        self.timeout_ms: int | None = None
        """The time-out that its client gives it, in ms. The watchdog looks it up when the request
        is a second old.
        """
        self.memory = 0
        """Bytes that it holds of the pool (queued.max.request.bytes); 0 if there is no such
        bound.
        """

    def release_memory(self) -> None:
        """The handler has done its part: its memory is for others now."""
        pool = self.channel.pool
        if self.memory and pool is not None:
            memory, self.memory = self.memory, 0
            pool.release(memory)


class RequestChannel:
    """The request queue. `capacity` is queued.max.requests. Owned by the broker's loop."""

    def __init__(self, time: Time, capacity: int, trace: Tracer | None = None) -> None:
        self._time = time
        self._trace = trace
        self.capacity = capacity
        self._queue: deque[Request] = deque()
        self._takers: deque[asyncio.Future[Request]] = deque()
        self._putters: deque[asyncio.Future[None]] = deque()
        self._promised = 0
        """Places in the queue that were promised to processors that waited, and are not taken
        yet.
        """
        self._handling = False
        self._to_wake: list[Processor] = []
        self.requests_total = 0

    @property
    def queue_size(self) -> int:
        return len(self._queue)

    def try_send_request(self, request: Request) -> bool:
        """Put a request in, or answer False when the queue is full, or others have waited longer
        for room. O(1).
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
        """Put a request in as soon as there is room. Those who wait get room in the order in which
        they came.
        """
        if not self.try_send_request(request):
            await self._wait_for_room()
            self._promised -= 1
            self._put(request)

    async def _wait_for_room(self) -> None:
        """Return with one place promised to the caller."""
        putter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._putters.append(putter)
        try:
            await putter
        except asyncio.CancelledError:
            if putter.done() and not putter.cancelled():  # the place was ours; the next one gets it
                self._promised -= 1
                self._promise()
            raise

    def _promise(self) -> None:
        """Promise the free places to those who wait, first come first served."""
        while self._putters and len(self._queue) + self._promised < self.capacity:
            putter = self._putters.popleft()
            if not putter.done():
                self._promised += 1
                putter.set_result(None)

    async def receive_request(self) -> Request:
        """The next request, first in first out; waits for one."""
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
                    self._put_back(taker.result())  # it was given to us and must not be lost
                raise
        request.dequeued_ns = self._time.nanoseconds()
        return request

    def _put_back(self, request: Request) -> None:
        """Give a request to another taker, or else to the next one."""
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(request)
                return
        self._queue.appendleft(request)

    def begin_handling(self) -> None:
        """A handler begins with a request. Whom it answers, this client or others who waited for
        it, is not told before `end_handling`.
        """
        self._handling = True

    def end_handling(self) -> None:
        """The handler has done its part: each processor that got responses meanwhile is woken, once
        (Kafka: selector.wakeup).
        """
        self._handling = False
        if self._to_wake:
            to_wake, self._to_wake = self._to_wake, []
            for processor in to_wake:
                processor.process_new_responses()

    def send_response(self, request: Request, parts: list[Part] | None) -> None:
        """Answer: queue `parts` (a whole response, its size prefix included) with the processor
        that owns the connection, and wake it.

        None: done without an answer (Produce with acks=0); the connection may go on with its next
        request.
        """
        request.response_ns = self._time.nanoseconds()
        trace = self._trace
        if trace is not None and trace.cause:
            request.cause = trace.cause
        processor = request.channel.processor
        if processor.enqueue_response(request, parts):
            if self._handling:
                self._to_wake.append(processor)
            else:
                asyncio.get_running_loop().call_soon(processor.process_new_responses)

    def let_next_start(self, request: Request) -> None:
        """Let the connection's next produce start, although this request waits for its answer in a
        purgatory.

        This does nothing while `edu.max.pipelined.requests` is 1, as in Kafka. See `KafkaChannel`.
        """
        channel = request.channel
        if channel.processor.max_pipelined_requests > 1:
            request.may_be_followed = True
            channel.start_next()

    def refuse(self, request: Request, rule: str) -> None:
        """Close the connection because of this request, which breaks `rule`. The log names both."""
        header = request.header
        came = (
            f"{ApiKey(header.api_key).name} ({header.api_key}) version {header.api_version},"
            f" correlation id {header.correlation_id}, {len(request.frame)} bytes"
        )
        request.channel.processor.refuse(request.channel, rule, came)

    def close_connection(self, request: Request, reason: str) -> None:
        """Close the connection the request came by."""
        request.channel.close(reason)
