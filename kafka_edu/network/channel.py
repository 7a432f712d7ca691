"""One client's connection (Kafka: KafkaChannel.java, ChannelMuteState).

A channel works on one request at a time, as in Kafka: it is muted from the moment a request is
complete until its response has left. Produce requests are the exception, see below. So responses
leave in the order of the requests, whatever the purgatory does. Requests that a client sends ahead
wait here, as bytes already received (at most one receive buffer of them), or in the kernel's socket
buffer.

The hop before is the wire, which calls `data_received`. Next hop: `Processor.on_frame`.

**Pipelined produce.** That rule has a price. A produce with acks=all waits for the followers, and
the client's next produce is not even read meanwhile. When replication takes 50 ms, a connection
gets 20 answers a second, however many requests the client sends ahead. The backlog grows without
bound, and the client gives up after its own time-out, for example after 60 s (docs/answers.md shows
it measured). The protocol only wants answers in the order of the requests. So with
`edu.max.pipelined.requests` above 1, and its default is 64, the next produce is appended while the
one before waits in the purgatory. Its answer is held until the answers before it have left. This
applies to produce requests with acks 1 or all only. A request of any other kind, or with acks=0,
waits until the connection has nothing in progress.
"""

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from kafka_edu.common.transport import Part, Wire
from kafka_edu.network.memory_pool import SMALL_REQUEST_BYTES, MemoryPool
from kafka_edu.network.request import Request
from kafka_edu.protocol.framing import FrameReceiver, InvalidReceive
from kafka_edu.protocol.produce_peek import is_acknowledged_produce

#: How many bytes of requests a connection may have in progress before its next request has to wait.
MAX_PIPELINED_BYTES: Final = 1 << 20


class ChannelOwner(Protocol):
    """The owner of a channel (`Processor`), as the channel sees it. Each call names the channel."""

    bytes_in: int

    @property
    def max_pipelined_requests(self) -> int: ...
    def now_ms(self) -> int: ...
    def on_frame(self, channel: "KafkaChannel", frame: bytes, /) -> None: ...
    def on_all_sent(self, channel: "KafkaChannel", /) -> None: ...
    def on_closed(self, channel: "KafkaChannel", reason: str, /) -> None: ...
    def refuse(self, channel: "KafkaChannel", rule: str, came: str, /) -> None: ...
    def refuse_size(self, channel: "KafkaChannel", rule: str, size: bytes, /) -> None: ...
    def fail(self, channel: "KafkaChannel", doing: str, error: Exception, /) -> None: ...
    def enqueue_response(self, request: Request, parts: list[Part] | None, /) -> bool: ...
    def process_new_responses(self) -> None: ...


class KafkaChannel:
    """Turns the bytes of one wire into requests. It is that wire's receiver, and its processor owns
    it.
    """

    __slots__ = (
        "_bytes_in_progress",
        "_frames",
        "_receiver",
        "_reserved",
        "client_address",
        "client_id",
        "close_reason",
        "connection_id",
        "in_progress",
        "last_active_ms",
        "listener_name",
        "pool",
        "processor",
        "unsent_before",
        "wire",
    )

    def __init__(
        self,
        wire: Wire,
        processor: ChannelOwner,
        connection_id: str,
        listener_name: str,
        max_request_size: int,
        now_ms: int,
        pool: MemoryPool | None = None,
    ) -> None:
        """`pool` bounds the memory of all connections' requests together. None means no bound."""
        self.wire = wire
        self.processor = processor
        self.connection_id = connection_id
        self.client_address = wire.peer.rpartition(":")[0]
        self.listener_name = listener_name
        self.client_id = ""
        self.in_progress: deque[Request] = deque()
        """The requests whose responses have not left yet, oldest first: one, or several produces
        (see above).
        """
        self.close_reason = ""
        self.last_active_ms = now_ms
        """The last time at which a frame began or was complete, or a part of a response left.

        Bytes in the middle of a frame do not count. So a client that sends a byte now and then must
        still complete its frame within connections.max.idle.ms. Apache Kafka waits for ever.
        """
        self.unsent_before = 0
        """Bytes of responses that had not left when the processor last looked for idle
        connections.
        """
        self._bytes_in_progress = 0
        self._frames: deque[bytes] = deque()
        self.pool = pool
        self._reserved = False
        """Whether the pool has given memory for a large request that has not started yet."""
        self._receiver = FrameReceiver(
            max_request_size, self._allocate if pool is not None else None
        )
        wire.guard_sends(self._send_failed)

    def data_received(self, data: memoryview) -> None:
        """Take the bytes that have arrived. An unexpected exception closes only this connection."""
        try:
            self._hold_or_take(data)
        except Exception as error:
            self.processor.fail(self, "reading its requests", error)

    def _hold_or_take(self, data: memoryview) -> None:
        self.processor.bytes_in += len(data)
        held = self._receiver.held
        if held is not None:  # more bytes arrived before reading had stopped
            self._receiver.held = memoryview(bytes(held) + data)
            self.wire.pause_reading()
            return
        self._take(data)

    def _allocate(self, size: int) -> bool:
        """Return whether a request of `size` bytes may begin.

        A muted channel takes no memory for a large request, because requests sent ahead must not
        keep other clients waiting. Small ones that were sent ahead have arrived already.
        """
        pool = self.pool
        if pool is None:
            return False
        if size < SMALL_REQUEST_BYTES:
            return pool.try_allocate(size)
        if self.is_muted or self._reserved:
            return False
        self._reserved = pool.try_allocate(size)
        return self._reserved

    @property
    def waits_for_memory(self) -> bool:
        """Whether a request has arrived but may not begin, because the broker already holds
        queued.max.request.bytes.
        """
        return self._receiver.held is not None

    def more_memory(self) -> None:
        """Go on with the request that could not begin. Now there is memory, or the request before
        it is answered.
        """
        held, self._receiver.held = self._receiver.held, None
        if held is None:
            return  # the connection was closed meanwhile
        try:
            self._take(memoryview(held))
        except Exception as error:  # must not reach the caller, which only gave memory back
            self.processor.fail(self, "reading its requests", error)
            return
        if not self.is_muted and self._receiver.held is None:
            self.wire.resume_reading()

    def _take(self, data: memoryview) -> None:
        processor = self.processor
        begins = self._receiver.between_frames
        try:
            frames = self._receiver.feed(data)
        except InvalidReceive as error:
            self._release(error.frames)
            processor.refuse_size(self, str(error), error.prefix)
            return
        held = self._receiver.held
        if held is not None and self.pool is not None:
            self.wire.pause_reading()
            if not self.is_muted and not frames:
                self.pool.wait(self, int.from_bytes(held[:4], "big"))
        if begins or frames:
            self.last_active_ms = processor.now_ms()
        if not frames:
            return
        if self.in_progress or len(frames) > 1:
            self._frames.extend(frames)
            self.start_next()
        else:
            self._start(frames[0])

    def _start(self, frame: bytes) -> None:
        if len(frame) >= SMALL_REQUEST_BYTES:
            self._reserved = False
        self._bytes_in_progress += len(frame)
        self.processor.on_frame(self, frame)

    @property
    def request(self) -> Request | None:
        """The oldest request in progress. The watchdog looks at it (`RequestWatchdog`)."""
        return self.in_progress[0] if self.in_progress else None

    @property
    def is_muted(self) -> bool:
        """Whether no further request may start now, of whatever kind."""
        waiting = self.in_progress
        return bool(waiting) and not (
            waiting[-1].may_be_followed and len(waiting) < self.processor.max_pipelined_requests
        )

    def start_next(self) -> None:
        """Start each request that has been received and may start now. Read on unless one has to
        wait.
        """
        while self._frames and self._may_start(self._frames[0]):
            self._start(self._frames.popleft())
        if self._frames:
            self.wire.pause_reading()
        elif self.is_muted:
            return
        elif self._receiver.held is not None:
            self.more_memory()
        else:
            self.wire.resume_reading()

    def _may_start(self, frame: bytes) -> bool:
        """Whether this request may start, given what is in progress."""
        if not self.in_progress:
            return True
        return (
            not self.is_muted
            and is_acknowledged_produce(frame)
            and self._bytes_in_progress + len(frame) <= MAX_PIPELINED_BYTES
        )

    def unmute(self, answered: int = 1) -> None:
        """The responses of the `answered` oldest requests have left: take the next request, already
        received or still to come.
        """
        for _ in range(answered):
            self._bytes_in_progress -= len(self.in_progress.popleft().frame)
        self.last_active_ms = self.processor.now_ms()
        self.start_next()

    def all_sent(self) -> None:
        try:
            self.processor.on_all_sent(self)
        except Exception as error:
            self.processor.fail(self, "taking its next request", error)

    def _send_failed(self, error: Exception) -> None:
        self.processor.fail(self, "sending its response", error)

    def close(self, reason: str) -> None:
        self.close_reason = self.close_reason or reason
        self.wire.close()

    @property
    def max_pipelined_requests(self) -> int:
        return self.processor.max_pipelined_requests

    def enqueue_response(
        self, request: Request, parts: list[Part] | None
    ) -> Callable[[], None] | None:
        """Queue a response at the processor. Return its wake-up if this is the queue's first."""
        processor = self.processor
        if processor.enqueue_response(request, parts):
            return processor.process_new_responses
        return None

    def refuse(self, rule: str, came: str) -> None:
        """Close the connection because of its input; the log names both."""
        self.processor.refuse(self, rule, came)

    def release(self, size: int) -> None:
        """Give memory back to the pool, if there is one."""
        if self.pool is not None:
            self.pool.release(size)

    def _release(self, frames: Iterable[bytes]) -> None:
        """Give back the memory of dropped requests."""
        for frame in frames:
            self.release(len(frame))

    def connection_lost(self, reason: str) -> None:
        self._receiver.held = None
        self._release(self._frames)
        if self.pool is not None and self._receiver.begun:
            begun, self._receiver.begun = self._receiver.begun, 0
            self.pool.release(begun)
        self._frames.clear()
        self.in_progress.clear()
        self.processor.on_closed(self, self.close_reason or reason)
