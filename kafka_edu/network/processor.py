"""A processor owns connections. It makes requests from bytes, and bytes from responses.

(Kafka: Processor in SocketServer.scala; book 001.) Kafka runs num.network.threads processors, each
in its own thread. In this project all processors run in the broker's one event loop, with Kafka's
queues between the parts. So the structure is Kafka's, but the processors do not run in parallel
(docs/differences.md).

A new connection comes from the Acceptor. A request comes from the wire: SocketWire passes bytes to
KafkaChannel, FrameReceiver cuts them into frames, and the channel calls `on_frame`. Next, for a
request: `RequestChannel.try_send_request` (request_channel.py); for a response: the wire.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Iterable
from typing import Final, NamedTuple

from kafka_edu.common.log_limiter import LogLimiter
from kafka_edu.common.tasks import OnFailure, report_failure
from kafka_edu.common.time import Time
from kafka_edu.common.transport import Part, Wire, part_size
from kafka_edu.network.channel import KafkaChannel
from kafka_edu.network.frame_capture import FrameCapture
from kafka_edu.network.memory_pool import MemoryPool
from kafka_edu.network.request import Request
from kafka_edu.network.request_channel import RequestChannel
from kafka_edu.network.request_metrics import RequestMetrics, is_follower_fetch, local_done_ns
from kafka_edu.protocol.api_keys import CONTROL_PLANE_KEYS, PATIENT_KEYS
from kafka_edu.protocol.headers import decode_request_header
from kafka_edu.protocol.types import ProtocolError
from kafka_edu.trace.event import SLOW_MS, Event, Level
from kafka_edu.trace.events.network import (
    ConnectionClosed,
    ConnectionFailed,
    ConnectionOpened,
    ConnectionSnapshot,
    RequestReceived,
    ResponseSent,
)
from kafka_edu.trace.tracer import Tracer

log = logging.getLogger(__name__)

#: The maximum number of bytes that the log shows of an unreadable request.
SHOWN_BYTES: Final = 16

SLOW_NS: Final = SLOW_MS * 1_000_000


def is_slow(request: Request) -> bool:
    """Return whether a request was slow, so that its ResponseSent event is emitted in any case.

    The time that the client itself allows the request to wait is not counted. If there are too many
    slow requests, Tracer.tells_slow limits the events.
    """
    took_ns = request.response_sent_from_ns - request.start_ns
    if took_ns < SLOW_NS:
        return False
    if request.header.api_key in PATIENT_KEYS and request.local_done_ns:
        took_ns -= request.response_ns - request.local_done_ns
    return took_ns >= SLOW_NS


class ProcessorSettings(NamedTuple):
    """The listener's name, and the limits for its connections, in bytes, ms and requests."""

    listener_name: str
    max_request_size: int
    max_idle_ms: int
    max_pipelined_requests: int


class SharedByProcessors:
    """The objects that all processors of a broker use together."""

    def __init__(
        self,
        time: Time,
        *,
        pool: MemoryPool | None = None,
        on_failure: OnFailure | None = None,
        metrics: RequestMetrics | None = None,
    ) -> None:
        """Create the shared objects.

        If a bug ends a task, `on_failure` is called with the task's name. This function must stop
        the broker.
        """
        self.pool = pool
        self.on_failure = on_failure
        self.metrics = metrics or RequestMetrics(time)
        self.failures_logged = LogLimiter(time.hi_res_clock_ms)
        """Limits how many exceptions with tracebacks go into the log."""
        self.refusals_logged = LogLimiter(time.hi_res_clock_ms)
        """Limits how many lines about bad input from clients go into the log."""


class Processor:
    """Owns some of one listener's connections; used only in the broker's event loop."""

    def __init__(
        self,
        index: int,
        time: Time,
        request_channel: RequestChannel,
        shared: SharedByProcessors,
        settings: ProcessorSettings,
        trace: Tracer | None = None,
        on_gone: Callable[[KafkaChannel], None] = lambda _: None,
    ) -> None:
        """Create a processor without connections.

        `on_gone` is called with each connection that was closed.
        """
        self.index = index
        self._time = time
        self._request_channel = request_channel
        self._trace = trace
        self._listener_name = settings.listener_name
        self._max_request_size = settings.max_request_size
        self._max_idle_ms = settings.max_idle_ms
        self.max_pipelined_requests = settings.max_pipelined_requests
        self._on_gone = on_gone
        self._pool = shared.pool
        self._on_failure = shared.on_failure
        self._failures_logged = shared.failures_logged
        self._refusals_logged = shared.refusals_logged
        self._metrics = shared.metrics
        self.capture: FrameCapture | None = None
        """Captures the frames of chosen clients; None while nothing is captured."""
        self.channels: dict[str, KafkaChannel] = {}
        self.bytes_in = 0
        self.bytes_out = 0
        self._next_connection = 0
        self._responses: deque[tuple[Request, list[Part] | None]] = deque()
        self._sending: dict[str, list[tuple[Request, int]]] = {}
        """Connection id → the responses being sent, as (request, bytes of the response)."""
        self._blocked: deque[Request] = deque()
        self._blocked_task: asyncio.Task[None] | None = None
        self._idle_task: asyncio.Task[None] | None = None

    @property
    def response_queue_size(self) -> int:
        return len(self._responses)

    def now_ms(self) -> int:
        return self._time.hi_res_clock_ms()

    def start(self) -> None:
        self._idle_task = self._spawn(self._close_idle(), "idle")

    def _spawn(self, work: Coroutine[None, None, None], name: str) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work, name=f"processor-{self.index}-{name}")
        if self._on_failure is not None:  # otherwise requests would wait for ever
            report_failure(task, self._on_failure)
        return task

    def accept(self, wire: Wire) -> KafkaChannel:
        """Create the channel of a new connection (Kafka: configureNewConnections)."""
        connection_id = f"{wire.local}-{wire.peer}-{self._next_connection}"
        self._next_connection += 1
        channel = KafkaChannel(
            wire,
            self,
            connection_id,
            self._listener_name,
            self._max_request_size,
            self.now_ms(),
            self._pool,
        )
        self.channels[connection_id] = channel
        if self._trace:
            self._trace(
                ConnectionOpened(
                    connection_id=connection_id, listener=self._listener_name, processor=self.index
                )
            )
        return channel

    def on_frame(self, channel: KafkaChannel, frame: bytes) -> None:
        """Put a complete request into the request channel (Kafka: processCompletedReceives).

        The channel is muted from now on, because the request is in progress. If the header cannot
        be read, the connection is closed.
        """
        try:
            header, body_offset = decode_request_header(frame)
        except ProtocolError as error:
            if self._pool is not None:
                self._pool.release(len(frame))
            self._capture_unreadable(channel, len(frame).to_bytes(4, "big") + frame)
            self.refuse_bytes(channel, f"unreadable request header: {error}", frame)
            return
        request = Request(channel, header, frame, body_offset, self._time.nanoseconds())
        if self._pool is not None:
            request.memory = len(frame)
        channel.client_id = header.client_id or ""
        channel.in_progress.append(request)
        if self.capture is not None:
            self.capture.request(request)
        trace = self._trace
        if trace is not None and (trace.hops or header.api_key in CONTROL_PLANE_KEYS):
            request.cause = trace(
                RequestReceived(
                    connection_id=channel.connection_id,
                    correlation_id=header.correlation_id,
                    api_key=header.api_key,
                    api_version=header.api_version,
                    client_id=channel.client_id,
                    size_bytes=len(frame),
                    processor=self.index,
                    queue_size=self._request_channel.queue_size,
                ),
                Level.STATE if header.api_key in CONTROL_PLANE_KEYS else Level.HOPS,
            )
        if self._blocked or not self._request_channel.try_send_request(request):
            self._blocked.append(request)
            if self._blocked_task is None:
                self._blocked_task = self._spawn(self._unblock(), "blocked")

    async def _unblock(self) -> None:
        """Put the blocked requests into the request queue, in order, as soon as it has room.

        Requests are blocked when the queue is full. Until the queue has room, new requests of all
        connections of this processor wait too.
        """
        while self._blocked:
            await self._request_channel.send_request(self._blocked[0])
            self._blocked.popleft()
        self._blocked_task = None

    def enqueue_response(self, request: Request, parts: list[Part] | None) -> bool:
        """Put a response into this processor's queue; None means that no response is sent.

        Returns True if this response is the first in the queue. In that case the caller must wake
        the processor.
        """
        self._responses.append((request, parts))
        return len(self._responses) == 1

    def process_new_responses(self) -> None:
        """Send the queued responses; called by RequestChannel.end_handling or by the event loop.

        An unexpected exception closes only one connection, and the other responses are sent. Next:
        the wire, which then calls `on_all_sent`.
        """
        responses, self._responses = self._responses, deque()
        for request, parts in responses:
            channel = self.channels.get(request.connection_id)
            if channel is not None:
                try:
                    self._send(channel, request, parts)
                except Exception as error:
                    self.fail(channel, "sending its response", error)

    def _send(self, channel: KafkaChannel, request: Request, parts: list[Part] | None) -> None:
        """Send a response, or hold it until the responses to earlier requests have left.

        Without a response (`parts` None), only unmute the connection.
        """
        if parts is None:
            now = self._time.nanoseconds()
            self._metrics.record(request, now, now)
            channel.unmute()  # acks=0: no other request is in progress
            return
        request.response_parts = parts
        if channel.in_progress[0] is request and channel.connection_id not in self._sending:
            self._send_held(channel)
        else:
            self._request_channel.let_next_start(request)

    def _send_held(self, channel: KafkaChannel) -> None:
        """Send all responses that are ready, from the oldest request on, in one write."""
        batch: list[tuple[Request, int]] = []
        all_parts: list[Part] = []
        total = 0
        now = self._time.nanoseconds()
        for request in channel.in_progress:
            parts = request.response_parts
            if parts is None:
                break
            request.response_sent_from_ns = now
            request.response_parts = None
            if self.capture is not None:
                self.capture.response(request, parts)
            size = sum(map(part_size, parts))
            batch.append((request, size))
            total += size
            all_parts += parts
        if batch:
            self.bytes_out += total
            self._sending[channel.connection_id] = batch
            channel.wire.send(all_parts)

    def fail(self, channel: KafkaChannel, doing: str, error: Exception) -> None:
        """Close a connection after an unexpected exception, and log the exception.

        All other connections continue. This is one of the places where the broker survives a bug in
        its own code (docs/answers.md).
        """
        if self._failures_logged.allows():
            log.error(
                "connection %s is closed: the broker failed while %s",
                channel.connection_id,
                doing,
                exc_info=error,
            )
        what = f"{type(error).__name__}: {error}"
        if self._trace:
            self._trace(
                ConnectionFailed(
                    connection_id=channel.connection_id,
                    processor=self.index,
                    doing=doing,
                    error=what,
                )
            )
        channel.close(f"the broker failed while {doing}: {what}")

    def refuse(self, channel: KafkaChannel, rule: str, came: str) -> None:
        """Close a connection because of its bad input.

        The log names the client, the input `came` and the `rule` that the input breaks.
        """
        if self._refusals_logged.allows():
            client = f"client id '{channel.client_id}'" if channel.client_id else "no client id yet"
            log.warning(
                "connection %s (%s) is closed for its input: %s. What came: %s",
                channel.connection_id,
                client,
                rule,
                came,
            )
        channel.close(rule)

    def refuse_size(self, channel: KafkaChannel, rule: str, size: bytes) -> None:
        """Close a connection that announces a frame of a size that is not allowed."""
        self._capture_unreadable(channel, size)
        self.refuse_bytes(channel, rule, size)

    def _capture_unreadable(self, channel: KafkaChannel, data: bytes) -> None:
        if self.capture is not None:
            self.capture.unreadable(channel.connection_id, channel.client_id, data)

    def refuse_bytes(self, channel: KafkaChannel, rule: str, data: bytes) -> None:
        """Close a connection whose bytes `data` are not a valid request."""
        self.refuse(channel, rule, bytes_text(data))

    def on_all_sent(self, channel: KafkaChannel) -> None:
        """Emit ResponseSent for the responses that have left, and unmute the connection.

        (Kafka: processCompletedSends.)
        """
        sent = self._sending.pop(channel.connection_id, None)
        if sent is None:
            return
        trace = self._trace
        now = self._time.nanoseconds()
        for request, size in sent:
            self._metrics.record(request, request.response_sent_from_ns, now)
            if trace is None:
                continue
            is_reported = (
                now - request.start_ns >= SLOW_NS and is_slow(request) and trace.tells_slow()
            )
            if is_reported or trace.hops or request.cause:
                with trace.because(request.cause):
                    level = Level.STATE if is_reported else trace.level_of_cause
                    trace(_time_split(request, size, now), level)
        channel.unmute(len(sent))
        if channel.in_progress:
            self._send_held(channel)

    def on_closed(self, channel: KafkaChannel, reason: str) -> None:
        """Remove a closed connection; its requests are still handled, but get no response."""
        if self.channels.pop(channel.connection_id, None) is None:
            return
        self._sending.pop(channel.connection_id, None)
        self._on_gone(channel)
        if self._trace:
            self._trace(
                ConnectionClosed(
                    connection_id=channel.connection_id, processor=self.index, reason=reason
                )
            )

    async def _close_idle(self) -> None:
        """Close connections that were silent for connections.max.idle.ms.

        A connection that waits for a response is not idle. A connection whose client does not read
        its response is idle.
        """
        while True:
            await self._time.sleep(max(self._max_idle_ms / 4, 10))
            now_ms = self.now_ms()
            for channel in list(self.channels.values()):
                unsent = channel.wire.unsent
                if unsent != channel.unsent_before:
                    channel.unsent_before = unsent
                    channel.last_active_ms = now_ms
                elif (
                    unsent or not channel.in_progress
                ) and channel.last_active_ms <= now_ms - self._max_idle_ms:
                    channel.close(f"idle for {self._max_idle_ms} ms (connections.max.idle.ms)")

    def snapshot(self) -> Iterable[Event]:
        return [
            ConnectionSnapshot(
                connection_id=c.connection_id,
                listener=c.listener_name,
                processor=self.index,
                client_id=c.client_id,
            )
            for c in self.channels.values()
        ]

    def close(self) -> None:
        """Close every connection, and stop this processor's tasks."""
        for task in (self._idle_task, self._blocked_task):
            if task:
                task.cancel()
        for channel in list(self.channels.values()):
            channel.close("the broker stops")


def _time_split(request: Request, size: int, now: int) -> ResponseSent:
    local_done = local_done_ns(request)
    return ResponseSent(
        connection_id=request.connection_id,
        correlation_id=request.header.correlation_id,
        api_key=request.header.api_key,
        size_bytes=size,
        request_queue_us=(request.dequeued_ns - request.start_ns) // 1000,
        local_us=(local_done - request.dequeued_ns) // 1000,
        remote_us=(request.response_ns - local_done) // 1000,
        response_queue_us=(request.response_sent_from_ns - request.response_ns) // 1000,
        send_us=(now - request.response_sent_from_ns) // 1000,
        total_us=(now - request.start_ns) // 1000,
        throttle_us=request.throttle_ns // 1000,
        client_id=request.header.client_id or "",
        follower=is_follower_fetch(request),
    )


def bytes_text(data: bytes) -> str:
    """Return a text for the log that describes bytes which are not a request.

    The bytes are shown as text if they are printable text, otherwise in hexadecimal.
    """
    first = data[:SHOWN_BYTES]
    text = first.rstrip(b"\r\n")
    shown = (
        f"'{text.decode('ascii')}'"
        if text.isascii() and text.decode("ascii").isprintable()
        else first.hex(" ")
    )
    return f"{len(data)} bytes that begin with {shown}"
